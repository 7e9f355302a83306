"""The Transformer's block, attention and feed-forward each with a residual path and a norm; and the stack of them."""

from collections.abc import Callable
from typing import Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.history import History, Sight, everywhere_kept
from regard.layers.layer import Encoded, Layer
from regard.layers.position import Positions
from regard.layers.state import Growing, State
from regard.layers.tap import Tap


@runtime_checkable
class Sublayer(Protocol):
    """What a block is made of: self-attention, cross-attention, feed-forward."""

    def start(self, batch: int, source: Encoded | None) -> State: ...
    def __call__(self, x: Tensor, state: State, sight: Sight) -> tuple[Tensor, State]: ...


class FeedForward(nn.Module):
    """y = W_2 φ(W_1 x + b_1) + b_2 at every position by itself. Shapes: (B, T, D) → (B, T, F) → (B, T, D)."""

    def __init__(self, width: int, inner: int, activation: nn.Module) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = activation
        self.units = Tap("B T F", "units")

    def start(self, batch: int, source: Encoded | None) -> State:
        return None

    def forward(self, x: Tensor, state: State, sight: Sight) -> tuple[Tensor, State]:
        return self.W_2(self.units(self.activation(self.W_1(x)))), None


class NormBefore(nn.Module):
    """x + f(norm(x)): the residual path is never normed, so deep stacks train from the start. (Xiong et al. 2020)"""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return x + self.dropout(y)


class NormAfter(NormBefore):
    """norm(x + f(x)). (Vaswani et al. 2017)"""

    def enter(self, x: Tensor) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        return self.norm(x + self.dropout(y))


class Block(nn.Module):
    """Sublayers in order, each inside its residual path. The state is the tuple of theirs."""

    def __init__(self, sublayers: dict[str, nn.Module], residual: Callable[[], NormBefore]) -> None:
        super().__init__()
        self.parts = tuple(sublayers)
        for name, sublayer in sublayers.items():
            self.add_module(name, sublayer)
        self.residuals = nn.ModuleList(residual() for _ in sublayers)
        self.hidden = Tap("B T D", "hidden")

    def start(self, batch: int, source: Encoded | None) -> State:
        return tuple(sublayer.start(batch, source) for sublayer in self._sublayers())

    def forward(self, x: Tensor, state: State, sight: Sight) -> tuple[Tensor, State]:
        states = []
        for sublayer, residual, before in zip(self._sublayers(), self.residuals, state, strict=True):
            path = cast(NormBefore, residual)
            y, after = sublayer(path.enter(x), before, sight)
            x = path.leave(x, y)
            states.append(after)
        return self.hidden(x), tuple(states)

    def _sublayers(self) -> list[Sublayer]:
        return [getattr(self, name) for name in self.parts]


class Transformer(Layer):
    """Positions, then L blocks, then a last norm where norms come before.

    State: what has been fed, which positions of the source are real, and each block's own.
    """

    causal = False
    grows = True

    def __init__(self, position: Positions, blocks: list[Block], dropout: float, last_norm: nn.Module) -> None:
        super().__init__()
        self.position, self.longest = position, position.longest
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.last_norm = last_norm

    def start(self, batch: int, source: Encoded | None = None) -> State:
        history = History(torch.zeros(batch, dtype=torch.long, device=next(self.parameters()).device))
        kept = None if source is None or source.keep is None else Growing(source.keep)
        return history, kept, *(cast(Block, block).start(batch, source) for block in self.blocks)

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: State
    ) -> tuple[Float[Tensor, "B T D"], State]:
        history, kept, *before = state
        steps = x.shape[1]
        where, history = history.fed(steps, keep)  # (B, T)
        x = self.dropout(self.position(x, where, history.length))
        sight = Sight(
            history.view(steps, self.causal),
            everywhere_kept(None if kept is None else kept.value),
            self.position.turn(where, history.length),
            history.each,
        )
        after = []
        for block, past in zip(self.blocks, before, strict=True):
            x, past = block(x, past, sight)
            after.append(past)
        return self.last_norm(x), (history, kept, *after)


class CausalTransformer(Transformer):
    """The same with the mask: nobody looks at what comes later."""

    causal = True
