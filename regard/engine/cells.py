"""Recurrent decoders on a tape, one token at a time; what they read at once, torch's own kernels read."""

import torch
from torch import Tensor, nn

from regard.engine.binding import Binding, ForeignState
from regard.engine.blocks import compared
from regard.engine.tape import Activation, Heads, Tape, Unknown, weights
from regard.layers.attention import Additive, KeyValueAttention
from regard.layers.context import (
    AttendedContext,
    AttendedContextState,
    Copied,
    FixedContext,
    FixedContextState,
    Started,
)
from regard.layers.layer import Layer
from regard.layers.recurrent import GRU, LSTM, RNN, Recurrent, Stack
from regard.layers.state import Lines, State

KINDS: dict[type, int] = {RNN: 0, LSTM: 1, GRU: 2}  # as in source/pass.hpp


class Cells:
    """A stack of cells, from the columns of a token to those of an answer; the ways to know a source extend it."""

    def __init__(self, tape: Tape, layer: Layer, x: int, token_width: int) -> None:
        self.tape = tape
        self.stack = self.stack_of(layer)
        self.layers: list[Recurrent] = []
        for one in self.stack.layers:
            if type(one) not in KINDS:
                raise Unknown(f"the layer {type(one).__name__}")
            assert isinstance(one, Recurrent)
            self.layers.append(one)
        self._first = 0  # the number of the first layer's h among the vectors of the state
        self.x = x
        self.before(layer, token_width)
        source = x
        for depth, cell in enumerate(self.layers):
            source = self._cell(cell, source, depth)
        self.y, self.width = source, self.layers[-1].width
        self.behind(layer)

    def stack_of(self, layer: Layer) -> Stack:
        if type(layer) is not Stack:
            raise Unknown(f"the layer {type(layer).__name__}")
        return layer

    def before(self, layer: Layer, token_width: int) -> None:
        """What else the cells read, beside the token."""

    def behind(self, layer: Layer) -> None:
        """What reads the cells."""

    def vector(self, depth: int) -> int:
        """The number of a layer's h among the vectors of the state."""
        return self._first + sum(cell.remembers for cell in self.layers[:depth])

    def _cell(self, cell: Recurrent, source: int, depth: int) -> int:
        tape, width, h = self.tape, cell.width, self.vector(depth)
        (W_x, b_x, whole), (W_h, b_h, _) = weights(cell.W_hx), weights(cell.W_hh)
        inputs = W_x.shape[1]
        gates, after = tape.columns(cell.gates * width), tape.columns(2 * width)
        if type(cell) is GRU:  # r stands between W_h h and the rest
            before, from_h = tape.columns(width), tape.columns(cell.gates * width)
            tape.load(h, before, width)
            tape.product(cell.W_hx, source, gates)
            tape.product(cell.W_hh, before, from_h)
        else:  # W_x x + W_h h = [W_x W_h] [x; h]
            both, from_h = tape.columns(inputs + width), 0
            tape.copy(source, both, inputs)
            tape.load(h, both + inputs, width)
            bias = b_x if b_h is None else b_h if b_x is None else b_x + b_h
            tape.matrix(torch.cat([W_x, W_h], 1), bias, whole, (both, gates), [Activation.NONE])
        tape.cell(gates, after, width, [KINDS[type(cell)], h, h + 1, from_h])
        return after

    # ---- state

    def bind(self, state: State, rows: int, steps: int, keep: Tensor | None) -> Binding:
        if steps != 1 or keep is not None:
            raise ForeignState  # many positions at once: torch has a kernel for that
        bound = Binding(length=1)
        bound.after = self.bound(bound, state, rows)
        return bound

    def bound(self, bound: Binding, state: State, rows: int) -> State:
        return self.cells(bound, state, rows)

    def cells(self, bound: Binding, state: State, rows: int) -> tuple[tuple[Tensor, ...], ...]:
        if not isinstance(state, tuple) or len(state) != len(self.layers):
            raise ForeignState
        after = []
        for cell, vectors in zip(self.layers, state, strict=True):
            if not isinstance(vectors, tuple) or len(vectors) != cell.remembers:
                raise ForeignState
            after.append(tuple(bound.vector(vector, rows, cell.width) for vector in vectors))
        return tuple(after)


class StartedCells(Cells):
    """A decoder that knows its source by its first state alone."""

    def stack_of(self, layer: Layer) -> Stack:
        assert isinstance(layer, Copied)
        return layer.decoder


class FixedContextCells(Cells):
    """[y_t; c] with c in the state; o_t = tanh(W [s_t; c])."""

    def stack_of(self, layer: Layer) -> Stack:
        assert isinstance(layer, FixedContext | AttendedContext)
        return layer.decoder

    def before(self, layer: Layer, token_width: int) -> None:
        assert isinstance(layer, FixedContext)
        self._first = 1
        self.context = self.x + token_width
        self.source_width = weights(layer.readout.W)[0].shape[1] - self.layers[-1].width
        self.tape.load(0, self.context, self.source_width)

    def behind(self, layer: Layer) -> None:
        assert isinstance(layer, FixedContext | AttendedContext)
        both, answer = self.tape.columns(self.width + self.source_width), self.tape.columns(self.width)
        self.tape.copy(self.y, both, self.width)
        self.tape.copy(self.context, both + self.width, self.source_width)
        self.tape.product(layer.readout.W, both, answer, Activation.TANH)
        self.y = answer

    def bound(self, bound: Binding, state: State, rows: int) -> State:
        if not isinstance(state, FixedContextState) or state.context.shape != (rows, self.source_width):
            raise ForeignState
        bound.floats(state.context)
        bound.states.extend((bound.hold(state.context), 0))
        return state._replace(cells=self.cells(bound, state.cells, rows))


class AttendedCells(FixedContextCells):
    """[y_t; c_t] with c_t = Σ_i a_{t,i} h_i, asked for by s_{t−1}."""

    def before(self, layer: Layer, token_width: int) -> None:
        assert isinstance(layer, AttendedContext)
        attention, tape = layer.attention, self.tape
        if type(attention) is not KeyValueAttention or not isinstance(attention.query, nn.Identity):
            raise Unknown(f"the attention {type(attention).__name__}")
        similarity, width = attention.similarity, self.layers[-1].width
        self.context = self.x + token_width
        self.source_width = weights(layer.readout.W)[0].shape[1] - width
        query = tape.columns(width)
        tape.load(self.vector(len(self.layers) - 1), query, width)
        keys = similarity.prepared_width or attention.key_width
        if isinstance(similarity, Additive):
            asked = tape.columns(keys)
            tape.product(similarity.W, query, asked)
            query = asked
        self.shape = 1, keys + self.source_width
        heads = Heads(1, 1, 0, keys, self.source_width)
        look = tape.attend(0, heads, (query, self.context), -1, compared(attention))
        look.more[9] = True

    def bound(self, bound: Binding, state: State, rows: int) -> State:
        if not isinstance(state, AttendedContextState) or not isinstance(state.memory, Lines):
            raise ForeignState
        bound.memory(state.memory, self.shape, rows)
        bound.source(state.source_keep, state.memory)
        return state._replace(cells=self.cells(bound, state.cells, rows))


KNOWN: dict[type, type[Cells]] = {
    Stack: Cells,
    Copied: StartedCells,
    Started: StartedCells,
    FixedContext: FixedContextCells,
    AttendedContext: AttendedCells,
}


def inputs_of(layer: Layer) -> int:
    """How wide a vector the first cell reads."""
    stack = layer if isinstance(layer, Stack) else getattr(layer, "decoder", None)
    if not isinstance(stack, Stack) or not isinstance(stack.layers[0], Recurrent):
        raise Unknown(f"the layer {type(layer).__name__}")
    return weights(stack.layers[0].W_hx)[0].shape[1]
