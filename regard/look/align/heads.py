"""Head alignments: each head and their mean read as an alignment, by two rows; and how good each of them is.

At row t the decoder has just been fed token t and predicts token t + 1. So a word can be read where it is predicted or,
one row later, where it is fed; which of them is the better alignment differs from head to head.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import UserError
from regard.layers.tap import layer_of
from regard.look.align.error_rate import Gold, Overlap, at_best, by_chance, diagonal, overlap
from regard.look.align.weights import mean_over_heads, weights_over_source
from regard.look.align.words import between_words, links, words_of
from regard.models.model import Model
from regard.special import START, STOP
from regard.text.tokenizer import Tokenizer

Item = TypeVar("Item")
MEAN, PREDICTED, FED = "mean of all heads", "as predicted", "as fed"
NOTHING = Overlap()
DIAGONAL, UNIFORM, BEST = "diagonal", "uniform", "one link a word, at best"


class Segmented(NamedTuple):
    """A text, and its words where they are not what blanks separate."""

    text: str
    words: tuple[str, ...] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(word.decode() for word in self.text.encode().split()) if self.words is None else self.words

    @property
    def size(self) -> int:
        return len(self.parts)


class HeadRow(NamedTuple):
    """Which head, and by which row."""

    head: str
    row: str = ""

    def __str__(self) -> str:
        return f"{self.head}, {self.row}" if self.row else self.head


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


@dataclass
class AgainstGold:
    """A reading or a baseline against gold, on the half of the sentences that chooses and on the other."""

    reading: HeadRow
    chosen_on: Overlap = NOTHING
    reported: Overlap = NOTHING

    @property
    def everywhere(self) -> Overlap:
        return self.chosen_on + self.reported

    def add(self, found: Overlap, chooses: bool) -> None:
        if chooses:
            self.chosen_on += found
        else:
            self.reported += found


def halved(items: Iterable[Item], text: Callable[[Item], Hashable]) -> Iterator[tuple[Item, bool]]:
    """Each item, and whether it is in the half that chooses: every second different text, so that equal ones stay
    together."""
    numbers: dict[Hashable, int] = {}
    for item in items:
        yield item, numbers.setdefault(text(item), len(numbers)) % 2 == 0


def compare(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], pairs: Iterable[tuple[Segmented, Segmented, Gold]]
) -> tuple[list[AgainstGold], list[AgainstGold]]:
    """All readings, the best on the half that chooses first; and what to compare them with."""
    scored: dict[HeadRow, AgainstGold] = {}
    halves = set()
    for (source, target, gold), chooses in halved(pairs, lambda pair: (pair[0].text, pair[1].text)):
        halves.add(chooses)
        for reading, found in _overlaps(model, tokenizers, source, target, gold).items():
            scored.setdefault(reading, AgainstGold(reading)).add(found, chooses)
    if len(halves) < 2:
        raise UserError(f"AER wants two different sentence pairs or more, found {len(halves)}; give more lines")
    ranked = sorted(scored.values(), key=lambda one: one.chosen_on.error)
    return [one for one in ranked if one.reading.row], [one for one in scored.values() if not one.reading.row]


def _overlaps(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], source: Segmented, target: Segmented, gold: Gold
) -> dict[HeadRow, Overlap]:
    found = read_alignments(model, tokenizers, source, target)
    chosen = links(torch.stack([*found.values()])).tolist()
    return {
        **{reading: overlap(one, gold) for reading, one in zip(found, chosen, strict=True)},
        HeadRow(DIAGONAL): overlap(diagonal(source.size, target.size), gold),
        HeadRow(UNIFORM): by_chance(source.size, target.size, gold),
        HeadRow(BEST): overlap(at_best(target.size, gold), gold),
    }
