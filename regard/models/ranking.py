"""The best few of many scores, with the log p of each."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Ranked(NamedTuple):
    """The n most probable tokens of every row, the best first, and all of a row's log p, where they were wanted."""

    tokens: Int[Tensor, "R n"]
    logs: Float[Tensor, "R n"]
    every: Float[Tensor, "R V"] | None = None


def ranked(scores: Float[Tensor, "R V"], count: int, every: bool) -> Ranked:
    """log p_j = s_j − log Σ_i e^{s_i}, for all of them first."""
    logs = scores.log_softmax(-1)
    values, tokens = top(logs, count)
    return Ranked(tokens, values, logs if every else None)


def top(scores: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R n"], Int[Tensor, "R n"]]:
    """As `topk`, which sorts much more than it need: the best `count` lie in the `count` best of many short pieces."""
    piece = 64
    pieces = scores.shape[1] // piece
    if pieces < 2 * count:
        return scores.topk(count)
    whole = scores[:, : pieces * piece].unflatten(1, (pieces, piece))  # (R, V / 64, 64)
    where = whole.amax(2).topk(count).indices  # (R, n)
    places = (where[:, :, None] * piece + torch.arange(piece, device=scores.device)).flatten(1)  # (R, n · 64)
    rest = torch.arange(pieces * piece, scores.shape[1], device=scores.device).expand(len(scores), -1)
    places = torch.cat([places, rest], 1)
    values, chosen = scores.gather(1, places).topk(count)
    return values, places.gather(1, chosen)
