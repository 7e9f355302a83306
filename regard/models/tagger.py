"""Token to tag: many to many, in step."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.history import positions
from regard.layers.layer import kept_first
from regard.models.encoder import Encoder
from regard.models.model import Model, Source, check_fed


class TaggerState(NamedTuple):
    """The source, encoded, and how far the answers have come along it."""

    vectors: Float[Tensor, "B S D"]  # h_i of the real positions, in front
    last: Int[Tensor, " B"]  # which of them is the last
    asked: Int[Tensor, " B"]  # how many answers have been given


class Tagger(Model[TaggerState]):
    """p(y_t | x) = softmax(W h_t), h_1 … h_S = encoder(x_1 … x_S): the t-th answer is about the t-th token read.

    Tokens that are fed are counted, not read: the n-th gets the n-th answer. Past the end of the source, h_S answers.
    """

    def __init__(self, encoder: Encoder, head: nn.Linear, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.dropout = Dropout(dropout)

    def start(self, source: Source | None = None, batch: int = 1) -> TaggerState:
        if source is None:
            raise UserError("a tagger wants a source, found none; call start(Source(tokens))")
        vectors, keep = self.encoder(source)[:2]
        nothing = torch.zeros(vectors.shape[0], dtype=torch.long, device=vectors.device)
        if keep is None:
            return TaggerState(vectors, nothing + vectors.shape[1] - 1, nothing)
        order = kept_first(keep)
        return TaggerState(_at(vectors, order), (keep.sum(1) - 1).clamp(min=0), nothing)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: TaggerState, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], TaggerState]:
        check_fed(tokens, state)
        where, asked = positions(state.asked, tokens.shape[1], keep)  # (B, T), (B,)
        answering = _at(state.vectors, torch.minimum(where, state.last[:, None]))
        return self.head(self.dropout(answering)), state._replace(asked=asked)


def _at(vectors: Float[Tensor, "B S D"], places: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
    """Each row's vectors at its places."""
    rows = torch.arange(vectors.shape[0], device=vectors.device)
    return vectors[rows[:, None], places]
