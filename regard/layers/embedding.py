"""Between tokens and vectors: the embedding that a model reads with, and the head that it answers with."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.tap import Tap


class Embedding(nn.Module):
    """x_t = √D · E[token]: rows of length 1, scaled so that each number is of order 1. (Vaswani et al. 2017, 3.4)

    A token out of the vocabulary is named on a CPU; a GPU says so in its own words, long after.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.lookup = nn.Embedding(vocabulary, width)
        self.vectors = Tap("B T E", "embedding")  # x_t; E: a width that is no layer's
        self.scale = math.sqrt(width)
        nn.init.normal_(self.lookup.weight, std=1 / math.sqrt(width))

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        table = self.lookup.weight
        try:
            return self.vectors(F.embedding(tokens, table) * self.scale)
        except IndexError:
            wrong = tokens[(tokens < 0) | (tokens >= len(table))][0].item()
            raise UserError(
                f"token {wrong} is not in the vocabulary, which has 0 to {len(table) - 1}; "
                "encode the text with the tokenizer that the model was built for"
            ) from None


class PlainEmbedding(Embedding):
    """x_t = E[token]: rows as they are. (Radford et al. 2019)"""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
        self.scale = 1.0


class Head(nn.Module):
    """scores = W h + b, one for every word of the vocabulary."""

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        self.W = nn.Linear(width, vocabulary)
        nn.init.normal_(self.W.weight, std=1 / math.sqrt(width))
        nn.init.zeros_(self.W.bias)

    def forward(self, h: Float[Tensor, "*positions D"], embedding: Embedding) -> Float[Tensor, "*positions V"]:
        return self.W(h)


class TiedHead(nn.Module):
    """scores = E W h: the embedding read backwards, behind a matrix where the widths differ. (Press and Wolf 2017)"""

    def __init__(self, width: int, token_width: int) -> None:
        super().__init__()
        self.W = nn.Identity() if token_width == width else nn.Linear(width, token_width, bias=False)

    def forward(self, h: Float[Tensor, "*positions D"], embedding: Embedding) -> Float[Tensor, "*positions V"]:
        return F.linear(self.W(h), embedding.lookup.weight)


class BiasedTiedHead(TiedHead):
    """scores = E W h + b: a bias says how frequent each word is. (Junczys-Dowmunt et al. 2018)"""

    def __init__(self, width: int, token_width: int, vocabulary: int) -> None:
        super().__init__(width, token_width)
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, h: Float[Tensor, "*positions D"], embedding: Embedding) -> Float[Tensor, "*positions V"]:
        return F.linear(self.W(h), embedding.lookup.weight, self.b)
