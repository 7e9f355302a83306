"""The Transformer's block, attention and feed-forward each with a residual path and a norm; and the stack of them."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.history import AttentionInputs, BiasedMask, History, padding_mask
from regard.layers.layer import Encoded, Layer
from regard.layers.position import Positions
from regard.layers.state import Lines, State
from regard.layers.tap import Tap


@runtime_checkable  # types are checked while tests run
class Sublayer(Protocol):
    """What a block is made of: self-attention, cross-attention, feed-forward."""

    def start(self, batch: int, source: Encoded | None) -> State: ...
    def __call__(self, x: Tensor, state: State, inputs: AttentionInputs) -> tuple[Tensor, State]: ...


class FeedForward(nn.Module):
    """y = W_2 φ(W_1 x + b_1) + b_2 at every position by itself. Shapes: (B, T, D) → (B, T, F) → (B, T, D)."""

    def __init__(self, width: int, inner: int, activation: nn.Module) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = activation
        self.units = Tap("B T F", "units")

    def start(self, batch: int, source: Encoded | None) -> None:
        return None

    def forward(self, x: Tensor, state: None, inputs: AttentionInputs) -> tuple[Tensor, None]:
        return self.W_2(self.units(self.activation(self.W_1(x)))), None


class GatedFeedForward(FeedForward):
    """[g; u] = W_1 x + b_1, y = W_2 (φ(g) ⊙ u) + b_2: a gated linear unit, SwiGLU where φ is SiLU. (Shazeer 2020)

    Shapes: (B, T, D) → (B, T, 2F) → (B, T, F) → (B, T, D).
    """

    def __init__(self, width: int, inner: int, activation: nn.Module) -> None:
        super().__init__(width, inner, activation)
        self.W_1 = nn.Linear(width, 2 * inner)

    def forward(self, x: Tensor, state: None, inputs: AttentionInputs) -> tuple[Tensor, None]:
        gate, value = self.W_1(x).chunk(2, -1)
        return self.W_2(self.units(self.activation(gate) * value)), None


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

    def start(self, batch: int, source: Encoded | None) -> tuple[State, ...]:
        return tuple(sublayer.start(batch, source) for sublayer in self.sublayers())

    def forward(self, x: Tensor, state: tuple[State, ...], inputs: AttentionInputs) -> tuple[Tensor, tuple[State, ...]]:
        states, first = [], x
        for sublayer, residual, before in zip(self.sublayers(), self.residuals, state, strict=True):
            path = cast(NormBefore, residual)
            y, after = sublayer(path.enter(self.read(first, x)), before, inputs)
            x = path.leave(x, y)
            states.append(after)
        return self.hidden(x), tuple(states)

    def read(self, first: Tensor, now: Tensor) -> Tensor:
        """What a sublayer reads: what the one before it has left."""
        return now

    def sublayers(self) -> list[Sublayer]:
        return [getattr(self, name) for name in self.parts]


class ParallelBlock(Block):
    """x + Σ_i f_i(norm_i(x)): all sublayers read what the block was given. (Wang and Komatsuzaki 2021: GPT-J)"""

    def read(self, first: Tensor, now: Tensor) -> Tensor:
        return first


class TransformerState(NamedTuple):
    """The KV cache of every block, and which of its positions are whose."""

    history: History  # what has been fed
    source_keep: Lines | None  # which positions of the source are real; None: all, or there is no source
    blocks: tuple[tuple[State, ...], ...]  # each block's own


class Transformer(Layer[TransformerState]):
    """Positions, then L blocks, then a last norm where norms come before."""

    causal = False

    def __init__(self, position: Positions, blocks: list[Block], dropout: float, last_norm: nn.Module) -> None:
        super().__init__()
        self.position, self.longest = position, position.longest
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.grows = any(getattr(sublayer, "grows", False) for block in blocks for sublayer in block.children())
        self.last_norm = last_norm

    def start(self, batch: int, source: Encoded | None = None) -> TransformerState:
        history = History(torch.zeros(batch, dtype=torch.long, device=next(self.parameters()).device))
        kept = None if source is None or source.keep is None else Lines(source.keep)
        return TransformerState(history, kept, tuple(cast(Block, block).start(batch, source) for block in self.blocks))

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: TransformerState
    ) -> tuple[Float[Tensor, "B T D"], TransformerState]:
        steps, kept = x.shape[1], state.source_keep
        where, history = state.history.fed(steps, keep)  # (B, T)
        x = self.dropout(self.position(x, where, history.length))
        own, bias = history.mask(steps, self.causal), self.position.bias(where, history.places, history.group_size)
        inputs = AttentionInputs(
            own if bias is None else BiasedMask(own, bias),
            padding_mask(None if kept is None else kept.value),
            self.position.rotation(where, history.length),
            history.group_size,
            keep,
        )
        after = []
        for block, past in zip(self.blocks, state.blocks, strict=True):
            x, now = block(x, past, inputs)
            after.append(now)
        return self.last_norm(x), TransformerState(history, kept, tuple(after))


class CausalTransformer(Transformer):
    """A Transformer with the causal mask: nobody looks at what comes later."""

    causal = True
