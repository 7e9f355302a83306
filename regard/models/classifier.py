"""Sentence to class: many to one."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.pooling import Pooling
from regard.models.encoder import Encoder
from regard.models.model import Model, Source, check_fed


class Classifier(Model[Tensor]):
    """p(y | x) = softmax(W c), c = pooling(h_1 … h_S): a translation into one token, the class.

    The state is c alone. What is fed is not read, so the scores are the same at every position. Without a head, W = 1,
    it is an encoder on its own: its scores are c itself.
    """

    def __init__(self, encoder: Encoder, pooling: Pooling, head: nn.Linear | nn.Identity, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.head = head
        self.dropout = Dropout(dropout)

    def start(self, source: Source | None = None, batch: int = 1) -> Float[Tensor, "B D"]:
        if source is None:
            raise UserError("a classifier wants a source, found none; call start(Source(tokens))")
        return self.pooling(self.encoder(source))

    def forward(
        self, tokens: Int[Tensor, "B T"], state: Float[Tensor, "B D"], keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B D"]]:
        check_fed(tokens, state)
        scores = self.head(self.dropout(state))  # (B, V)
        return scores[:, None].expand(-1, tokens.shape[1], -1), state
