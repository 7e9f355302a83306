"""What a model remembers between calls, as a value: passed in, handed back, never kept on a module."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import torch
from jaxtyping import Int
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
            wanted = self.by_group[:, 0] // (self._before // number)
            same = len(wanted) == number and torch.equal(wanted, torch.arange(number, device=wanted.device))
            self._groups[number] = None if same else wanted
        return self._groups[number]


_claiming = Lock()  # two threads may step one state at the same time


class Growing(Part):
    """A tensor, one line for each group, that grows along one axis without being copied, and is still a value.

    The buffer has spare room and one shared note of how far it is filled. Appending writes into the spare room only
    when this value is the newest one on that buffer; an older value copies first. So `a.append(x)` never changes `a`,
    and appending to `a` twice gives two independent futures, the way a slice grows in Go.
    """

    __slots__ = ("_axis", "_buffer", "_filled", "_length")

    def __init__(
        self, value: Tensor, axis: int = 1, *, length: int | None = None, filled: list[int] | None = None
    ) -> None:
        self._buffer = value
        self._axis = axis
        self._length = value.shape[axis] if length is None else length
        self._filled = [self._length] if filled is None else filled

    @property
    def value(self) -> Tensor:
        return self._buffer.narrow(self._axis, 0, self._length)

    def __len__(self) -> int:
        return self._length

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

    @property
    def buffer(self) -> Tensor:
        """The value with its spare room, for kernels that write into what they have claimed."""
        return self._buffer

    def _claim(self, length: int) -> bool:
        """Takes the spare room up to `length`, if there is enough and no other future has taken it."""
        if length > self._buffer.shape[self._axis] or not _writable(self._buffer):
            return False
        with _claiming:
            newest = self._filled[0] == self._length
            if newest:
                self._filled[0] = length
            return newest

    def map(self, function: Callable[[Tensor], Tensor]) -> "Growing":
        return Growing(function(self.value), self._axis)

    def select(self, rows: Beams) -> "Growing":
        groups = rows.groups(len(self._buffer))
        if groups is None:
            return self
        return Growing(self._buffer.index_select(0, groups), self._axis, length=self._length)  # with its spare room


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
    return _rebuilt(state, (_selected(part, rows) for part in state))


def _rebuilt(state: tuple[State, ...], parts: Iterable[State]) -> tuple[State, ...]:
    """Other parts under the same names."""
    make: Callable[[Iterable[State]], tuple[State, ...]] = getattr(type(state), "_make", tuple)
    return make(parts)


def leaves(state: State) -> list[Tensor]:
    """Every tensor of a state, in order."""
    found: list[Tensor] = []

    def note(leaf: Tensor) -> Tensor:
        found.append(leaf)
        return leaf

    map_state(note, state)
    return found


def like(template: State, tensors: list[Tensor]) -> State:
    """The inverse of `leaves`: the structure of the template with other tensors."""
    supply = iter(tensors)
    return map_state(lambda _: next(supply), template)


def batch_size(state: State) -> int:
    """How many rows a state holds: the first part of every state has one entry for each."""
    while isinstance(state, tuple):
        state = next(part for part in state if part is not None)
    assert state is not None
    return len(state)
