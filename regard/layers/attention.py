"""Attention as the notes grow it: a similarity, weights that sum to 1, a weighted sum; then keys, values, heads.

    E = f_att(Q, K);   A = softmax(E);   Y = A V

One class computes it for every use. `read` turns what may be looked at into keys and values, once; `look` asks them a
query. Self-attention reads what it has just been fed, so its memory grows: that is the KV cache.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.errors import UserError, unknown
from regard.layers.layer import Encoded
from regard.layers.position import Turn, turned
from regard.layers.state import Growing, State
from regard.layers.tap import Tap, listening


class Similarity(nn.Module):
    """f_att(q, k): how well a query and a key match. Shapes: (B, H, T, M), (B, H, S, M') → (B, H, T, S)."""

    scale: float | None = None  # of q·k for the fused kernel; None: this similarity is no dot product

    def prepare(self, keys: Float[Tensor, "B S H M"]) -> Float[Tensor, "B S H N"]:
        """What depends on the key alone, computed once per key."""
        return keys

    def forward(self, queries: Float[Tensor, "B H T M"], keys: Float[Tensor, "B H S N"]) -> Float[Tensor, "B H T S"]:
        assert self.scale is not None
        return queries @ keys.transpose(-1, -2) * self.scale


class Dot(Similarity):
    """e = q · k. (Luong et al. 2015)"""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        if query_width != key_width:
            raise UserError(
                f"a dot product wants queries and keys of one width, found {query_width} and {key_width}; "
                "give keys a matrix (key_width), or use the similarity 'bilinear' or 'additive'"
            )
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


class Memory(NamedTuple):
    """What can be looked at. `keep` is None while every position is real."""

    keys: Growing  # (B, S, H, M)
    values: Growing  # (B, S, H, L)
    keep: Growing | None  # (B, S)


def masked_softmax(
    scores: Float[Tensor, "B H T S"], may_look: Bool[Tensor, "b h t S"] | None
) -> Float[Tensor, "B H T S"]:
    """a_i = exp(e_i) / Σ exp(e_j) over the positions that may be looked at; where there is none, zeros, never NaN."""
    if may_look is None:
        return torch.softmax(scores, -1)
    # A row of −∞ alone would be NaN, also in its gradient, so such a row keeps its scores and is cleared afterwards.
    masked = ~may_look & may_look.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(masked, -math.inf), -1).masked_fill(~may_look, 0.0)


class Attention(nn.Module):
    """Q = X_Q W_Q, K = X W_K, V = X W_V;  A = softmax(f_att(Q, K));  Y = concat_h(A_h V_h) W_O, for H heads.

    Shapes: X_Q (B, T, D_Q), X (B, S, D_X); per head keys have width M, values width L; Y (B, T, D).
    Any of the four matrices may be the identity: then inputs are used directly, as in the notes' first steps.
    The fused kernel never holds the T × S weights; they exist only while somebody listens. (Vaswani et al. 2017)
    """

    def __init__(self, similarity: Similarity, heads: int = 1) -> None:
        super().__init__()
        self.heads = heads
        self.similarity = similarity
        self.query: nn.Module = nn.Identity()
        self.key: nn.Module = nn.Identity()
        self.value: nn.Module = nn.Identity()
        self.output: nn.Module = nn.Identity()
        self.queries, self.keys, self.values = Tap("B H T M"), Tap("B H S M"), Tap("B H S L")
        self.scores, self.weights, self.mixed = Tap("B H T S", -math.inf), Tap("B H T S"), Tap("B H T L")

    def read(
        self,
        x: Float[Tensor, "B S D_X"],
        keep: Bool[Tensor, "B S"] | None,
        past: Memory | None = None,
        turn: Turn | None = None,
    ) -> Memory:
        """The memory with these positions added."""
        keys = turned(self.similarity.prepare(self._split(self.key(x))), turn)  # (B, S, H, M)
        values = self._split(self.value(x))  # (B, S, H, L)
        if past is None:
            return Memory(Growing(keys), Growing(values), None if keep is None else Growing(keep))
        kept = past.keep
        if keep is not None or kept is not None:
            if kept is None:
                kept = Growing(x.new_ones(len(x), len(past.keys), dtype=torch.bool))
            kept = kept.append(x.new_ones(x.shape[:2], dtype=torch.bool) if keep is None else keep)
        return Memory(past.keys.append(keys), past.values.append(values), kept)

    def look(
        self, x: Float[Tensor, "B T D_Q"], memory: Memory, causal: bool = False, turn: Turn | None = None
    ) -> Float[Tensor, "B T D"]:
        """y_t = Σ_i a_{t,i} v_i. Causal: x are the newest T positions of the memory, and none looks past itself."""
        queries = turned(self._split(self.query(x)), turn).transpose(1, 2)  # (B, H, T, M)
        keys, values = memory.keys.value.transpose(1, 2), memory.values.value.transpose(1, 2)  # (B, H, S, M or L)
        if self.similarity.scale is None or listening(self):
            mixed = self._by_equations(queries, keys, values, may_look(memory, queries.shape[2], causal))
        else:
            mixed = self._by_kernel(queries, keys, values, memory, causal)
        return self.output(mixed.transpose(1, 2).flatten(2))  # (B, H, T, L) → (B, T, H·L) → (B, T, D)

    def _by_equations(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        queries, keys, values = self.queries(queries), self.keys(keys), self.values(values)
        scores = self.scores(self.similarity(queries, keys))  # (B, H, T, S)
        weights = self.weights(masked_softmax(scores, mask))
        return self.mixed(weights @ values)  # (B, H, T, L)

    def _by_kernel(self, queries: Tensor, keys: Tensor, values: Tensor, memory: Memory, causal: bool) -> Tensor:
        steps, seen = queries.shape[2], keys.shape[2]
        whole = causal and steps == seen and memory.keep is None  # the kernel's own causal mask fits
        mask = None if whole else may_look(memory, steps, causal)
        width = values.shape[-1]
        widest = max(width, keys.shape[-1])
        if width != keys.shape[-1]:  # the kernel wants one width; zeros change neither q·k nor the columns we keep
            queries, keys, values = (F.pad(x, (0, widest - x.shape[-1])) for x in (queries, keys, values))
        mixed = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=whole and steps > 1, scale=self.similarity.scale
        )
        return mixed[..., :width]

    def _split(self, x: Float[Tensor, "B S HM"]) -> Float[Tensor, "B S H M"]:
        return x.unflatten(-1, (self.heads, -1))


def may_look(memory: Memory, steps: int, causal: bool) -> Bool[Tensor, "b 1 t S"] | None:
    """True where one of the newest `steps` positions may look; None: everywhere."""
    seen = len(memory.keys)
    mask: Tensor | None = None
    if causal and steps > 1:
        device = memory.keys.value.device
        mask = torch.ones(steps, seen, dtype=torch.bool, device=device).tril(seen - steps)[None, None]
    if memory.keep is not None:
        kept = memory.keep.value[:, None, None, :]
        mask = kept if mask is None else mask & kept
    return mask


def attend_to_inputs(query_width: int, input_width: int, kind: str) -> Attention:
    """The notes' first layer: inputs are keys and values themselves. y = Σ a_i x_i, e_i = f_att(q, x_i)."""
    return Attention(similarity(kind, query_width, input_width))


def attend_with_keys(query_width: int, input_width: int, value_width: int, kind: str = "scaled") -> Attention:
    """Matching and answering kept apart: K = X W_K (D_X × D_Q), V = X W_V (D_X × D_V); queries come as they are."""
    layer = Attention(similarity(kind, query_width, query_width))
    layer.key, layer.value = nn.Linear(input_width, query_width), nn.Linear(input_width, value_width)
    return layer


class MultiHead(Attention):
    """H heads, each with its own W_Q, W_K (D × M) and W_V (D × L), and W_O (H·L × D) over all of them.

    Without biases that is d·(2m + l)·H + H·l·d numbers.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        key_width: int | None = None,
        value_width: int | None = None,
        input_width: int | None = None,
        kind: str = "scaled",
        bias: bool = True,
    ) -> None:
        if (key_width is None or value_width is None) and width % heads:
            raise UserError(f"width ({width}) must be divisible by heads ({heads}), or give key_width and value_width")
        m, l = key_width or width // heads, value_width or width // heads
        super().__init__(similarity(kind, m, m), heads)
        inputs = input_width or width
        self.query, self.key = nn.Linear(width, heads * m, bias), nn.Linear(inputs, heads * m, bias)
        self.value, self.output = nn.Linear(inputs, heads * l, bias), nn.Linear(heads * l, width, bias)


class SelfAttention(MultiHead):
    """One query per input: keys, values and queries all come from x, and everybody may look at everybody."""

    causal = False

    def start(self, batch: int, source: Encoded | None) -> State:
        return None

    def forward(self, x: Tensor, keep: Tensor | None, state: State, turn: Turn | None) -> tuple[Tensor, State]:
        memory = self.read(x, keep, state, turn)
        return self.look(x, memory, self.causal, turn), memory


class CausalSelfAttention(SelfAttention):
    """The same with the mask: nobody looks at what comes later, because that would be cheating."""

    causal = True


class CrossAttention(MultiHead):
    """Queries from the decoder, keys and values from the encoder, read once."""

    def start(self, batch: int, source: Encoded | None) -> State:
        assert source is not None
        return self.read(source.vectors, source.keep)

    def forward(self, x: Tensor, keep: Tensor | None, state: State, turn: Turn | None) -> tuple[Tensor, State]:
        return self.look(x, state), state
