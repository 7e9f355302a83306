"""Passages: what a model reads while its units are watched, one long text or many short ones, each in its own way."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Int, UInt8
from torch import Tensor

from regard.decode.score import forced
from regard.layers.tap import SOURCE, WRITTEN
from regard.look.find.statistics import Move
from regard.look.find.windows import ROWS, WINDOW, Piece, walk
from regard.look.trace import trace
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import PADDING, START, STOP

BLOCKS = 50  # of a text, resampled whole: neighbours are alike
LONG = 1024  # tokens at least that a state goes on: where a row begins, it knows nothing of what came before
SHORT = 64  # window where states go on from one to the next: less to hold at once
STRETCHES, LENGTH = 4, 512  # that are read again with each unit held still
TOGETHER = 8192  # tokens of a batch of short texts
BAND = 8  # short texts, alike in length, whose labels change places


class Passage(ABC):
    """Tokens of one sequence, in the order of their text, and how they are read."""

    side = "text"
    """What people call the sequence."""
    sequence = WRITTEN
    """What taps call it."""
    apart = False
    """Whether each document is read by itself, knowing nothing of the others."""

    @abstractmethod
    def __len__(self) -> int:
        """How many tokens."""

    @abstractmethod
    def cut(self, begin: int, end: int) -> "Passage":
        """From one boundary to another."""

    @abstractmethod
    def boundary(self, at: int) -> int:
        """The place next to that token where it can be cut."""

    @abstractmethod
    def source(self) -> Source | None:
        """One that a model can start from."""

    @abstractmethod
    def pieces(self, model: Model, patterns: Sequence[str]) -> Iterator[Piece]:
        """Every token once, with what passed at these taps."""

    @abstractmethod
    def count_of_pieces(self, model: Model) -> int: ...

    @abstractmethod
    def logs_after(self, model: Model, copies: int) -> Float[np.ndarray, "copies N"]:
        """log p of what is said behind each token, for copies that stand side by side in a batch; NaN: nothing is."""

    @abstractmethod
    def dense(self, matters: Bool[np.ndarray, " N"]) -> tuple["Passage", Int[np.ndarray, " n"]]:
        """A part with most that matters, small enough to be read again and again; and the places of its tokens."""

    @abstractmethod
    def moves(self, every: int, number: int, seed: int) -> list[Move]:
        """Ways to put the labels of every n-th token elsewhere, so that what one label knows of the next stays true."""

    @abstractmethod
    def blocks(self, every: int) -> Int[np.ndarray, " n"]:
        """For every n-th token the number of the block that it is resampled with."""


class LongText(Passage):
    """One text, or documents behind each other, read by a language model in windows."""

    def __init__(self, tokens: Int[Tensor, " N"]) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    def cut(self, begin: int, end: int) -> "LongText":
        return LongText(self.tokens[begin:end])

    def boundary(self, at: int) -> int:
        return min(at, len(self))

    def source(self) -> None:
        return None

    def pieces(self, model: Model, patterns: Sequence[str]) -> Iterator[Piece]:
        rows, window = self._cut(model)
        return walk(model, self.tokens, patterns, carry=not model.grows, rows=rows, window=window)

    def count_of_pieces(self, model: Model) -> int:
        rows, window = self._cut(model)
        length = -(-len(self) // max(1, min(rows, len(self) // window)))
        return -(-length // window)

    def _cut(self, model: Model) -> tuple[int, int]:
        """Rows side by side, and the tokens of a window: a state that does not grow goes on from one to the next."""
        return (ROWS // 4, WINDOW) if model.grows else (max(1, min(4 * ROWS, len(self) // LONG)), SHORT)

    def logs_after(self, model: Model, copies: int) -> Float[np.ndarray, "copies N"]:
        rows = max(1, len(self) // LENGTH)
        assert len(self) % rows == 0
        window, logs = min(256, len(self) // rows), torch.empty(copies * len(self))
        every = self.tokens.repeat(copies)
        for piece in walk(model, every, [], carry=not model.grows, rows=copies * rows, window=window):
            logs[piece.place] = piece.logs
        of_each = logs.view(copies, rows, -1).numpy()
        after = np.full_like(of_each, np.nan)  # position t is where token t has been read: what counts is t + 1
        after[..., :-1] = of_each[..., 1:]
        return after.reshape(copies, -1)

    def dense(self, matters: Bool[np.ndarray, " N"]) -> tuple["LongText", Int[np.ndarray, " n"]]:
        places = densest(matters, LENGTH, STRETCHES)
        return LongText(self.tokens[torch.from_numpy(places)]), places

    def moves(self, every: int, number: int, seed: int) -> list[Move]:
        """Circular shifts, none so small that a label still meets the signal that it made."""
        positions = -(-len(self) // every)
        margin = positions // 20
        shifts = np.random.default_rng(seed).integers(margin, positions - margin, number)
        return [partial(np.roll, shift=int(shift)) for shift in shifts]

    def blocks(self, every: int) -> Int[np.ndarray, " n"]:
        positions = -(-len(self) // every)
        return np.arange(positions) * BLOCKS // positions


class Answered(NamedTuple):
    """What is read, stop included, and all that is wanted for an answer; padding asks nothing."""

    source: Int[np.ndarray, " S"] | UInt8[np.ndarray, "3 Y X"] | Float16[np.ndarray, "C y x"]
    target: Int[np.ndarray, " T"]


class ShortTexts(Passage):
    """Many short texts, each read by itself: sources, or the targets that a model is made to say to them."""

    apart = True

    def __init__(self, examples: Sequence[Answered], side: str) -> None:
        self.examples, self.side = examples, side
        self.sequence = SOURCE if side == "source" else WRITTEN
        self.ends = np.cumsum([len(self.tokens_of(one)) for one in examples], dtype=int)

    def tokens_of(self, one: Answered) -> Int[np.ndarray, " n"]:
        """Those that are text: no stop stands behind them."""
        tokens = one.source if self.sequence == SOURCE else one.target
        return tokens[: len(tokens) - (tokens[-1] == STOP)] if len(tokens) else tokens

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def cut(self, begin: int, end: int) -> "ShortTexts":
        first, last = (int(np.searchsorted(self.ends, at, "right")) for at in (begin, end))
        return ShortTexts(self.examples[first:last], self.side)

    def boundary(self, at: int) -> int:
        places = np.append(0, self.ends)
        return int(places[np.abs(places - at).argmin()])

    def source(self) -> Source:
        return _source([self.examples[0]])

    def pieces(self, model: Model, patterns: Sequence[str]) -> Iterator[Piece]:
        for some in self._batches(1):
            with torch.inference_mode(), trace(model, *patterns) as seen:
                logs, keep = _logs(model, [self.examples[at] for at in some])
            yield Piece(self._places(some, keep[self.sequence]), logs.cpu(), seen, keep)

    def count_of_pieces(self, model: Model) -> int:
        return len(self._batches(1))

    def _places(self, some: range, keep: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """Where in the passage each token stands that a tap hears; −1: start, stop and padding."""
        place = torch.full(keep.shape, -1)
        first = int(self.sequence == WRITTEN)  # what is fed begins with the start token
        for row, at in enumerate(some):
            begin, end = (int(self.ends[at - 1]) if at else 0), int(self.ends[at])
            heard = torch.arange(begin, end)[: keep.shape[1] - first]
            place[row, first : first + len(heard)] = heard
        return place

    def _batches(self, copies: int) -> list[range]:
        """Texts that are read together, in their order."""
        sizes = [max(one.source.shape[-1], len(one.target)) * copies for one in self.examples]
        found, begin, longest = [], 0, 0
        for at, size in enumerate(sizes):
            longest = max(longest, size)
            if at > begin and longest * (at + 1 - begin) > TOGETHER:
                found.append(range(begin, at))
                begin, longest = at, size
        return [*found, range(begin, len(sizes))]

    def logs_after(self, model: Model, copies: int) -> Float[np.ndarray, "copies N"]:
        """Behind a token of a target the next one; behind a token of a source all of the answer, its mean."""
        found = np.full((copies, len(self)), np.nan, np.float32)
        for some in self._batches(copies):
            here = [self.examples[at] for at in some]
            with torch.inference_mode():
                logs = _logs(model, here * copies)[0].view(copies, len(here), -1).cpu().numpy()
            for row, (at, one) in enumerate(zip(some, here, strict=True)):
                begin, end = (int(self.ends[at - 1]) if at else 0), int(self.ends[at])
                asked = one.target != PADDING
                if self.sequence == SOURCE:
                    found[:, begin:end] = logs[:, row, : len(asked)][:, asked].mean(1, keepdims=True)
                else:
                    behind = logs[:, row, 1 : len(asked)]
                    found[:, begin : begin + behind.shape[1]] = behind
        return found

    def dense(self, matters: Bool[np.ndarray, " N"]) -> tuple["ShortTexts", Int[np.ndarray, " n"]]:
        begins = np.append(0, self.ends[:-1])
        counts = np.add.reduceat(matters.astype(int), begins)
        order = np.argsort(-counts, kind="stable")
        size = np.cumsum(np.diff(self.ends, prepend=0)[order])
        chosen = np.sort(order[: max(1, int(np.searchsorted(size, STRETCHES * LENGTH)))])
        places = np.concatenate([np.arange(begins[at], self.ends[at]) for at in chosen])
        return ShortTexts([self.examples[at] for at in chosen], self.side), places

    def moves(self, every: int, number: int, seed: int) -> list[Move]:
        """Texts alike in length change places, whole: what a place in a text says of a label stays as it was.

        Some texts stand in a band. Labels go round among those of its tokens that are as far from the nearer end.
        """
        text, place = self._numbered(every)
        sizes = np.bincount(text, minlength=len(self.examples))
        band = np.empty(len(sizes), int)
        band[np.argsort(sizes, kind="stable")] = np.arange(len(sizes)) // BAND
        size = sizes[text]
        nearer = np.where(2 * place < size, place, place - size)
        groups = np.unique(np.stack([band[text], nearer]), axis=1, return_inverse=True)[1].ravel()
        behind = np.arange(len(groups)) + 1  # the next one of its group, in whichever order
        counts = np.bincount(groups)
        behind[np.cumsum(counts) - 1] = np.cumsum(counts) - counts
        draw = np.random.default_rng(seed)
        found: list[Move] = []
        for _ in range(number):
            order = np.lexsort([draw.permutation(len(sizes))[text], groups])
            taken = np.empty(len(order), np.int32)
            taken[order] = order[behind]
            found.append(partial(np.take, indices=taken))
        return found

    def blocks(self, every: int) -> Int[np.ndarray, " n"]:
        """Whole texts."""
        text, _ = self._numbered(every)
        return text * BLOCKS // len(self.examples)

    def _numbered(self, every: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """For every n-th token the number of its text, and its place among those of that text."""
        text = np.searchsorted(self.ends, np.arange(0, len(self), every), "right")
        counts = np.bincount(text, minlength=len(self.examples))
        return text, np.arange(len(text)) - (np.cumsum(counts) - counts)[text]


def densest(matters: Bool[np.ndarray, " N"], length: int, number: int = 1) -> Int[np.ndarray, " n"]:
    """The places of so many stretches of that length, or fewer, with most positions that matter; in order."""
    number = max(1, min(number, len(matters) // length))
    begins = np.arange(max(1, len(matters) // length)) * length
    counts = np.add.reduceat(matters[: begins[-1] + length].astype(int), begins)
    chosen = np.sort(begins[np.argsort(-counts, kind="stable")[:number]])
    return (chosen[:, None] + np.arange(min(length, len(matters)))).ravel()


def _source(some: Sequence[Answered]) -> Source:
    if some[0].source.ndim > 1:
        return Source(torch.from_numpy(np.stack([one.source for one in some])))
    return Source(*padded([one.source for one in some]))


def _logs(model: Model, some: Sequence[Answered]) -> tuple[Float[Tensor, "B T"], Mapping[str, Bool[Tensor, "B T"]]]:
    """log p of each token that is wanted, the answer forced; and which tokens are real, fed and read."""
    device = next(model.parameters()).device
    source = _source(some)
    wanted, keep = padded([one.target for one in some])
    fed, _ = padded([np.append(START, one.target)[: len(one.target)] for one in some])
    content, read = source.content.to(device), None if source.keep is None else source.keep.to(device)
    state = model.start(Source(content, read))
    logs = forced(model, fed.to(device), state, keep.to(device), wanted.to(device))
    return logs, {WRITTEN: keep} | ({} if source.keep is None else {SOURCE: source.keep})
