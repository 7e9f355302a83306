"""What a model says of pictures, and where it looked for each word."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from regard.decode.choose import argmax
from regard.decode.stream import stream
from regard.look.alignment import attention_to_source
from regard.models.model import Model, Source
from regard.text import START, STOP, Tokenizer

AT_ONCE = 64  # pictures described together
LONGEST = 60  # tokens of a caption at most


@dataclass(frozen=True)
class Caption:
    """What was said, as text and as the tokens that were made, without the stop."""

    text: str
    tokens: list[int]


@torch.inference_mode()
def describe(model: Model, tokenizer: Tokenizer, pictures: UInt8[Tensor, "N 3 Y X"]) -> list[Caption]:
    """The caption of each picture, always taking the most probable token."""
    found: list[Caption] = []
    device = next(model.parameters()).device
    for some in pictures.split(AT_ONCE):
        first = torch.full((len(some),), START, device=device)
        made = list(stream(model, first, model.start(Source(some.to(device))), argmax, limit=LONGEST, stop=STOP))
        for row in torch.stack(made, 1).tolist():
            tokens = row[: row.index(STOP)] if STOP in row else row
            found.append(Caption(tokenizer.decode(tokens), tokens))
    return found


def looks(
    model: Model, tokenizer: Tokenizer, picture: UInt8[Tensor, "3 Y X"], caption: Caption
) -> tuple[list[str], Float[Tensor, "T S"]]:
    """The words of a caption, and the weight of every region when each of them was said."""
    weights = attention_to_source(model, picture, torch.tensor([START, *caption.tokens[:-1]]))
    return [tokenizer.decode([token]).strip() for token in caption.tokens], weights
