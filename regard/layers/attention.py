"""Attention as the notes grow it: a similarity, weights that sum to 1, a weighted sum; then keys, values, heads.

    E = f_att(Q, K);   A = softmax(E);   Y = A V

One class computes it for every use. `keys_values` is computed once from what may be looked at; `attend` asks it a
query. Self-attention adds what it has just been fed, so its memory grows: that is the KV cache.

Matrices that read the same input are one matrix: a step of a small model is bound by how many products it has.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import unknown
from regard.layers.history import AttentionInputs, BiasedMask, Mask, positions
from regard.layers.layer import Encoded
from regard.layers.position import Rotary, Rotation, rotate
from regard.layers.state import Growing, Lines
from regard.layers.tap import SOURCE, WRITTEN, Tap, listening


def product(a: Float[Tensor, "B H T I"], b: Float[Tensor, "B H I S"]) -> Float[Tensor, "B H T S"]:
    """A matrix product for every head. `@` does the same with six more operations, as long as a small product each."""
    return torch.bmm(a.flatten(0, 1), b.flatten(0, 1)).view(*a.shape[:3], b.shape[3])


class Similarity(nn.Module):
    """f_att(q, k): how well a query and a key match. Shapes: (B, H, T, M), (B, H, S, M') → (B, H, T, S)."""

    scale: float | None = None  # of q·k for the fused kernel; None: this similarity is no dot product
    prepared_width: int | None = None  # of a key once prepared; None: as it was

    def prepare(self, keys: Float[Tensor, "B S H M"]) -> Float[Tensor, "B S H N"]:
        """What depends on the key alone, computed once per key."""
        return keys

    def forward(self, queries: Float[Tensor, "B H T M"], keys: Float[Tensor, "B H S N"]) -> Float[Tensor, "B H T S"]:
        assert self.scale is not None
        return product(queries * self.scale, keys.transpose(-1, -2))


class Dot(Similarity):
    """e = q · k. (Luong et al. 2015)"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        assert query_width == key_width
        self.scale = 1.0


class ScaledDot(Dot):
    """e = q · k / √D_Q: keeps scores of order 1, so that softmax does not saturate. (Vaswani et al. 2017)"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__(query_width, key_width)
        self.scale = 1 / math.sqrt(query_width)


class Bilinear(Similarity):
    """e = qᵀ W k. (Luong et al. 2015) With W k prepared it is a dot product."""

    scale = 1.0

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.W = nn.Linear(key_width, query_width, bias=False)
        self.prepared_width = query_width

    def prepare(self, keys: Tensor) -> Tensor:
        return self.W(keys)


class Additive(Similarity):
    """e = vᵀ tanh(W q + U k): f_att is an MLP. (Bahdanau et al. 2015)"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        width = max(query_width, key_width)
        self.W = nn.Linear(query_width, width)
        self.U = nn.Linear(key_width, width, bias=False)
        self.v = nn.Linear(width, 1, bias=False)
        self.prepared_width = width

    def prepare(self, keys: Tensor) -> Tensor:
        return self.U(keys)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        both = self.W(queries).unsqueeze(-2) + keys.unsqueeze(-3)  # (B, H, T, 1, A) + (B, H, 1, S, A)
        return self.v(torch.tanh(both)).squeeze(-1)


SIMILARITIES: dict[str, type[Dot] | type[Bilinear] | type[Additive]] = {
    "additive": Additive,
    "dot": Dot,
    "scaled": ScaledDot,
    "bilinear": Bilinear,
}


def similarity(kind: str, query_width: int, key_width: int) -> Similarity:
    """The similarity of that name, for vectors of these widths."""
    if kind not in SIMILARITIES:
        raise unknown("similarity", kind, SIMILARITIES)
    return SIMILARITIES[kind](query_width, key_width)


FEW = 8  # queries


def masked_softmax(scores: Float[Tensor, "B H T S"], mask: Mask) -> Float[Tensor, "B H T S"]:
    """a_i = exp(e_i) / Σ exp(e_j) over the positions that the mask allows; where there is none, zeros, never NaN."""
    if mask.masked is None:
        return torch.softmax(scores, -1)
    weights = torch.softmax(scores.masked_fill(mask.masked, -math.inf), -1)
    return weights if mask.fully_masked is None else weights.masked_fill(mask.fully_masked, 0.0)


def attend(
    q: Float[Tensor, "B H T M"],
    k: Float[Tensor, "B H S N"],
    v: Float[Tensor, "B H S L"],
    mask: Mask,
    similarity: Similarity,
    see_scores: Callable[[Tensor], Tensor] = lambda scores: scores,
    see_weights: Callable[[Tensor], Tensor] = lambda weights: weights,
) -> Float[Tensor, "B H T L"]:
    """E = f_att(Q, K);  A = softmax(E);  Y = A V: attention, all of it. Keys come prepared, masks written out."""
    scores = see_scores(mask.added(similarity(q, k)))  # (B, H, T, S)
    weights = see_weights(masked_softmax(scores, mask))
    return product(weights, v)


class Attention(nn.Module):
    """Q = X_Q W_Q, K = X W_K, V = X W_V;  A = softmax(f_att(Q, K));  Y = concat_h(A_h V_h) W_O, for H heads.

    Shapes: X_Q (B, T, D_Q), X (B, S, D_X); per head keys have width M, values width L; Y (B, T, D).
    The fused kernel never holds the T × S weights; they exist only while somebody listens. (Vaswani et al. 2017)

    The memory is (G, H, S, M + L): K and V side by side. Where it has fewer lines than X_Q has rows, B = G · K, the K
    rows of a group look at one line: the beams of a sentence share its source.
    """

    looks_at = WRITTEN

    def __init__(self, similarity: Similarity, key_width: int, heads: int = 1) -> None:
        super().__init__()
        self.heads = heads
        self.key_width = key_width  # M, of a key as it comes out of its matrix
        self.similarity = similarity
        self.output: nn.Module = nn.Identity()
        to = self.looks_at
        self.queries, self.mixed = Tap("B H T M", "queries"), Tap("B H T L", "mixed")
        self.keys, self.values = Tap("B H S M", "keys", columns=to), Tap("B H S L", "values", columns=to)
        self.scores = Tap("B H T S", "scores", columns=to, filler=-math.inf)
        self.weights = Tap("B H T S", "weights", columns=to)

    def _by_equations(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
        q, k, v = self.queries(q), self.keys(k), self.values(v)
        return self.mixed(attend(q, k, v, mask, self.similarity, self.scores, self.weights))

    def remember(
        self, both: Float[Tensor, "B S H ML"], past: Growing | None, rotation: Rotation | None, groups: int
    ) -> Growing:
        """The memory with these keys and values added: a line for each group."""
        both = self.lines(both, rotation, groups)
        if past is not None:
            return past.append(both)
        return Growing(both if torch.is_grad_enabled() else both.contiguous(), axis=2)  # many steps will look at it

    def lines(
        self, both: Float[Tensor, "B S H ML"], rotation: Rotation | None, groups: int
    ) -> Float[Tensor, "G H KS NL"]:
        """Keys, prepared and rotated, and values as the memory has them."""
        plain = both[..., : self.key_width]
        keys = rotate(self.similarity.prepare(plain), rotation)
        if keys is not plain:
            both = torch.cat([keys, both[..., self.key_width :]], -1)
        return _grouped(both, groups).transpose(1, 2)

    def mix(
        self, queries: Float[Tensor, "B T H M"], memory: Lines, mask: Mask, rotation: Rotation | None
    ) -> Float[Tensor, "B T D"]:
        """y_t = Σ_i a_{t,i} v_i over the positions that the mask allows."""
        rows, steps = queries.shape[:2]
        everything = self.for_every_head(memory.value)  # (G, H, S, M + L)
        queries = _grouped(rotate(queries, rotation), everything.shape[0]).transpose(1, 2)  # (G, H, K·T, M)
        width = self._prepared_width
        keys, values = everything.split([width, everything.shape[-1] - width], -1)
        # The kernel is made for many queries; for one it is as fast as two products, for a few it is slower.
        few = 1 < queries.shape[2] <= FEW and not torch.is_grad_enabled()
        if self.similarity.scale is None or few or isinstance(mask, BiasedMask) or listening(self):
            mixed = self._by_equations(queries, keys, values, mask.explicit(keys.shape[2], keys.device))
        else:
            mixed = self._by_kernel(queries, keys, values, mask)
        together = mixed.transpose(1, 2).flatten(2)  # (G, H, K·T, L) → (G, K·T, H·L)
        return self.output(together.reshape(rows, steps, together.shape[2]))  # → (B, T, D)

    def for_every_head(self, memory: Float[Tensor, "G N S ML"]) -> Float[Tensor, "G H S ML"]:
        """Keys and values as the H heads look at them."""
        return memory

    @property
    def _prepared_width(self) -> int:
        return self.similarity.prepared_width or self.key_width

    def _by_kernel(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask) -> Tensor:
        width = values.shape[-1]
        widest = max(width, keys.shape[-1])
        if width != keys.shape[-1]:  # the kernel wants one width; zeros change neither q·k nor the columns we keep
            queries, keys, values = (F.pad(x, (0, widest - x.shape[-1])) for x in (queries, keys, values))
        if queries.is_cpu and queries.dtype == torch.bfloat16:  # backwards, 16 bits take a CPU 8 times as long as 32
            queries, keys, values = queries.float(), keys.float(), values.float()
        with torch.autocast("cpu", enabled=False):
            mixed = F.scaled_dot_product_attention(
                queries, keys, values, attn_mask=mask.allowed, is_causal=mask.causal, scale=self.similarity.scale
            )
        return mixed[..., :width]

    def _split(self, x: Float[Tensor, "B S HM"]) -> Float[Tensor, "B S H M"]:
        return x.unflatten(-1, (self.heads, -1))


def _grouped(x: Float[Tensor, "B T H M"], groups: int) -> Float[Tensor, "G KT H M"]:
    """The beams of a group one behind the other, as if they were further positions."""
    return x if x.shape[0] == groups else x.reshape(groups, -1, *x.shape[2:])


class KeyValueAttention(Attention):
    """Queries from one side, keys and values from another.

    Without matrices the inputs are used directly, as in the notes' first steps.
    """

    looks_at = SOURCE

    def __init__(self, similarity: Similarity, key_width: int, heads: int = 1) -> None:
        super().__init__(similarity, key_width, heads)
        self.query: nn.Module = nn.Identity()
        self.key_value: nn.Module = KeysAreValues()  # (B, S, D_X) → (B, S, H·(M + L))

    def keys_values(self, x: Float[Tensor, "B S D_X"], rotation: Rotation | None = None) -> Lines:
        """K and V, to be attended to many times."""
        lines = self.lines(self._split(self.key_value(x)), rotation, x.shape[0])
        return Lines(lines if torch.is_grad_enabled() else lines.contiguous(), axis=2)

    def attend(
        self, x: Float[Tensor, "B T D_Q"], memory: Lines, mask: Mask, rotation: Rotation | None = None
    ) -> Float[Tensor, "B T D"]:
        """y_t = Σ_i a_{t,i} v_i over the positions that the mask allows."""
        return self.mix(self._split(self.query(x)), memory, mask, rotation)


class KeysAreValues(nn.Module):
    """[x; x]: the inputs are keys and values themselves."""

    def forward(self, x: Float[Tensor, "B S D"]) -> Float[Tensor, "B S DD"]:
        return torch.cat([x, x], -1)


def attend_to_inputs(query_width: int, input_width: int, kind: str) -> KeyValueAttention:
    """The notes' first layer: inputs are keys and values themselves. y = Σ a_i x_i, e_i = f_att(q, x_i)."""
    return KeyValueAttention(similarity(kind, query_width, input_width), input_width)


class HeadShape(NamedTuple):
    """H heads, each with keys of width M and values of width L."""

    number: int
    key_width: int
    value_width: int

    @classmethod
    def of(cls, width: int, number: int, key_width: int | None = None, value_width: int | None = None) -> "HeadShape":
        """Left out, widths share out the model's."""
        assert (key_width and value_width) or width % number == 0
        return cls(number, key_width or width // number, value_width or width // number)


class MultiHead(KeyValueAttention):
    """H heads, each with its own W_Q, W_K (D × M) and W_V (D × L), and W_O (H·L × D) over all of them.

    Without biases that is d·(2m + l)·H + H·l·d numbers. In a matrix, what belongs to one head stands together.
    """

    def __init__(self, width: int, heads: HeadShape, inputs: int | None = None, kind: str = "scaled") -> None:
        number, m, l = heads
        super().__init__(similarity(kind, m, m), m, number)
        self.query = nn.Linear(width, number * m)
        self.key_value = nn.Linear(inputs or width, number * (m + l))
        self.output = nn.Linear(number * l, width)


class CrossAttention(MultiHead):
    """Queries from the decoder, keys and values from the encoder, read once."""

    def start(self, batch: int, source: Encoded | None) -> Lines:
        assert source is not None
        return self.keys_values(source.vectors)

    def forward(self, x: Tensor, state: Lines, inputs: AttentionInputs) -> tuple[Tensor, Lines]:
        return self.attend(x, state, inputs.source), state


class CrossAttentionByPlace(CrossAttention):
    """Cross-attention with rotary positions: q_t rotated by its place in the target, k_s by its place in the source.

    q_t · k_s then depends on t − s too: where both sides go along with each other, a head starts out near its word
    instead of having to find it by what it means. Queries are rotated as in self-attention. (Su et al. 2021)
    """

    def __init__(self, width: int, heads: HeadShape, inputs: int, kind: str = "scaled") -> None:
        super().__init__(width, heads, inputs, kind)
        self.rotary = Rotary(heads.key_width)

    def start(self, batch: int, source: Encoded | None) -> Lines:
        assert source is not None
        vectors = source.vectors
        rows, length = vectors.shape[:2]
        where, _ = positions(torch.zeros(rows, dtype=torch.long, device=vectors.device), length, source.keep)
        return self.keys_values(vectors, rotation=self.rotary.rotation(where, length))

    def forward(self, x: Tensor, state: Lines, inputs: AttentionInputs) -> tuple[Tensor, Lines]:
        return self.attend(x, state, inputs.source, inputs.rotation), state


class SelfAttention(Attention):
    """One query per input: queries, keys and values all come from x.

    In an encoder everybody may look at everybody; in a decoder nobody at what comes later, since that would be
    cheating. Which of them it is, the mask says.
    """

    grows = True

    def __init__(self, width: int, heads: HeadShape, kind: str = "scaled") -> None:
        number, m, l = heads
        super().__init__(similarity(kind, m, m), m, number)
        self.query_key_value = nn.Linear(width, number * (m + m + l))
        self.output = nn.Linear(number * l, width)

    def start(self, batch: int, source: Encoded | None) -> None:
        return None

    def forward(self, x: Tensor, state: Growing | None, inputs: AttentionInputs) -> tuple[Tensor, Growing]:
        all_three = self._split(self.query_key_value(x))  # (B, T, H, 2M + L)
        queries, both = all_three[..., : self.key_width], all_three[..., self.key_width :]
        memory = self.remember(both, state, inputs.rotation, x.shape[0] // inputs.group_size)
        return self.mix(queries, memory, inputs.own, inputs.rotation), memory


class GroupedSelfAttention(SelfAttention):
    """Grouped-query attention: H queries per input, and fewer keys and values, each for H / N heads in a row.

    The memory is (G, N, S, M + L): N / H of what it would be. In the matrix, the queries of a group stand together,
    then their key and value; with N = H that is `SelfAttention`. (Ainslie et al. 2023)
    """

    def __init__(self, width: int, heads: HeadShape, memories: int, kind: str = "scaled") -> None:
        number, m, l = heads
        assert number % memories == 0
        super().__init__(width, heads, kind)
        self.memories, self.sharing = memories, number // memories
        self.query_key_value = nn.Linear(width, number * m + memories * (m + l))

    def forward(self, x: Tensor, state: Growing | None, inputs: AttentionInputs) -> tuple[Tensor, Growing]:
        groups = self.query_key_value(x).unflatten(-1, (self.memories, -1))  # (B, T, N, (H / N) · M + M + L)
        asking = self.sharing * self.key_width
        queries, both = groups[..., :asking].reshape(*x.shape[:2], self.heads, self.key_width), groups[..., asking:]
        memory = self.remember(both, state, inputs.rotation, x.shape[0] // inputs.group_size)
        return self.mix(queries, memory, inputs.own, inputs.rotation), memory

    def for_every_head(self, memory: Float[Tensor, "G N S ML"]) -> Float[Tensor, "G H S ML"]:
        return memory.repeat_interleave(self.sharing, 1)
