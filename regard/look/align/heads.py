"""Head alignments: each head and their mean read as an alignment, by two rows.

At row t the decoder has just been fed token t and predicts token t + 1. So a word can be read where it is predicted or,
one row later, where it is fed; which of them is the better alignment differs from head to head.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers.tap import layer_of
from regard.look.align.against_gold import AgainstGold, HeadRow, Judged, Segmented, against_gold
from regard.look.align.error_rate import Link, as_links
from regard.look.align.weights import mean_over_heads, weights_over_source
from regard.look.align.words import between_words, links, words_of
from regard.models.model import Model
from regard.special import START, STOP
from regard.text.tokenizer import Tokenizer

MEAN, PREDICTED, FED = "mean of all heads", "as predicted", "as fed"


def read_alignments(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], source: Segmented, target: Segmented
) -> dict[HeadRow, Float[Tensor, "T S"]]:
    """Weights from the words of a target (rows), which the model is made to read, to the words of its source.

    A word's weight is the sum over its tokens in the source, the mean over those in the target, as in `align`.
    """
    reader, writer = tokenizers
    read, written = reader.encode(source.text), writer.encode(target.text)
    by_layer = weights_over_source(model, torch.tensor([*read, STOP]), torch.tensor([START, *written]))
    names = [MEAN]
    for path, weights in by_layer.items():
        names += [f"{layer_of(path)}[{head}]" for head in range(len(weights))]
    every = torch.cat([mean_over_heads(by_layer)[None], *by_layer.values()])  # (1 + heads, T + 1, S)
    columns = [*words_of(reader, source.text, read, source.words)[1], -1]
    rows = words_of(writer, target.text, written, target.words)[1]
    sizes = target.size, source.size
    found: dict[HeadRow, Tensor] = {}
    for row, part in ((PREDICTED, every[:, :-1]), (FED, every[:, 1:])):
        merged = between_words(part, rows, columns, sizes)
        found |= {HeadRow(name, row): weights for name, weights in zip(names, merged, strict=True)}
    return found


def links_by_head(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], source: Segmented, target: Segmented
) -> dict[HeadRow, frozenset[Link]]:
    """One link for each word of the target, by every reading."""
    found = read_alignments(model, tokenizers, source, target)
    chosen = links(torch.stack([*found.values()])).tolist()
    return {reading: as_links(one) for reading, one in zip(found, chosen, strict=True)}


def compare(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], pairs: Iterable[Judged]
) -> tuple[list[AgainstGold], list[AgainstGold]]:
    """All readings against gold, the best on the half that chooses first; and what to compare them with."""
    every = list(pairs)
    return against_gold(every, [links_by_head(model, tokenizers, source, target) for source, target, _ in every])
