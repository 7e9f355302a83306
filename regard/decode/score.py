"""How probable a model finds a given text: forced decoding."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.state import State
from regard.models.model import Model


def score(
    model: Model, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
) -> Float[Tensor, "B T-1"]:
    """log p(y_{t+1} | y_1 … y_t), all in one pass.

    The first token of a row is fed, not scored. `keep` is False at padding, wherever it stands; its place is 0.
    """
    fed, said = tokens[:, :-1], tokens[:, 1:]
    if keep is None:
        return forced(model, fed, state, None, said)
    logs = forced(model, fed, state, keep[:, :-1], said)
    return logs.where(keep[:, 1:] & keep[:, :-1].cummax(1).values, 0.0)  # nothing stands before a row's first token


def forced(
    model: Model,
    fed: Int[Tensor, "B T"],
    state: State,
    keep: Bool[Tensor, "B T"] | None,
    said: Int[Tensor, "B T"],
) -> Float[Tensor, "B T"]:
    """log p(said_t | fed_1 … fed_t) = scores_t[said_t] − log Σ_v exp scores_t[v].

    Where what is fed is padding, what is said follows the last real token before it.
    """
    scores, _ = model(fed, state, keep)
    before = torch.arange(fed.shape[1], device=fed.device).expand_as(fed)
    if keep is not None:
        before = before.where(keep, -1).cummax(1).values
    rows = torch.arange(len(fed), device=fed.device)[:, None]
    return scores[rows, before, said] - scores.logsumexp(-1)[rows, before]
