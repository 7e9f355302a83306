"""The language model: embedding, one layer of any kind, head."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding, Head, TiedHead
from regard.layers.layer import Encoded, Layer
from regard.layers.state import State
from regard.models.model import Model, Source, check_fed


class Decoder(Model[State]):
    """scores_t = head(layer(embedding(x_1 … x_t))). As the decoder of a pair it starts from an encoded source."""

    def __init__(self, embedding: Embedding, layer: Layer, head: Head | TiedHead, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.layer = layer
        self.longest, self.grows = layer.longest, layer.grows
        self.head = head
        self.dropout = Dropout(dropout)

    def start(self, source: Source | None = None, batch: int = 1) -> State:
        if source is not None:
            raise UserError("a language model reads no source, found one; feed it as first tokens, or build a Seq2Seq")
        return self.layer.start(batch)

    def start_from(self, encoded: Encoded) -> State:
        return self.layer.start(encoded.vectors.shape[0], encoded)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], State]:
        y, state = self._vectors(tokens, state, keep)
        return self.head(self.dropout(y), self.embedding), state

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], State]:
        y, state = self._vectors(tokens, state, keep)
        return self.head(self.dropout(y[:, -1]), self.embedding), state  # the head is wide: once is enough

    def _vectors(
        self, tokens: Int[Tensor, "B T"], state: State, keep: Bool[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        check_fed(tokens, state)
        return self.layer(self.embedding(tokens), keep, state)
