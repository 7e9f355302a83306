"""Where an encoder–decoder looked in its source while it wrote: an alignment that nobody taught it."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from regard.errors import UserError
from regard.layers.tap import taps_of
from regard.look.trace import trace
from regard.models.model import Model, Source


def over_source(model: Model) -> list[str]:
    """The taps at which attention over the source passes, if there is any."""
    return [path for path, tap in taps_of(model).items() if tap.role == "weights" and tap.rows != tap.columns]


def paths_over_source(model: Model) -> list[str]:
    """The taps at which attention over the source passes, where there must be some."""
    paths = over_source(model)
    if not paths:
        raise UserError("this model has no attention over a source, so there is no alignment to show")
    return paths


@torch.no_grad()
def weights_over_source(
    model: Model, source: Int[Tensor, " S"] | UInt8[Tensor, "3 Y X"], fed: Int[Tensor, " T"]
) -> dict[str, Float[Tensor, "H T R"]]:
    """a_{h,t,i} of every attention layer over the source, by the path of its tap."""
    with trace(model, *paths_over_source(model)) as seen:
        model(fed[None], model.start(Source(source[None])))
    return {path: weights[0] for path, weights in seen.items()}


def attention_to_source(
    model: Model, source: Int[Tensor, " S"] | UInt8[Tensor, "3 Y X"], fed: Int[Tensor, " T"]
) -> Float[Tensor, "T R"]:
    """a_{t,i}: where the model looked to predict what follows each token fed; the mean over layers and heads."""
    return mean_over_heads(weights_over_source(model, source, fed))


def mean_over_heads(weights: Mapping[str, Float[Tensor, "H T R"]]) -> Float[Tensor, "T R"]:
    """The mean over layers of the mean over their heads."""
    return torch.stack([each.mean(0) for each in weights.values()]).mean(0)
