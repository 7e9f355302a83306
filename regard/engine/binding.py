"""What a call hands over besides its tokens: where the memories and vectors of a state are, and the state after it."""

import ctypes
from array import array
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.layers.state import Lines, State


class NativeCall(ctypes.Structure):
    """As `Call` in source/pass.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in (
            *("operations", "number", "width", "rows", "steps", "tokens", "seen", "where", "keep"),
            *("kept", "kept_lines", "group_size", "length", "filled", "source_keep", "source_length"),
            *("memories", "states", "tables", "table_lengths", "out", "out_stride", "threads"),
        )
    )


class ForeignState(Exception):
    """A state that is not of the kind that a tape was written for: the eager model will say what is wrong with it."""


@dataclass
class Binding:
    """Addresses of one call, and what must live until it is over."""

    after: State = None
    seen: int = 0
    where: int = 0
    kept: int = 0
    kept_lines: int = 1
    group_size: int = 1
    length: int = 0
    filled: int = 0
    source_keep: int = 0
    source_length: int = 0
    memories: array = field(default_factory=lambda: array("q"))
    states: array = field(default_factory=lambda: array("q"))
    held: list[Tensor] = field(default_factory=list)

    def hold(self, tensor: Tensor) -> int:
        """The address of a tensor in one piece."""
        whole = tensor.contiguous()
        self.held.append(whole)
        return whole.data_ptr()

    def memory(self, lines: Lines, shape: tuple[int, int], rows: int) -> None:
        """Keys and values (G, H, S, M + L) that `rows` rows look at; `shape` says how many heads, and how wide."""
        buffer = lines.buffer
        if buffer.dim() != 4 or buffer.dtype != torch.float32 or not buffer.is_cpu:
            raise ForeignState
        (number, heads, _, width), (line, head, slot, one) = buffer.shape, buffer.stride()
        if (heads, width) != shape or one != 1 or rows % (number or 1):
            raise ForeignState
        self.memories.extend((buffer.data_ptr(), line, head, slot, len(lines), rows // (number or 1)))

    def vector(self, before: State, rows: int, width: int) -> Tensor:
        """A part of the state that is one vector for each row; what it becomes."""
        if not isinstance(before, Tensor) or before.shape != (rows, width):
            raise ForeignState
        self.floats(before)
        after = torch.empty_like(before, memory_format=torch.contiguous_format)
        self.held.append(after)
        self.states.extend((self.hold(before), after.data_ptr()))
        return after

    def source(self, keep: Lines | None, memory: Lines) -> None:
        """Which positions of the source are real."""
        if keep is None:
            return
        real = keep.value
        if real.shape != (memory.buffer.shape[0], len(memory)) or real.dtype != torch.bool:
            raise ForeignState
        self.source_keep, self.source_length = self.hold(real), len(memory)

    @staticmethod
    def floats(tensor: Tensor) -> None:
        if tensor.dtype != torch.float32 or not tensor.is_cpu:
            raise ForeignState
