"""Activations over a long text: each unit is a stream of one number for each position, a row of a matrix.

A cell's stream is its value. A head has two: its confidence, the largest weight of the row, and what each position
received from it, as a multiple of what uniform looking would have given.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16
from torch import Tensor

from regard.errors import UserError
from regard.layers.tap import WRITTEN, Tap, means
from regard.look.find.passages import Passage
from regard.look.find.windows import Piece
from regard.look.trace import Trace, trace
from regard.look.units import Unit, unit_named, units_in
from regard.models.model import Model, Source
from regard.special import START

USUAL = ("cells", "hidden", "units", "weights")  # roles of taps

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


def received_by_some(weights: Float[Tensor, "B H T S"], may: Bool[Tensor, "B T S"]) -> Float[Tensor, "B S H"]:
    """The same where each row may look at some columns and others are padding; a row of padding looks at none."""
    even = may / may.sum(-1, keepdim=True).clamp(min=1)  # (B, T, S)
    looked = (weights * may[:, None]).sum(-2)  # (B, H, S)
    return (looked / even.sum(-2).clamp(min=1e-9)[:, None]).transpose(1, 2)


READINGS = ("confidence", "received")  # of a head


def read(piece: Piece, path: str, what: str) -> Float[Tensor, "B N U"]:
    """What a stream of each unit at this tap was, at every position."""
    values, tap = piece.seen[path], piece.seen.taps[path]
    if what == "confidence":
        return confidence(values)
    if what != "received":
        return values
    rows, columns = (piece.keep.get(sequence) for sequence in (tap.rows, tap.columns))
    if rows is None or columns is None:
        return received(values)
    may = rows[:, : values.shape[2], None] & columns[:, None]
    return received_by_some(values, may.tril() if tap.rows == tap.columns == WRITTEN else may)


def side_of(stream: Stream, taps: Mapping[str, Tap]) -> str:
    """The sequence whose positions it runs over: what is received belongs to what is looked at."""
    tap = taps[stream.unit.read_at]
    return tap.columns if stream.what == "received" else tap.rows


def streams_of(model: Model, patterns: Sequence[str] = (), passage: Passage | None = None) -> list[Stream]:
    """The streams of all taps of a role such as "cells", of heads by "weights"; by a pattern of paths; of one unit.

    Without patterns: every cell, every hidden unit and every head. Of these, all that run over what is read here.
    """
    device = next(model.parameters()).device
    source = passage.source() if passage else None
    with torch.inference_mode(), trace(model) as seen:
        start = Source(source.content.to(device)) if source else None
        model.step(torch.tensor([START], device=device), model.start(start, 1))
    units = [unit for unit in units_in(seen) if seen.taps[unit.read_at].role in USUAL]
    if patterns:
        units = [unit for pattern in patterns for unit in _meant(pattern, seen)]
    found = dict.fromkeys(Stream(unit, what) for unit in units for what in (READINGS if unit.head else ("",)))
    here = passage.sequence if passage else WRITTEN
    kept = [stream for stream in found if side_of(stream, seen.taps) == here]
    return sorted(kept, key=lambda stream: (stream.unit.path, stream.what))


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
    model: Model, passage: Passage, streams: Sequence[Stream], every: int, watch: Watcher
) -> Float16[np.ndarray, "U n"]:
    """What each stream was at every n-th position of the text, n = `every`. `streams` as `streams_of` sorts them."""
    kept = np.empty((len(streams), -(-len(passage) // every)), np.float16)
    groups, begin = [], 0
    for (path, what), members in groupby(streams, lambda stream: (stream.unit.read_at, stream.what)):
        numbers = torch.tensor([stream.unit.number for stream in members])
        groups.append((path, what, slice(begin, begin + len(numbers)), numbers))
        begin += len(numbers)
    pieces = passage.pieces(model, [path for path, *_ in groups])
    for piece in watch(pieces, "reading", passage.count_of_pieces(model)):
        here = (piece.place >= 0) & (piece.place % every == 0)
        where = (piece.place[here] // every).numpy()
        for path, what, place, numbers in groups:
            values = read(piece, path, what)[here.to(numbers.device)][:, numbers]  # (n, U')
            kept[place, where] = values.T.half().cpu().numpy()
    return kept
