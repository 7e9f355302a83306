"""Reads a whole source at once: tokens, or a picture."""

from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding
from regard.layers.layer import Encoded, Layer
from regard.layers.tap import over_the_source
from regard.layers.vision import Regions
from regard.models.model import Source


class Encoder(nn.Module):
    """h_1 … h_S = layer(embedding(x_1 … x_S)), and one vector that stands for all of it."""

    def __init__(self, embedding: Embedding, layer: Layer, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = embedding
        self.layer = layer
        self.dropout = Dropout(dropout)
        over_the_source(self)

    def forward(self, source: Source) -> Encoded:
        tokens, keep = source
        if tokens.shape[1] == 0:
            raise UserError("a source must have at least one token, found none; end every source with the stop token")
        vectors: Tensor
        vectors, state = self.layer(self.dropout(self.embedding(tokens)), keep, self.layer.start(tokens.shape[0]))
        return Encoded(vectors, keep, self.layer.summary(vectors, keep, state), state)


class PictureEncoder(nn.Module):
    """h_1 … h_S: one vector for each region of a picture, and their mean v, which stands for all of it."""

    def __init__(self, regions: Regions) -> None:
        super().__init__()
        self.regions = regions

    def forward(self, source: Source) -> Encoded:
        vectors = self.regions(source.content)
        return Encoded(vectors, None, vectors.mean(1), None)
