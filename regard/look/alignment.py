"""Where an encoder–decoder looked in its source while it wrote: an alignment that nobody taught it."""

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from regard.errors import UserError
from regard.layers.tap import taps_of
from regard.look.trace import trace
from regard.models.model import Model, Source

# How the paths of such weights end.
OVER_THE_SOURCE = ("layer.attention.weights", "cross_attention.weights", "pooling.attention.weights")


def over_source(model: Model) -> list[str]:
    """The taps at which attention over the source passes, if there is any."""
    return [path for path in taps_of(model) if path.endswith(OVER_THE_SOURCE)]


def paths_over_source(model: Model) -> list[str]:
    """The same where there must be some."""
    paths = over_source(model)
    if not paths:
        raise UserError("this model has no attention over a source, so there is no alignment to show")
    return paths


@torch.no_grad()
def attention_to_source(
    model: Model, source: Int[Tensor, " S"] | UInt8[Tensor, "3 Y X"], fed: Int[Tensor, " T"]
) -> Float[Tensor, "T R"]:
    """a_{t,i}: where the model looked to predict what follows each token fed; the mean over layers and heads."""
    with trace(model, *paths_over_source(model)) as seen:
        model(fed[None], model.start(Source(source[None])))
    return torch.stack([weights[0].mean(0) for weights in seen.values()]).mean(0)
