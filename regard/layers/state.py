"""What a model remembers between calls, as a value: passed in, handed back, never kept on a module."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import is_
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Part(ABC):
    """A part of a state that is more than one tensor with a line for each row."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def map(self, function: Callable[[Tensor], Tensor]) -> "Part":
        """This part with `function` applied to every tensor in it."""

    @abstractmethod
    def select(self, rows: "Beams") -> "Part":
        """What belongs to the chosen rows."""

    @abstractmethod
    def join(self, others: "Sequence[Part]") -> "Part":
        """The rows of this part and of others of its kind, behind each other."""


# Axis 0 of a tensor is the rows of the batch; None remembers nothing; a tuple may be a NamedTuple, and stays one.
if TYPE_CHECKING:
    State: TypeAlias = "Tensor | Part | tuple[State, ...] | None"
else:
    State = Tensor | Part | tuple | None  # what checks types in tests knows no recursion
S = TypeVar("S", bound=State)  # the state of one kind of layer or model


class Beams:
    """Which rows of a state go on, (G, K): K beams of each group, which go on sharing what they share.

    A group is one source or one prompt that several rows continue. Rows of a group stand beside each other.
    """

    def __init__(self, chosen: Int[Tensor, " R"] | Int[Tensor, "G K"], before: int) -> None:
        self.by_group = chosen[:, None] if chosen.dim() == 1 else chosen
        self.flat = chosen.flatten()
        self.group_size = self.by_group.shape[1]
        self._before = before  # how many rows the state has now
        self._groups: dict[int, Tensor | None] = {}

    def groups(self, number: int) -> Int[Tensor, " G"] | None:
        """Which of `number` groups are wanted; None: all of them as they are, so nothing need be copied."""
        if number not in self._groups:
            self._groups[number] = None if number == len(self.by_group) == 1 else self._wanted(number)
        return self._groups[number]

    def _wanted(self, number: int) -> Int[Tensor, " G"] | None:
        wanted = self.by_group[:, 0] // (self._before // number)
        same = len(wanted) == number and torch.equal(wanted, torch.arange(number, device=wanted.device))
        return None if same else wanted


_claiming = Lock()  # two threads may step one state at the same time


class Lines(Part):
    """A tensor with one line for each group, which its rows share: a source, say. Lines run along one axis."""

    __slots__ = ("_axis", "_buffer")

    def __init__(self, value: Tensor, axis: int = 1) -> None:
        self._buffer = value
        self._axis = axis

    @property
    def buffer(self) -> Tensor:
        """The value with its spare room, for kernels that write into what they have claimed."""
        return self._buffer

    @property
    def value(self) -> Tensor:
        return self._buffer

    def __len__(self) -> int:
        return self._buffer.shape[self._axis]

    def map(self, function: Callable[[Tensor], Tensor]) -> "Lines":
        return type(self)(function(self.value), self._axis)

    def select(self, rows: Beams) -> "Lines":
        groups = rows.groups(len(self._buffer))
        return self if groups is None else Lines(self._buffer.index_select(0, groups), self._axis)

    def join(self, others: Sequence[Part]) -> "Lines":
        """Zeros, or False, behind lines that are shorter."""
        lines = [part.value for part in (self, *others) if isinstance(part, Lines)]
        return Lines(_side_by_side(lines, self._axis, max(one.shape[self._axis] for one in lines)), self._axis)


class Growing(Lines):
    """Lines that grow without being copied, and are still a value.

    The buffer has spare room and one shared note of how far it is filled. Appending writes into the spare room only
    when this value is the newest one on that buffer; an older value copies first. So `a.append(x)` never changes `a`,
    and appending to `a` twice gives two independent futures, the way a slice grows in Go.
    """

    __slots__ = ("_filled", "_length")

    def __init__(
        self, value: Tensor, axis: int = 1, *, length: int | None = None, filled: list[int] | None = None
    ) -> None:
        super().__init__(value, axis)
        self._length = value.shape[axis] if length is None else length
        self._filled = [self._length] if filled is None else filled

    def __len__(self) -> int:
        return self._length

    @property
    def value(self) -> Tensor:
        return self._buffer.narrow(self._axis, 0, self._length)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How long each line is."""
        return (self._length,) * len(self._buffer)

    def append(self, more: Tensor) -> "Growing":
        if torch.is_grad_enabled():  # autograd may have saved the buffer: it must never be written to
            return Growing(torch.cat([self.value, more], self._axis), self._axis)
        longer = self.longer(more.shape[self._axis])
        longer._buffer.narrow(self._axis, self._length, more.shape[self._axis]).copy_(more)
        return longer

    def longer(self, new: int) -> "Growing":
        """This value with `new` places more, claimed for whoever asked: they are to be written before anybody looks."""
        axis, length = self._axis, self._length + new
        if self._claim(length):
            return Growing(self._buffer, axis, length=length, filled=self._filled)
        shape = self._buffer.shape
        buffer = self._buffer.new_empty(*shape[:axis], roomy(length), *shape[axis + 1 :])
        buffer.narrow(axis, 0, self._length).copy_(self.value)
        return Growing(buffer, axis, length=length)

    def _claim(self, length: int) -> bool:
        """Takes the spare room up to `length`, if there is enough and no other future has taken it."""
        if length > self._buffer.shape[self._axis] or not _writable(self._buffer):
            return False
        with _claiming:
            newest = self._filled[0] == self._length
            if newest:
                self._filled[0] = length
            return newest

    def select(self, rows: Beams) -> "Growing":
        groups = rows.groups(len(self._buffer))
        if groups is None:
            return self
        return Growing(self._buffer.index_select(0, groups), self._axis, length=self._length)  # with its spare room

    def join(self, others: Sequence[Part]) -> "Uneven":
        growing = [part for part in (self, *others) if isinstance(part, Growing)]
        lengths = tuple(length for part in growing for length in part.lengths)
        room = in_blocks(max(lengths) * 5 // 4 + 1)
        return Uneven(_side_by_side([part.value for part in growing], self._axis, room), self._axis, lengths)


BLOCK = 16
"""Positions: what is shown of uneven lines ends at a multiple. Processors add up so many numbers at once, or a divisor
of it; so a sum over a line, zero behind its end, has the same bits whatever stands beside it."""


def in_blocks(length: int) -> int:
    """So many positions or a few more, in whole blocks."""
    return -(-length // BLOCK) * BLOCK


class Uneven(Growing):
    """Growing lines of different length side by side: each goes on at its own end, and begins where it always would.

    What is shown of a line behind its end means nothing: `UnevenHistory` lets nobody look there.
    """

    __slots__ = ("_lengths", "_newest")

    def __init__(
        self, buffer: Tensor, axis: int, lengths: tuple[int, ...], newest: list[tuple[int, ...]] | None = None
    ) -> None:
        super().__init__(buffer, axis, length=in_blocks(max(lengths)))
        self._lengths = lengths
        self._newest = [lengths] if newest is None else newest

    @property
    def lengths(self) -> tuple[int, ...]:
        return self._lengths

    def append(self, more: Tensor) -> "Uneven":
        new = more.shape[self._axis]
        longer = self.longer(new)
        ends = torch.tensor(self._lengths, device=more.device)[:, None]
        lines = torch.arange(len(more), device=more.device)[:, None]
        places = ends + torch.arange(new, device=more.device)  # (G, n)
        longer.buffer.movedim(self._axis, 1).index_put_((lines, places), more.movedim(self._axis, 1))
        return longer

    def longer(self, new: int) -> "Uneven":
        lengths = tuple(length + new for length in self._lengths)
        if self._claim_all(lengths):
            return Uneven(self._buffer, self._axis, lengths, self._newest)
        return Uneven(_side_by_side([self.value], self._axis, in_blocks(max(lengths) * 3 // 2)), self._axis, lengths)

    def _claim_all(self, lengths: tuple[int, ...]) -> bool:
        if torch.is_grad_enabled() or max(lengths) > self._buffer.shape[self._axis] or not _writable(self._buffer):
            return False
        with _claiming:
            newest = self._newest[0] is self._lengths
            if newest:
                self._newest[0] = lengths
            return newest

    def map(self, function: Callable[[Tensor], Tensor]) -> "Uneven":
        return Uneven(function(self.value), self._axis, self._lengths)

    def select(self, rows: Beams) -> "Uneven":
        groups = rows.groups(len(self._buffer))
        if groups is None:
            return self
        lengths = tuple(self._lengths[group] for group in groups.tolist())
        return Uneven(self._buffer.index_select(0, groups), self._axis, lengths)


def _side_by_side(parts: Sequence[Tensor], axis: int, room: int) -> Tensor:
    """The lines of all, with zeros behind them up to `room`."""
    shape = list(parts[0].shape)
    shape[0], shape[axis] = sum(len(part) for part in parts), room
    whole, first = parts[0].new_zeros(shape), 0
    for part in parts:
        whole.narrow(0, first, len(part)).narrow(axis, 0, part.shape[axis]).copy_(part)
        first += len(part)
    return whole


def roomy(length: int) -> int:
    """How many places a buffer for `length` of them has, so that growing one by one seldom copies."""
    return max(length + 16, length * 3 // 2)


def _writable(buffer: Tensor) -> bool:
    """Torch refuses writes to a tensor made in inference mode once that mode is left."""
    return torch.is_inference_mode_enabled() or not buffer.is_inference()


def map_state(function: Callable[[Tensor], Tensor], state: State) -> State:
    """The state with `function` applied to every tensor in it, under the same names."""
    if state is None:
        return None
    if isinstance(state, Tensor):
        return function(state)
    if isinstance(state, Part):
        return state.map(function)
    return _rebuilt(state, (map_state(function, part) for part in state))


def select(state: State, rows: Int[Tensor, " R"] | Int[Tensor, "G K"]) -> State:
    """Rows of a state, repeated, reordered or dropped: all that a search ever asks of it.

    K rows in a line must come from one group, such as the beams of one sentence; they share its source and their past.
    """
    return _selected(state, Beams(rows, batch_size(state)))


def _selected(state: State, rows: Beams) -> State:
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state.index_select(0, rows.flat)
    if isinstance(state, Part):
        return state.select(rows)
    parts = [_selected(part, rows) for part in state]
    return state if all(map(is_, parts, state)) else _rebuilt(state, parts)


def join(states: Sequence[State]) -> State:
    """The rows of several states of one model as one state, behind each other: the inverse of `select`.

    They may have been fed different numbers of tokens; where they read sources, those were given with `keep`. What else
    they hold has one shape, and so have their groups.
    """
    first = states[0]
    if first is None:
        return None
    if isinstance(first, Tensor):
        return torch.cat([state for state in states if isinstance(state, Tensor)])
    if isinstance(first, Part):
        return first.join([state for state in states[1:] if isinstance(state, Part)])
    parts = zip(*(state for state in states if isinstance(state, tuple)), strict=True)
    return _rebuilt(first, (join(each) for each in parts))


def _rebuilt(state: tuple[State, ...], parts: Iterable[State]) -> tuple[State, ...]:
    """Other parts under the same names."""
    make: Callable[[Iterable[State]], tuple[State, ...]] = getattr(type(state), "_make", tuple)
    return make(parts)


def leaves(state: State) -> list[Tensor]:
    """Every tensor of a state, in order."""
    found: list[Tensor] = []
    map_state(partial(_noted, found), state)
    return found


def _noted(found: list[Tensor], leaf: Tensor) -> Tensor:
    found.append(leaf)
    return leaf


def like(template: State, tensors: list[Tensor]) -> State:
    """The inverse of `leaves`: the structure of the template with other tensors."""
    supply = iter(tensors)
    return map_state(lambda _: next(supply), template)


def where(rows: Bool[Tensor, " B"], one: State, other: State) -> State:
    """The chosen rows of one state, the others of another."""
    both = zip(leaves(one), leaves(other), strict=True)
    return like(one, [torch.where(rows.view(-1, *[1] * (here.dim() - 1)), here, there) for here, there in both])


def batch_size(state: State) -> int:
    """How many rows a state holds: the first part of every state has one entry for each."""
    while isinstance(state, tuple):
        state = next(part for part in state if part is not None)
    assert state is not None
    return len(state)
