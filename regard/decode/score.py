"""How probable a model finds a given text: forced decoding."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.state import State
from regard.models.model import Model


def score(
    model: Model, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
) -> Float[Tensor, "B T-1"]:
    """log p(y_{t+1} | y_1 … y_t) = scores_t[y_{t+1}] − log Σ_v exp scores_t[v], all in one pass.

    The first token of a row is fed, not scored. `keep` is False at padding, wherever it stands; its place is 0.
    """
    if keep is None:
        keep = torch.ones_like(tokens, dtype=torch.bool)
        scores, _ = model(tokens[:, :-1], state)
    else:
        scores, _ = model(tokens[:, :-1], state, keep[:, :-1])
    places = torch.arange(tokens.shape[1] - 1, device=tokens.device)
    # Behind padding, a token follows the last real one before it.
    before = places.where(keep[:, :-1], -1).cummax(1).values
    rows = torch.arange(len(tokens), device=tokens.device)[:, None]
    logs = scores[rows, before, tokens[:, 1:]] - scores.logsumexp(-1)[rows, before]
    return logs.where(keep[:, 1:] & (before >= 0), 0.0)
