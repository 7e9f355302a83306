"""Embeddings: one vector for each text, so that texts which say alike lie near each other."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.batches import BATCH, in_order
from regard.layers.state import leaves
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import STOP
from regard.text.tokenizer import Tokenizer


def embed(
    model: Model, tokenizer: Tokenizer, texts: Iterable[str], batch: int = BATCH
) -> Iterator[Float[Tensor, " D"]]:
    """What a model that reads a source and pools it knows of each text, in order: c, its first state."""
    return in_order(map(tokenizer.encode, texts), len, lambda some: _together(model, some), batch)


@torch.inference_mode()
def _together(model: Model, sources: Sequence[Sequence[int]]) -> list[Float[Tensor, " D"]]:
    device = next(model.parameters()).device
    tokens, keep = padded([[*source, STOP] for source in sources])
    state = model.start(Source(tokens.to(device), keep.to(device)))
    return list(torch.cat(leaves(state), -1).float().cpu())  # of several models, their vectors behind each other


def nearest(vectors: Float[Tensor, "N D"], place: int, number: int) -> list[tuple[int, float]]:
    """The other rows that point most alike, with their cosines, the nearest first."""
    cosines = torch.nn.functional.cosine_similarity(vectors, vectors[place], dim=-1)
    cosines[place] = -torch.inf
    best = cosines.topk(min(number, len(vectors) - 1))
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
