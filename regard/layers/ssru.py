"""Recurrence inside a Transformer's block: a decoder that keeps one vector in the place of all keys and values."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.history import AttentionInputs
from regard.layers.layer import Encoded
from regard.layers.tap import Tap


class SSRU(nn.Module):
    """f_t = σ(W_f x_t + b_f);  c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ W x_t;  y_t = relu(c_t).

    The simpler simple recurrent unit, where a block would have self-attention: what it remembers is as large after a
    thousand tokens as after one, and all products are done before anything waits for the step before. (Kim et al. 2019)
    Shapes: x (B, T, D) → y (B, T, D); the state is c (B, D).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.W_f, self.W = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.forget_gate, self.candidate = Tap("B T D", "gate"), Tap("B T D", "candidate")
        self.cells = Tap("B T D", "cells", carried=True)

    def start(self, batch: int, source: Encoded | None) -> Float[Tensor, "B D"]:
        return self.W_f.weight.new_zeros(batch, self.width)

    def forward(
        self, x: Float[Tensor, "B T D"], state: Float[Tensor, "B D"], inputs: AttentionInputs
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
        forget = self.forget_gate(torch.sigmoid(self.W_f(x)))
        if inputs.keep is not None:  # padding forgets nothing and adds nothing
            forget = forget.masked_fill(~inputs.keep[..., None], 1.0)
        added = (1 - forget) * self.candidate(self.W(x))
        cells = []
        for kept, new in zip(forget.unbind(1), added.unbind(1), strict=True):
            state = self.cells.at_one_position(kept * state + new)
            cells.append(state)
        return torch.relu(torch.stack(cells, 1)), state
