"""Recurrence: h_t = f_W(x_t, h_{t−1}). Vanilla RNN, LSTM, GRU; several deep; in both directions.

Each cell's equations are written once, in `cell`. Nobody listening and more than one position: torch's own fused kernel
computes the same from the same weights. A law says that the two agree.
"""

from typing import Any, NamedTuple, TypeAlias, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

from regard.layers.dropout import Dropout
from regard.layers.layer import Encoded, Layer, kept_first
from regard.layers.tap import Tap, listening, taps_of

Cells: TypeAlias = tuple[Tensor, ...]  # h first, each (B, D)

HOLD = 1e4  # added to a gate before its sigmoid it gives exactly 1, subtracted exactly 0


class Recurrent(Layer[Cells]):
    """One layer of one cell. Shapes: x (B, T, D_in) → y (B, T, D); the state is a tuple of (B, D), h first."""

    gates: int  # how many vectors of width D the cell computes from x_t and h_{t−1}
    remembers: int = 1  # how many vectors of width D it carries

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.W_hx = nn.Linear(inputs, self.gates * width)
        self.W_hh = nn.Linear(width, self.gates * width)
        self.hidden = Tap("B T D", "hidden", carried=True)
        for block in self.W_hh.weight.data.split(width):
            nn.init.orthogonal_(block)  # keeps the length of h, and of gradients, over many steps (Saxe et al. 2014)
        nn.init.zeros_(self.W_hx.bias)
        nn.init.zeros_(self.W_hh.bias)

    def start(self, batch: int, source: Encoded | None = None) -> Cells:
        return tuple(self.W_hh.weight.new_zeros(batch, self.width) for _ in range(self.remembers))

    def last_hidden(self, state: Cells) -> Float[Tensor, "B D"]:
        """s_{t−1}: what the layer last put out."""
        return state[0]

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: Cells
    ) -> tuple[Float[Tensor, "B T D"], Cells]:
        if x.shape[1] == 1 or listening(self):
            return self._by_equations(x, keep, state)
        if torch.compiler.is_exporting():  # kernels and loops of Python have one length in a graph that others run
            return self._as_scan(x, keep, state)
        if keep is None:
            return self.kernel(x, state)
        return self._kernel_with_gaps(x, keep, state)

    def summary(self, y: Tensor, keep: Tensor | None, state: Cells) -> Float[Tensor, "B D"]:
        return self.last_hidden(state)

    def cell(self, inputs: Float[Tensor, "B GD"], state: Cells) -> Cells:
        """One step; `inputs` is W_hx x_t + b, computed for all t at once."""
        raise NotImplementedError

    def kernel(self, x: Tensor, state: Cells) -> tuple[Tensor, Cells]:
        """All T steps by torch's fused code."""
        raise NotImplementedError

    def kernel_then_padding(self, x: Tensor, kept: Bool[Tensor, "B T"], state: Cells) -> tuple[Tensor, Cells]:
        """As `kernel`, where every row has its padding at the end; all but h of the state must stop there."""
        return self.kernel(x, state)

    def _by_equations(self, x: Tensor, keep: Tensor | None, state: Cells) -> tuple[Tensor, Cells]:
        outputs = []
        for t, inputs in enumerate(self.W_hx(x).unbind(1)):  # one product for all t: (B, T, G·D) → T × (B, G·D)
            new = self.cell(inputs, state)
            if keep is not None:
                new = tuple(torch.where(keep[:, t, None], n, old) for n, old in zip(new, state, strict=True))
            state = new
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def _as_scan(self, x: Tensor, keep: Tensor | None, state: Cells) -> tuple[Tensor, Cells]:
        """The equations as one operation over any number of positions."""
        kept = torch.ones_like(x[..., 0], dtype=torch.bool) if keep is None else keep

        def one(before: Cells, given: tuple[Tensor, Tensor]) -> tuple[Cells, Tensor]:
            inputs, real = given
            new = self.cell(inputs, before)
            after = tuple(torch.where(real[:, None], n, old) for n, old in zip(new, before, strict=True))
            return after, after[0].clone()

        last, y = scan(one, state, (self.W_hx(x).transpose(0, 1), kept.transpose(0, 1)))
        return y.transpose(0, 1), tuple(last)

    def _kernel_with_gaps(self, x: Tensor, keep: Tensor, state: Cells) -> tuple[Tensor, Cells]:
        """The kernel knows no padding, so real positions are moved to the front and back again.

        Torch's packed sequences do this too and were 2.6 times slower than the kernel on a padded batch.
        """
        rows = torch.arange(len(x), device=x.device)
        order = kept_first(keep)
        y, last = self.kernel_then_padding(x[rows[:, None], order], keep.gather(1, order), state)
        count = keep.sum(1)
        h = torch.where(count[:, None] > 0, y[rows, (count - 1).clamp(min=0)], state[0])
        return y[rows[:, None], torch.argsort(order, dim=1)], (h, *last[1:])

    def _kernel_arguments(self, weight: Tensor) -> tuple[list[Tensor], bool, int, float, bool, bool, bool]:
        weights = [weight, self.W_hh.weight, self.W_hx.bias, self.W_hh.bias]
        # biases; one layer; no dropout; keep what the backward pass needs; one direction; batch first
        return weights, True, 1, 0.0, torch.is_grad_enabled(), False, True


class RNN(Recurrent):
    """h_t = tanh(W_hh h_{t−1} + W_hx x_t). (Elman 1990)"""

    gates = 1

    def cell(self, inputs: Tensor, state: Cells) -> Cells:
        (h,) = state
        h = torch.tanh(self.W_hh(h) + inputs)
        return (self.hidden.at_one_position(h),)

    def kernel(self, x: Tensor, state: Cells) -> tuple[Tensor, Cells]:
        y, h = torch.rnn_tanh(x, state[0][None], *self._kernel_arguments(self.W_hx.weight))
        return y, (h[0],)


class LSTM(Recurrent):
    """i, f, o = σ(W_x x_t + W_h h_{t−1}), g = tanh(…);  c_t = f ⊙ c_{t−1} + i ⊙ g;  h_t = o ⊙ tanh(c_t).

    The update of c is additive, so gradients reach back along it. (Hochreiter and Schmidhuber 1997; Gers et al. 2000)
    """

    gates = 4
    remembers = 2

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        self.input_gate, self.forget_gate, self.output_gate = (Tap("B T D", "gate") for _ in range(3))
        self.candidate, self.cells = Tap("B T D", "candidate"), Tap("B T D", "cells", carried=True)
        # A new LSTM remembers: a forget gate near ½ would lose everything within a few steps (Jozefowicz 2015).
        nn.init.ones_(self.W_hx.bias.data[width : 2 * width])

    def cell(self, inputs: Tensor, state: Cells) -> Cells:
        h, c = state
        i, f, g, o = (self.W_hh(h) + inputs).chunk(4, -1)  # each (B, D)
        i = self.input_gate.at_one_position(torch.sigmoid(i))
        f = self.forget_gate.at_one_position(torch.sigmoid(f))
        o = self.output_gate.at_one_position(torch.sigmoid(o))
        g = self.candidate.at_one_position(torch.tanh(g))
        c = self.cells.at_one_position(f * c + i * g)
        h = self.hidden.at_one_position(o * torch.tanh(c))
        return h, c

    def kernel(self, x: Tensor, state: Cells, weight: Tensor | None = None) -> tuple[Tensor, Cells]:
        h, c = state
        weight = self.W_hx.weight if weight is None else weight
        y, h, c = torch.lstm(x, (h[None], c[None]), *self._kernel_arguments(weight))
        return y, (h[0], c[0])

    def kernel_then_padding(self, x: Tensor, kept: Bool[Tensor, "B T"], state: Cells) -> tuple[Tensor, Cells]:
        """c stops at a row's end because padding, as one more input, shuts the input gate and opens the forget gate."""
        hold = torch.cat([x.new_full((self.width,), value) for value in (-HOLD, HOLD, 0.0, 0.0)])
        x = torch.cat([x, (~kept)[..., None].to(x.dtype)], -1)  # (B, T, D_in + 1)
        return self.kernel(x, state, torch.cat([self.W_hx.weight, hold[:, None]], 1))


class GRU(Recurrent):
    """r, z = σ(W_x x_t + W_h h_{t−1});  n = tanh(W_x x_t + r ⊙ W_h h_{t−1});  h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}.

    (Cho et al. 2014, in the form that torch and cuDNN compute: r acts behind W_h.)
    """

    gates = 3

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        self.reset_gate, self.update_gate = Tap("B T D", "gate"), Tap("B T D", "gate")
        self.candidate = Tap("B T D", "candidate")

    def cell(self, inputs: Tensor, state: Cells) -> Cells:
        (h,) = state
        x_r, x_z, x_n = inputs.chunk(3, -1)
        h_r, h_z, h_n = self.W_hh(h).chunk(3, -1)
        r = self.reset_gate.at_one_position(torch.sigmoid(x_r + h_r))
        z = self.update_gate.at_one_position(torch.sigmoid(x_z + h_z))
        n = self.candidate.at_one_position(torch.tanh(x_n + r * h_n))
        return (self.hidden.at_one_position((1 - z) * n + z * h),)

    def kernel(self, x: Tensor, state: Cells) -> tuple[Tensor, Cells]:
        y, h = torch.gru(x, state[0][None], *self._kernel_arguments(self.W_hx.weight))
        return y, (h[0],)


class Stack(Layer[tuple[Any, ...]]):
    """Layers on top of each other: y = f_L(… f_2(f_1(x))). The state is the tuple of theirs."""

    def __init__(self, layers: list["Recurrent | Bidirectional"], dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = Dropout(dropout)

    @property
    def width(self) -> int:
        return self._each()[-1].width

    def start(self, batch: int, source: Encoded | None = None) -> tuple[Any, ...]:
        return tuple(layer.start(batch) for layer in self._each())

    def last_hidden(self, state: tuple[Any, ...]) -> Float[Tensor, "B D"]:
        return self._each()[-1].last_hidden(state[-1])

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: tuple[Any, ...]
    ) -> tuple[Float[Tensor, "B T D"], tuple[Any, ...]]:
        states = []
        for depth, (layer, before) in enumerate(zip(self._each(), state, strict=True)):
            x, after = layer(self.dropout(x) if depth else x, keep, before)
            states.append(after)
        return x, tuple(states)

    def summary(self, y: Tensor, keep: Tensor | None, state: tuple[Any, ...]) -> Float[Tensor, "B D"]:
        return self.last_hidden(state)

    def _each(self) -> list["Recurrent | Bidirectional"]:
        return cast(list[Recurrent | Bidirectional], list(self.layers))


class BothWays(NamedTuple):
    """What each direction remembers."""

    left: Cells  # of the one that reads from the left
    right: Cells


class Bidirectional(Layer[BothWays]):
    """h_t = [h→_t; h←_t]: one layer reads from the left, one from the right (Schuster and Paliwal 1997).

    For encoders, which have the whole source at hand. Each direction has half the width. Padding does nothing to a
    state wherever it stands, so reading from the right is reading the reversed batch as it is.
    """

    def __init__(self, forwards: Recurrent, backwards: Recurrent) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards
        self.width = forwards.width + backwards.width
        for tap in taps_of(backwards).values():
            tap.from_the_end = True

    def start(self, batch: int, source: Encoded | None = None) -> BothWays:
        return BothWays(self.forwards.start(batch), self.backwards.start(batch))

    def last_hidden(self, state: BothWays) -> Float[Tensor, "B D"]:
        return torch.cat([self.forwards.last_hidden(state.left), self.backwards.last_hidden(state.right)], -1)

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: BothWays
    ) -> tuple[Float[Tensor, "B T D"], BothWays]:
        y, left = self.forwards(x, keep, state.left)
        z, right = self.backwards(x.flip(1), None if keep is None else keep.flip(1), state.right)
        return torch.cat([y, z.flip(1)], -1), BothWays(left, right)

    def summary(self, y: Tensor, keep: Tensor | None, state: BothWays) -> Float[Tensor, "B D"]:
        return self.last_hidden(state)
