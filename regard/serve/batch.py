"""Continuous batching: rows of many searches, computed together, each as if it were alone.

Searches come and go at every step. A row's numbers do not depend on its neighbours, to the last bit:

- its past stands where it would stand alone (`Uneven`), and what is shown of memories ends at whole blocks;
- as many rows are computed as `steady` has found to change nothing;
- a group of beams has as many as it has found, for the same reason.

What is added to make it so repeats rows that are there, and nobody looks at it.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.state import Beams, Part, State, join, select
from regard.models.feeding import Fed, Feed
from regard.models.model import Model
from regard.serve.steady import RowCounts

Kind: TypeAlias = tuple[int, object]  # how wide groups are, and what their states are like


class Seat(Part):
    """Stands for the state of a search whose rows are in a batch. Which of them go on is said at the next step."""

    def __init__(self, kind: "Kind", chosen: Int[Tensor, "G k"]) -> None:
        self.kind = kind  # of its batch
        self.chosen = chosen  # which of the rows that it has in the batch

    def __len__(self) -> int:
        return self.chosen.numel()

    def map(self, function: object) -> "Seat":
        raise NotImplementedError("what a batch holds is looked at there")

    def join(self, others: Sequence[Part]) -> "Seat":
        raise NotImplementedError("a batch joins states, not seats")

    def select(self, rows: Beams) -> "Seat":
        return Seat(self.kind, self.chosen.flatten()[rows.by_group])


class Places(NamedTuple):
    """Who sits where."""

    owner: int  # the number of the search
    first: int  # the first of its lines
    number: int  # how many


def shape_of(state: State) -> object:
    """What must be alike for states to join, besides their model."""
    if isinstance(state, Tensor):
        return tuple(state.shape[1:])
    return tuple(map(shape_of, state)) if isinstance(state, tuple) else None


class Joined:
    """Searches whose groups are alike wide, one step after the other."""

    def __init__(self, kind: Kind, sizes: RowCounts) -> None:
        self.kind, self.width, self._sizes = kind, kind[0], sizes
        self._state: State = None
        self._lines: list[Places] = []
        self._spare = range(0)  # lines that repeat the first, to fill up

    @torch.inference_mode()
    def step(self, model: Model, feeds: dict[int, Feed]) -> dict[int, Fed]:
        """One token for each row of each search, by number. Whoever was in the batch and is not named has left."""
        if self._same(feeds):
            self._reorder(feeds)
        else:
            self._seat(feeds)
        told = {line: _padded(feeds[line.owner].tokens.view(line.number, -1), self.width) for line in self._lines}
        tokens = told[self._lines[0]][:1].repeat(self._number, 1)  # (G, W)
        for line, mine in told.items():
            tokens[line.first : line.first + line.number] = mine
        scores, self._state = model.step(tokens.flatten(), self._state)
        return {line.owner: self._share(line, feeds[line.owner], scores) for line in self._lines}

    def _share(self, line: Places, feed: Feed, scores: Float[Tensor, "R V"]) -> Fed:
        beams = len(feed.tokens) // line.number
        mine = scores.unflatten(0, (-1, self.width))[line.first : line.first + line.number, :beams].flatten(0, 1)
        return mine, Seat(self.kind, torch.arange(line.number)[:, None] * self.width + torch.arange(beams))

    @property
    def _number(self) -> int:
        return sum(line.number for line in self._lines) + len(self._spare)

    def _same(self, feeds: dict[int, Feed]) -> bool:
        """Whether the same searches sit in the same lines as before."""
        return {line.owner for line in self._lines} == set(feeds) and all(
            isinstance(seat := feeds[line.owner].state, Seat) and len(seat.chosen) == line.number
            for line in self._lines
        )

    def _reorder(self, feeds: dict[int, Feed]) -> None:
        """Rows change places within their groups, if any does."""
        before = torch.arange(self._number * self.width).view(-1, self.width)
        after = before.clone()
        for line in self._lines:
            after[line.first : line.first + line.number] = self._rows(line, feeds[line.owner])
        for spare in self._spare:
            after[spare] = after[self._lines[0].first] + (spare - self._lines[0].first) * self.width
        if not torch.equal(before, after):
            self._state = select(self._state, after)

    def _rows(self, line: Places, feed: Feed) -> Int[Tensor, "G W"]:
        """The rows of the batch that go on for a search."""
        assert isinstance(feed.state, Seat)
        return _padded(feed.state.chosen, self.width) + line.first * self.width

    def _seat(self, feeds: dict[int, Feed]) -> None:
        """Who stays moves together, who is new sits down behind them."""
        staying = {
            line.owner: self._rows(line, feeds[line.owner])
            for line in self._lines
            if line.owner in feeds and isinstance(feeds[line.owner].state, Seat)  # it may have begun anew
        }
        coming = {owner: _rows_of(feed, self.width) for owner, feed in feeds.items() if owner not in staying}
        everyone = staying | coming
        needed = self.width * sum(map(len, everyone.values()))
        spare = (self._sizes.enough(needed) - needed) // self.width
        self._lines, first = [], 0
        for place, (owner, rows) in enumerate(everyone.items()):
            self._lines.append(Places(owner, first, len(rows)))
            first += len(rows)
            if place == max(len(staying) - 1, 0):  # behind those that have a state in common
                self._spare = range(first, first + spare)
                first += spare
        parts = [(feeds[owner].state, rows) for owner, rows in coming.items()]
        if staying:
            parts.insert(0, (self._state, torch.cat(list(staying.values()))))
        (state, rows), *others = parts
        head = select(state, torch.cat([rows, rows[:1].expand(spare, -1)]))
        self._state = join([head, *(select(*part) for part in others)]) if coming else head


def _rows_of(feed: Feed, width: int) -> Int[Tensor, "G W"]:
    """All rows of a state that is in no batch yet."""
    return _padded(torch.arange(len(feed.tokens)).view(-1, feed.group_size), width)


def _padded(rows: Int[Tensor, "G k"], width: int) -> Int[Tensor, "G W"]:
    """The last one again, until there are enough."""
    return torch.cat([rows, rows[:, -1:].expand(-1, width - rows.shape[1])], 1)
