"""Ways from the tensors of another program to one of ours: the same numbers, in another order.

A way is a value: which tensors it wants, and what it makes of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.hub.package import Tensors

NEVER = -1e4  # added to a score: exp gives exactly 0


class Way(ABC):
    """How one tensor of ours is made."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The tensors that it wants."""

    @abstractmethod
    def read(self, tensors: Tensors) -> Tensor:
        """The tensor as we want it."""


@dataclass(frozen=True)
class Named(Way):
    """The tensor of that name as it is."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, tensors: Tensors) -> Tensor:
        return tensors.read(self.name)


@dataclass(frozen=True)
class Zeros(Way):
    """What they leave out because it is 0."""

    shape: tuple[int, ...]
    names = ()

    def read(self, tensors: Tensors) -> Tensor:
        return torch.zeros(self.shape)


@dataclass(frozen=True)
class Of(Way):
    """Something made of another way's tensor."""

    way: Way

    @property
    def names(self) -> tuple[str, ...]:
        return self.way.names


class Turned(Of):
    """Wᵀ: a matrix that is kept as (in, out)."""

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors).t()


class Flat(Of):
    """A row (1, V) as a vector."""

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors).flatten()


@dataclass(frozen=True)
class From(Of):
    """A table without its first rows."""

    first: int

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors)[self.first :]


@dataclass(frozen=True)
class Scaled(Of):
    """A table times a number."""

    factor: float

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors) * self.factor


@dataclass(frozen=True)
class At(Of):
    """One of several that are kept as one."""

    place: int

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors)[self.place]


@dataclass(frozen=True)
class OneRow(Of):
    """One row of a table, as a table."""

    place: int

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors)[self.place : self.place + 1]


@dataclass(frozen=True)
class Widened(Of):
    """A table whose rows end in zeros."""

    width: int

    def read(self, tensors: Tensors) -> Tensor:
        rows = self.way.read(tensors)
        return torch.nn.functional.pad(rows, (0, self.width - rows.shape[-1]))


@dataclass(frozen=True)
class PlusRow(Of):
    """A table with the first row of another added to each of its rows."""

    other: Way

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.way.names, *self.other.names)

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors) + self.other.read(tensors)[:1]


@dataclass(frozen=True)
class Ordered(Of):
    """Rows of a vocabulary in our order; zeros for a token that they have not."""

    order: Sequence[int | None]

    def read(self, tensors: Tensors) -> Tensor:
        rows = self.way.read(tensors)
        found = rows[torch.tensor([0 if theirs is None else theirs for theirs in self.order])]
        found[torch.tensor([theirs is None for theirs in self.order])] = 0
        return found


@dataclass(frozen=True)
class NeverSaid(Of):
    """Biases of scores, with those of tokens that are none of theirs so low that nobody says them."""

    never: tuple[int, ...]

    def read(self, tensors: Tensors) -> Tensor:
        bias = self.way.read(tensors).float().clone()
        bias[list(self.never)] = NEVER
        return bias


@dataclass(frozen=True)
class Several(Way):
    """Something made of several ways' tensors."""

    ways: tuple[Way, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for way in self.ways for name in way.names)


class Stacked(Several):
    """The rows of one below those of the other."""

    def read(self, tensors: Tensors) -> Tensor:
        return torch.cat([way.read(tensors) for way in self.ways])


@dataclass(frozen=True)
class ByHead(Several):
    """Rows of several matrices so that what belongs to one group of heads stands together, of all matrices in turn."""

    groups: int

    def read(self, tensors: Tensors) -> Tensor:
        parts = [way.read(tensors).unflatten(0, (self.groups, -1)) for way in self.ways]
        return torch.cat(parts, 1).flatten(0, 1)


@dataclass(frozen=True)
class InThirds(Of):
    """Queries, keys and values of all heads below each other, so that each head's three stand together."""

    heads: int

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors).unflatten(0, (3, self.heads, -1)).transpose(0, 1).flatten(0, 2)


@dataclass(frozen=True)
class Halves(Of):
    """Rows of queries or keys whose rotary pairs are neighbours, so that a pair stands half a head apart."""

    heads: int

    def read(self, tensors: Tensors) -> Tensor:
        return self.way.read(tensors).unflatten(0, (self.heads, -1, 2)).transpose(1, 2).flatten(0, 2)


@dataclass(frozen=True)
class TurningFirst(Of):
    """Queries, keys and values of each head, of which only the first `turning` rows of a query and a key are rotated.

    Their pairs are (i, i + turning/2); ours are (i, i + M/2), and those that are rotated come first.
    """

    heads: int
    turning: int

    def read(self, tensors: Tensors) -> Tensor:
        by_head = self.way.read(tensors).unflatten(0, (self.heads, 3, -1))  # (H, 3, M, …)
        width, half = by_head.shape[2], self.turning // 2
        still = torch.arange(self.turning, width)
        left = torch.cat([torch.arange(half), still[: len(still) // 2]])
        right = torch.cat([torch.arange(half, 2 * half), still[len(still) // 2 :]])
        moved = by_head[:, :, torch.cat([left, right])]
        return torch.stack([moved[:, 0], moved[:, 1], by_head[:, 2]], 1).flatten(0, 2)
