"""Text windows: a long text read in pieces; what a language model expected, what passed at its taps, piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.state import State
from regard.look.trace import Trace, trace
from regard.models.model import Model
from regard.special import START

ROWS, WINDOW = 64, 256
PART = 32  # tokens of each row that are fed at once where nobody listens: scores are wide


class Piece(NamedTuple):
    """The same stretch of every row. Position t is where token t has just been read."""

    place: Int[Tensor, "B T"]
    """Where in the text each token stands; −1: filling at the end of the last row."""
    logs: Float[Tensor, "B T"]
    """log p(token t | what came before it)."""
    seen: Trace
    """What passed when token t was read. Where windows start afresh, attention also sees the start token, at S = 0."""
    keep: Mapping[str, Bool[Tensor, "B T"]] = MappingProxyType({})
    """Of texts of different length: which tokens are real, for each sequence that has some."""


def walk(
    model: Model,
    tokens: Int[Tensor, " N"],
    patterns: Sequence[str],
    *,
    carry: bool,
    rows: int = ROWS,
    window: int = WINDOW,
) -> Iterator[Piece]:
    """Cuts the text into rows that are read side by side, `window` tokens at a time.

    `carry`: a row goes on with its state (a recurrent model, whose state does not grow); otherwise every window starts
    afresh, as in training. No patterns: nobody listens, and the fused kernels do the work.
    Nothing is kept from piece to piece but the state, so the length of a text costs time, not memory.
    """
    rows = max(1, min(rows, len(tokens) // window))
    length = -(-len(tokens) // rows)
    device = next(model.parameters()).device
    place = torch.arange(rows * length).view(rows, length)
    place = place.where(place < len(tokens), -1)
    state: State = None
    expected = torch.empty(rows, 0)
    for begin in range(0, length, window):
        here = place[:, begin : begin + window]  # (B, T)
        fed, logs = tokens[here.clamp(min=0)].to(device), []
        with torch.inference_mode():  # and not while whoever asked goes on with a piece
            if state is None or not carry:
                expected, state = model.step(torch.full((rows,), START, device=device), model.start(None, rows))
            with trace(model, *patterns) if patterns else nullcontext(Trace({})) as seen:
                for part in [fed] if patterns else fed.split(PART, 1):
                    scores, state = model(part, state)  # (B, t, V)
                    logs += [_log_p(expected[:, None], part[:, :1]), _log_p(scores[:, :-1], part[:, 1:])]
                    expected = scores[:, -1].clone()  # or all scores would live as long
        yield Piece(here, torch.cat(logs, 1).cpu(), seen)


def _log_p(scores: Float[Tensor, "B t V"], said: Int[Tensor, "B t"]) -> Float[Tensor, "B t"]:
    """scores[said] − log Σ_v exp scores[v], a row at a time: another tensor of that size would be the largest."""
    rows = zip(scores, said[..., None], strict=True)
    return torch.stack([row.gather(1, wanted)[:, 0] - row.logsumexp(1) for row, wanted in rows])
