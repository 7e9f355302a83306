"""Activations over a long text: each unit is a stream of one number for each position, a row of a matrix.

A cell's stream is its value. A head has two: its confidence, the largest weight of the row, and what each position
received from it, as a multiple of what uniform looking would have given.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float16, Int
from torch import Tensor

from regard.errors import UserError
from regard.layers.tap import means
from regard.look.find.windows import ROWS, WINDOW, walk
from regard.look.trace import Trace, trace
from regard.look.units import Unit, unit_named, units_in
from regard.models.model import Model
from regard.special import START

USUAL = ("cells", "hidden", "units", "weights")  # roles of taps
LONG = 1024  # tokens at least that a state goes on: where a row begins, it knows nothing of what came before
SHORT = 64  # window where states go on from one to the next: less to hold at once

Watcher: TypeAlias = Callable[[Iterable[Any], str, int | None], Iterator[Any]]
"""Passes items on and shows how many have come: the items, what they are, how many there will be."""


class Stream(NamedTuple):
    """One number for each position."""

    unit: Unit
    what: str = ""
    """Of a head: confidence or received."""

    def __str__(self) -> str:
        return f"{self.unit} {self.what}".rstrip()


def confidence(weights: Float[Tensor, "B H T S"]) -> Float[Tensor, "B T H"]:
    """max_i a_{t,i}."""
    return weights.amax(-1).transpose(1, 2)


def received(weights: Float[Tensor, "B H T S"]) -> Float[Tensor, "B T H"]:
    """Σ_t a_{t,i} / Σ_t 1/n_t over the t of the window that see i, each among n_t positions: 1 is an even share."""
    steps, seen = weights.shape[-2:]
    before = seen - steps  # what stands before the window
    uniform = (1 / torch.arange(before + 1, seen + 1)).flip(0).cumsum(0).flip(0)  # (T)
    return (weights[..., before:].sum(-2) / uniform.to(weights)).transpose(1, 2)


READERS: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda values: values,
    "confidence": confidence,
    "received": received,
}
READINGS = ("confidence", "received")  # of a head


def streams_of(model: Model, patterns: Sequence[str] = ()) -> list[Stream]:
    """The streams of all taps of a role such as "cells", of heads by "weights"; by a pattern of paths; of one unit.

    Without patterns: every cell, every hidden unit and every head.
    """
    with torch.inference_mode(), trace(model) as seen:
        model.step(torch.tensor([START], device=next(model.parameters()).device), model.start(None, 1))
    units = [unit for unit in units_in(seen) if seen.taps[unit.read_at].role in USUAL]
    if patterns:
        units = [unit for pattern in patterns for unit in _meant(pattern, seen)]
    found = dict.fromkeys(Stream(unit, what) for unit in units for what in (READINGS if unit.head else ("",)))
    return sorted(found, key=lambda stream: (stream.unit.path, stream.what))


def _meant(pattern: str, seen: Trace) -> list[Unit]:
    if re.fullmatch(r".+\[\d+\]", pattern):
        return [unit_named(pattern, seen)]
    every = units_in(seen)
    found = [unit for unit in every if means(pattern, unit.read_at, seen.taps[unit.read_at])]
    if not found:
        roles = ", ".join(sorted({seen.taps[unit.read_at].role for unit in every}))
        raise UserError(f"no units match '{pattern}'; choose from {roles}, or name one as path[number]")
    return found


def signals(
    model: Model, tokens: Int[Tensor, " N"], streams: Sequence[Stream], every: int, carry: bool, watch: Watcher
) -> Float16[np.ndarray, "U n"]:
    """What each stream was at every n-th position of the text, n = `every`. `streams` as `streams_of` sorts them."""
    kept = np.empty((len(streams), -(-len(tokens) // every)), np.float16)
    groups, begin = [], 0
    for (path, what), members in groupby(streams, lambda stream: (stream.unit.read_at, stream.what)):
        numbers = torch.tensor([stream.unit.number for stream in members])
        groups.append((path, READERS[what], slice(begin, begin + len(numbers)), numbers))
        begin += len(numbers)
    rows, window = (max(1, min(4 * ROWS, len(tokens) // LONG)), SHORT) if carry else (ROWS // 4, WINDOW)
    pieces = walk(model, tokens, [path for path, *_ in groups], carry=carry, rows=rows, window=window)
    for piece in watch(pieces, "reading", count_of_pieces(len(tokens), rows, window)):
        here = (piece.place >= 0) & (piece.place % every == 0)
        where = (piece.place[here] // every).numpy()
        for path, reader, place, numbers in groups:
            values = reader(piece.seen[path])[here.to(numbers.device)][:, numbers]  # (n, U')
            kept[place, where] = values.T.half().cpu().numpy()
    return kept


def count_of_pieces(tokens: int, rows: int, window: int) -> int:
    """How many pieces `walk` makes of a text."""
    length = -(-tokens // max(1, min(rows, tokens // window)))
    return -(-length // window)
