"""The Transformer on a tape: its blocks as operations, its state as addresses."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.engine.binding import Binding, ForeignState
from regard.engine.tape import Activation, Heads, Tape, Unknown, activation_of, exactly, weights
from regard.layers.attention import (
    Additive,
    Attention,
    Bilinear,
    CrossAttention,
    CrossAttentionByPlace,
    Dot,
    GroupedSelfAttention,
    ScaledDot,
    SelfAttention,
    Similarity,
)
from regard.layers.block import (
    Block,
    CausalTransformer,
    FeedForward,
    GatedFeedForward,
    NormAfter,
    NormBefore,
    ParallelBlock,
    Transformer,
    TransformerState,
)
from regard.layers.history import History, UnevenHistory
from regard.layers.position import Added, Concatenated, Learned, Normed, Positions, Rotary, Sinusoid
from regard.layers.ssru import SSRU
from regard.layers.state import Growing, Lines, State, roomy

NO_ROTATION = -1


class Remembered(NamedTuple):
    """What a sublayer keeps: keys and values of its own past, or of the source; a vector; or nothing."""

    what: str  # "own", "source", "vector", ""
    heads: int = 0
    width: int = 0


class Blocks:
    """A Transformer's operations, from column x on and back into it, and how its state is bound to them."""

    def __init__(self, tape: Tape, layer: Transformer, x: int, token_width: int, transient: bool = False) -> None:
        if type(layer) not in (Transformer, CausalTransformer):
            raise Unknown(f"the layer {type(layer).__name__}")
        self.tape, self.layer, self.x = tape, layer, x
        self.transient = transient  # an encoder's memory is forgotten block by block, so that one serves all
        self.causal = int(layer.causal)
        self.kept: list[tuple[Remembered, ...]] = []
        self._memories = self._states = 0
        self.rotation = NO_ROTATION
        self._position(layer.position, token_width)
        blocks = [block for block in layer.blocks if exactly(block, Block, ParallelBlock)]
        if len(blocks) < len(layer.blocks):
            raise Unknown("a block of another kind")
        self._scratch(blocks)
        for block in blocks:
            self.kept.append(self._block(block))

    # ---- operations

    def _position(self, position: Positions, token_width: int) -> None:
        if exactly(position, Normed):
            self._position(position.inner, token_width)
            self.tape.norm(position.norm, self.x, self.x)
        elif exactly(position, Rotary):
            self.rotation = self.tape.table(position.sin_cos)
        elif exactly(position, Added, Concatenated):
            encoding = position.encoding
            joined = isinstance(position, Concatenated)
            to = self.x + token_width * joined
            if exactly(encoding, Learned):
                self.tape.place(encoding.table, encoding.table.shape[1], to, not joined)
            elif exactly(encoding, Sinusoid):
                self.tape.place(encoding.sin_cos, 2 * encoding.sin_cos.number, to, not joined)
            else:
                raise Unknown(f"positions {type(encoding).__name__}")
        elif not exactly(position, Positions):
            raise Unknown(f"positions {type(position).__name__}")

    def _scratch(self, blocks: list[Block]) -> None:
        """Columns that all blocks use one after the other, as wide as the widest needs them."""
        width = wide = narrow = 1
        for block in blocks:
            for part in parts_of(block):
                for name, module in part.named_children():
                    if name in ("query", "query_key_value", "W_1"):
                        wide = max(wide, weights(module)[0].shape[0])
                    if name in ("output", "W_2"):
                        width, narrow = (
                            max(a, b) for a, b in zip((width, narrow), weights(module)[0].shape, strict=True)
                        )
                if isinstance(part, SSRU):
                    wide, width = max(wide, 2 * part.width), max(width, part.width)
        self.read, self.wide = self.tape.columns(width), self.tape.columns(wide)
        self.mixed = self.tape.columns(max(narrow, width))
        self.first = self.tape.columns(width) if any(type(block) is ParallelBlock for block in blocks) else self.x
        self.width = width

    def _block(self, block: Block) -> tuple[Remembered, ...]:
        kept = []
        if type(block) is ParallelBlock:
            self.tape.copy(self.x, self.first, self.width)
        for part, residual in zip(parts_of(block), block.residuals, strict=True):
            if exactly(residual, NormBefore):
                source = self.first if type(block) is ParallelBlock else self.x
                self.tape.norm(residual.norm, source, self.read)
                kept.append(self._part(part, self.read))
            elif exactly(residual, NormAfter):
                kept.append(self._part(part, self.x))
                self.tape.norm(residual.norm, self.x, self.x)
            else:
                raise Unknown(f"the residual path {type(residual).__name__}")
        return tuple(kept)

    def _part(self, part: nn.Module, source: int) -> Remembered:
        """x + f(source), for one sublayer f."""
        if exactly(part, SelfAttention, GroupedSelfAttention):
            return self._self_attention(part, source)
        if exactly(part, CrossAttention, CrossAttentionByPlace):
            return self._cross_attention(part, source)
        if exactly(part, SSRU):
            return self._ssru(part, source)
        if not exactly(part, FeedForward, GatedFeedForward):
            raise Unknown(f"the sublayer {type(part).__name__}")
        phi, inner = activation_of(part.activation), weights(part.W_2)[0].shape[1]
        if isinstance(part, GatedFeedForward):
            self.tape.product(part.W_1, source, self.wide)
            self.tape.gate(self.wide, self.mixed, inner, phi)
            self.tape.product(part.W_2, self.mixed, self.x, adds=True)
        else:
            self.tape.product(part.W_1, source, self.wide, phi)
            self.tape.product(part.W_2, self.wide, self.x, adds=True)
        return Remembered("")

    def _self_attention(self, part: SelfAttention, source: int) -> Remembered:
        sharing = part.sharing if isinstance(part, GroupedSelfAttention) else 1
        weight, bias, whole = weights(part.query_key_value)
        memories, keys = part.heads // sharing, part.key_width
        step = weight.shape[0] // memories  # queries of a group, then their key and value
        heads = Heads(part.heads, sharing, step, keys, step - (sharing + 1) * keys)
        asking = slice(0, sharing * keys), slice(sharing * keys, (sharing + 1) * keys)
        weight, bias = folded(part.similarity, weight, bias, memories, asking, self.rotation != NO_ROTATION)
        self.tape.matrix(weight, bias, whole, (source, self.wide), [Activation.NONE])
        memory = self._memory()
        self.tape.remember(memory, heads, self.wide + sharing * keys, self.rotation)
        look = self.tape.attend(memory, heads, (self.wide, self.mixed), self.rotation, compared(part))
        look.more[7] = self.causal
        self.tape.product(part.output, self.mixed, self.x, adds=True)
        return Remembered("own", memories, keys + heads.value_width)

    def _cross_attention(self, part: CrossAttention, source: int) -> Remembered:
        weight, bias, whole = weights(part.query)
        width = weights(part.key_value)[0].shape[0] // part.heads
        heads = Heads(part.heads, 1, part.key_width, part.key_width, width - part.key_width)
        rotation = self.rotation if type(part) is CrossAttentionByPlace else NO_ROTATION
        asking = slice(0, part.key_width), slice(0, 0)
        weight, bias = folded(part.similarity, weight, bias, part.heads, asking, rotation != NO_ROTATION)
        self.tape.matrix(weight, bias, whole, (source, self.wide), [Activation.NONE])
        look = self.tape.attend(self._memory(), heads, (self.wide, self.mixed), rotation, compared(part))
        look.more[9] = True
        self.tape.product(part.output, self.mixed, self.x, adds=True)
        return Remembered("source", part.heads, width)

    def _ssru(self, part: SSRU, source: int) -> Remembered:
        self.tape.product(part.W_f, source, self.wide, Activation.SIGMOID)
        self.tape.product(part.W, source, self.wide + part.width)
        self.tape.ssru(self.wide, self.mixed, part.width, self._states)
        self._states += 1
        self.tape.copy(self.mixed, self.x, part.width, adds=True)
        return Remembered("vector", width=part.width)

    def _memory(self) -> int:
        self._memories += 1
        return 0 if self.transient else self._memories - 1

    # ---- state

    def bind(self, state: State, rows: int, steps: int, keep: Tensor | None) -> Binding:
        """Claims room for what is fed, and says where everything is."""
        if not isinstance(state, TransformerState) or len(state.blocks) != len(self.kept):
            raise ForeignState
        bound, history = Binding(), state.history
        if history.count.shape[0] != rows:
            raise ForeignState
        if keep is None and history.kept is None and history.group_size == 1:
            after = History(history.count + steps, None, history.length + steps)
        else:
            where, after = history.fed(steps, keep)
            bound.where, bound.kept = bound.hold(where), 0 if after.kept is None else bound.hold(after.kept)
            bound.kept_lines = 1 if after.kept is None else after.kept.shape[1]
        if isinstance(history, UnevenHistory):
            bound.filled = bound.hold(torch.tensor(history.lengths))
        bound.seen, bound.group_size, bound.length = bound.hold(history.count), after.group_size, after.length
        sizes = rows, rows // after.group_size, history.length, after.group_size * steps
        blocks: list[tuple[State, ...]] = []
        for kept, before in zip(self.kept, state.blocks, strict=True):
            if len(kept) != len(before):
                raise ForeignState
            blocks.append(tuple([self._bound(bound, *pair, sizes) for pair in zip(kept, before, strict=True)]))
        if state.source_keep is not None:
            self._bind_source(bound, state.source_keep, state.blocks)
        bound.after = TransformerState(after, state.source_keep, tuple(blocks))
        return bound

    def _bind_source(self, bound: Binding, keep: Lines, blocks: Sequence[Sequence[State]]) -> None:
        parts = zip(chain(*self.kept), chain(*blocks), strict=True)
        memory = next((part for one, part in parts if one.what == "source"), None)
        if isinstance(memory, Lines):
            bound.source(keep, memory)

    def _bound(self, bound: Binding, kept: Remembered, before: State, sizes: tuple[int, int, int, int]) -> State:
        rows, lines, seen, new = sizes
        if kept.what == "vector":
            return bound.vector(before, rows, kept.width)
        if not kept.what:
            return None
        shape = kept.heads, kept.width
        if kept.what == "own":
            if before is None:
                buffer = torch.empty(lines, kept.heads, roomy(new), kept.width)
                before = Growing(buffer, 2, length=new)
            elif isinstance(before, Growing) and len(before) == seen and before.buffer.shape[0] == lines:
                before = before.longer(new)
            else:
                raise ForeignState
        if not isinstance(before, Lines):
            raise ForeignState
        bound.memory(before, shape, rows)
        return before


def parts_of(block: Block) -> list[nn.Module]:
    """Its sublayers, in order."""
    return [block.get_submodule(name) for name in block.parts]


def compared(attention: Attention) -> tuple[float, Tensor | None]:
    """The scale of q · k; or v of vᵀ tanh(q + k)."""
    similarity = attention.similarity
    if type(similarity) in (Dot, ScaledDot, Bilinear):
        assert similarity.scale is not None
        return similarity.scale, None
    if type(similarity) is Additive:
        return 1.0, similarity.v.weight[0]
    raise Unknown(f"the similarity {type(similarity).__name__}")


def folded(
    similarity: Similarity,
    weight: Tensor,
    bias: Tensor | None,
    groups: int,
    slices: tuple[slice, slice],
    turned: bool,
) -> tuple[Tensor, Tensor | None]:
    """The matrix of queries and keys with what a similarity does to them in it: W (A x) = (W A) x.

    `slices` says where the queries and the key of each of `groups` parts of the matrix are. What is turned between the
    two cannot be folded: queries are turned before the similarity sees them.
    """
    if not isinstance(similarity, Additive | Bilinear):
        return weight, bias
    with torch.no_grad():
        rows = weight.detach().float().unflatten(0, (groups, -1)).clone()  # (N, …, D)
        added = (
            torch.zeros(rows.shape[:2]) if bias is None else bias.detach().float().unflatten(0, (groups, -1)).clone()
        )
        queries, keys = slices
        by = similarity.U.weight if isinstance(similarity, Additive) else similarity.W.weight
        if rows[:, keys].shape[1]:
            rows[:, keys] = by.float() @ rows[:, keys]
            added[:, keys] = added[:, keys] @ by.float().T
        if isinstance(similarity, Additive):
            if turned:
                raise Unknown("additive similarity behind rotary positions")
            inner = similarity.W.weight.float()
            each = rows[:, queries].unflatten(1, (-1, inner.shape[1]))  # (N, H / N, M, D)
            rows[:, queries] = (inner @ each).flatten(1, 2)
            biases = added[:, queries].unflatten(1, (-1, inner.shape[1]))
            added[:, queries] = (biases @ inner.T + similarity.W.bias.float()).flatten(1, 2)
        return rows.flatten(0, 1), added.flatten()
