"""Captions: what a model says of pictures, which is translation from a picture."""

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float16, UInt8
from torch import Tensor

from regard.config.decoding import Search
from regard.decode.batches import BATCH, in_order
from regard.decode.translate import Plan, Translation
from regard.models.model import Model, Source
from regard.text.tokenizer import Tokenizer

USUAL = 60  # tokens of a caption at most, where nobody said how many


def caption(
    model: Model,
    tokenizer: Tokenizer,
    pictures: Iterable[UInt8[Tensor, "3 Y X"] | Float16[Tensor, "C y x"]],
    search: Search,
    *,
    batch: int = BATCH,
) -> Iterator[list[Translation]]:
    """The best captions of each picture, best first, in the order of the pictures; they are read as they are needed."""
    plan, device = Plan(search, tokenizer), next(model.parameters()).device

    def answer(group: list[Tensor]) -> list[list[Translation]]:
        return [plan.texts(found) for found in plan.search(model, Source(torch.stack(group).to(device)), USUAL)]

    return in_order(pictures, lambda picture: 1, answer, batch)
