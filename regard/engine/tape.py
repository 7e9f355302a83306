"""A model as a list of operations over records: what the native engine runs in one call.

A record holds one position's numbers. An operation reads some of its columns and writes others. What stands side by
side is concatenated: there is no operation for it.
"""

import ctypes
import weakref
from collections.abc import Iterable
from enum import IntEnum
from typing import TypeGuard, TypeVar

import torch
from torch import Tensor, nn

from regard.engine.library import Library
from regard.layers.position import SinCos
from regard.models.precision import Int8, Transposed

Kind = TypeVar("Kind")


class Unknown(Exception):
    """What of a model the native engine does not know, in words."""


def exactly(module: object, *kinds: type[Kind]) -> TypeGuard[Kind]:
    """Whether it is of one of these classes itself: what inherits from them may compute something else."""
    return type(module) in kinds


class OperationKind(IntEnum):
    """As in source/pass.hpp."""

    EMBED, PLACE, NORM, ROUND_ROWS, PRODUCT, GATE, COPY, REMEMBER, ATTEND, LOAD, CELL, SSRU_CELL = range(12)


class Activation(IntEnum):
    """As in source/simd.hpp."""

    NONE, RELU, GELU, GELU_TANH, SILU, TANH, SIGMOID = range(7)


class Operation(ctypes.Structure):
    """One of them; `more` means what the method of `Tape` that writes it says."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("last", ctypes.c_int32),
        ("source", ctypes.c_int32),
        ("to", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("more", ctypes.c_int32 * 10),
        ("number", ctypes.c_float),
        ("pointer", ctypes.c_void_p * 2),
    )


class Heads:
    """Where the heads of an attention stand in a record, and how wide they are."""

    def __init__(self, number: int, sharing: int, step: int, key_width: int, value_width: int) -> None:
        self.number, self.sharing = number, sharing  # H; how many of them share a memory
        self.step = step  # columns from one memory's queries, or keys, to the next one's
        self.key_width, self.value_width = key_width, value_width  # of a key as it is kept

    @property
    def memories(self) -> int:
        return self.number // self.sharing


class Tape:
    """Operations in order, the columns that they use, and the weights that they read."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.operations: list[Operation] = []
        self.width = 0  # of a record
        self.tables: list[SinCos] = []
        self.bytes = 0  # of all weights that a step reads
        self._held: list[Tensor] = []  # what operations point to

    def columns(self, width: int) -> int:
        """New columns; whole cache lines, so that no two threads write into one."""
        first = self.width
        self.width += -(-width // 16) * 16
        return first

    def record_width(self) -> int:
        """An odd number of cache lines: with a power of two the same columns of all records fall on one place."""
        return self.width + (0 if self.width // 16 % 2 else 16)

    def embed(self, table: Tensor, scale: float, to: int) -> None:
        self._add(
            OperationKind.EMBED, (0, to, table.shape[1]), [len(table)], number=scale, pointers=[self._keep(table)]
        )

    def place(self, table: Tensor | SinCos, width: int, to: int, adds: bool) -> None:
        """Row t of a table for the token at position t: one that is trained, or sines and cosines."""
        if isinstance(table, Tensor):
            more, pointers = [len(table), 0, adds], [self._keep(table)]
        else:
            more, pointers = [0, self.table(table), adds], []
        self._add(OperationKind.PLACE, (0, to, width), more, pointers=pointers)

    def table(self, table: SinCos) -> int:
        """The number of a table of sines and cosines."""
        if table not in self.tables:
            self.tables.append(table)
        return self.tables.index(table)

    def norm(self, norm: nn.Module, source: int, to: int) -> None:
        if type(norm) is nn.Identity:
            if source != to:
                raise Unknown("a norm that does nothing")
            return
        if not isinstance(norm, nn.LayerNorm | nn.RMSNorm) or norm.weight is None:
            raise Unknown(f"the norm {type(norm).__name__}")
        bias = norm.bias if isinstance(norm, nn.LayerNorm) else None
        epsilon = norm.eps if norm.eps is not None else torch.finfo(torch.float32).eps
        pointers = [self._keep(norm.weight), None if bias is None else self._keep(bias)]
        self._add(
            OperationKind.NORM,
            (source, to, len(norm.weight)),
            [type(norm) is nn.RMSNorm],
            number=epsilon,
            pointers=pointers,
        )

    def product(
        self,
        linear: nn.Module,
        source: int,
        to: int,
        activation: Activation = Activation.NONE,
        *,
        adds: bool = False,
    ) -> None:
        """y = φ(W x + b), written or added."""
        weight, bias, whole = weights(linear)
        self.matrix(weight, bias, whole, (source, to), [activation, adds])

    def scores(self, weight: Tensor, bias: Tensor | None, whole: bool, source: int) -> None:
        """What is put out: W x + b."""
        self.matrix(weight, bias, whole, (source, 0), [Activation.NONE, False, True])

    def matrix(
        self, weight: Tensor, bias: Tensor | None, whole: bool, columns: tuple[int, int], more: list[int]
    ) -> None:
        """A product by a matrix that is packed here; one in whole numbers wants its inputs rounded first."""
        outputs, inputs = weight.shape
        source, to = columns
        if whole:
            self._add(OperationKind.ROUND_ROWS, (source, 0, inputs))
        strides = (ctypes.c_int64 * 2)(*weight.stride())
        given = None if bias is None else bias.detach().float().contiguous()
        weight = weight.detach().float()
        pointer = self.library.pack(
            weight.data_ptr(), strides, outputs, inputs, None if given is None else given.data_ptr(), whole
        )
        if not pointer:
            raise Unknown("weights that do not fit into memory twice")
        weakref.finalize(self, self.library.free, pointer)
        self.bytes += self.library.bytes(pointer)
        self._add(OperationKind.PRODUCT, (source, to, outputs), more, pointers=[pointer])

    def gate(self, source: int, to: int, width: int, activation: Activation) -> None:
        """φ(g) ⊙ u of [g; u]."""
        self._add(OperationKind.GATE, (source, to, width), [activation])

    def copy(self, source: int, to: int, width: int, adds: bool = False) -> None:
        self._add(OperationKind.COPY, (source, to, width), [adds])

    def put_out(self, source: int, width: int) -> None:
        self._add(OperationKind.COPY, (source, 0, width), [False, True])

    def remember(self, memory: int, heads: Heads, source: int, rotation: int) -> None:
        """Keys and values of all positions fed go to the end of their memory."""
        shape = [heads.memories, 1, heads.step, heads.key_width, heads.value_width]
        self._add(OperationKind.REMEMBER, (source, 0, 0), [memory, *shape, rotation])

    def attend(
        self,
        memory: int,
        heads: Heads,
        columns: tuple[int, int],
        rotation: int,
        similarity: tuple[float, Tensor | None],
    ) -> Operation:
        """y = Σ_i a_i v_i over a memory. Whether it is causal, or of the source, is set by who knows it."""
        scale, v = similarity
        shape = [heads.number, heads.sharing, heads.step, heads.key_width, heads.value_width]
        pointers = [] if v is None else [self._keep(v)]
        more = [memory, *shape, rotation]
        return self._add(OperationKind.ATTEND, (*columns, 0), more, number=scale, pointers=pointers)

    def load(self, state: int, to: int, width: int) -> None:
        """A vector of the state."""
        self._add(OperationKind.LOAD, (0, to, width), [state])

    def cell(self, source: int, to: int, width: int, more: list[int]) -> None:
        """more: which cell, state of h, state of c, columns of W_h h."""
        self._add(OperationKind.CELL, (source, to, width), more)

    def ssru(self, source: int, to: int, width: int, state: int) -> None:
        self._add(OperationKind.SSRU_CELL, (source, to, width), [state])

    def arrays(self, tail: int) -> tuple[ctypes.Array, ctypes.Array]:
        """All operations; and the same with those from `tail` on for each row's last position alone."""
        make = Operation * len(self.operations)
        everywhere, at_the_end = make(*self.operations), make(*self.operations)
        for operation in list(at_the_end)[tail:]:
            operation.last = True
        return everywhere, at_the_end

    def _add(
        self,
        kind: OperationKind,
        columns: tuple[int, int, int],
        more: Iterable[int] = (),
        *,
        number: float = 0.0,
        pointers: Iterable[int | None] = (),
    ) -> Operation:
        """An operation that reads from the first of `columns` on and writes from the second on, so many numbers."""
        operation = Operation(kind, False, *columns)
        operation.number = number
        for place, value in enumerate(more):
            operation.more[place] = int(value)
        for place, pointer in enumerate(pointers):
            operation.pointer[place] = pointer
        self.operations.append(operation)
        return operation

    def _keep(self, tensor: Tensor) -> int:
        """The address of a tensor as 32-bit floats in one piece."""
        kept = tensor.detach().float().contiguous()
        self._held.append(kept)
        return kept.data_ptr()


def weights(linear: nn.Module) -> tuple[Tensor, Tensor | None, bool]:
    """W, b, and whether they are kept in 8 bits."""
    if not isinstance(linear, nn.Linear | Transposed | Int8) or type(linear) not in (nn.Linear, Transposed, Int8):
        raise Unknown(f"the matrix {type(linear).__name__}")
    return linear.weight, linear.bias, type(linear) is Int8


def activation_of(module: nn.Module) -> Activation:
    if type(module) is nn.GELU:
        return Activation.GELU_TANH if module.approximate == "tanh" else Activation.GELU
    found = {nn.ReLU: Activation.RELU, nn.SiLU: Activation.SILU, nn.Tanh: Activation.TANH}.get(type(module))
    if found is None:
        raise Unknown(f"the activation {type(module).__name__}")
    return found
