"""Alignments against gold: chosen on one half of the sentences, reported on the other, beside what to beat."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from regard.errors import UserError
from regard.look.align.error_rate import Gold, Link, Overlap, as_links, at_best, by_chance, diagonal, overlap
from regard.look.align.symmetrise import WAYS

Item = TypeVar("Item")
NOTHING = Overlap()
DIAGONAL, UNIFORM, BEST = "diagonal", "uniform", "one link a word, at best"
BOTH = "both directions"


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


Judged = tuple[Segmented, Segmented, Gold]
Readings = Mapping[HeadRow, AbstractSet[Link]]
"""The links of one pair of sentences, by what they were read from."""


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


def against_gold(pairs: Sequence[Judged], found: Iterable[Readings]) -> tuple[list[AgainstGold], list[AgainstGold]]:
    """All readings, the best on the half that chooses first; and what to compare them with."""
    scored: dict[HeadRow, AgainstGold] = {}
    baselines = [AgainstGold(HeadRow(name)) for name in (DIAGONAL, UNIFORM, BEST)]
    halves = set()
    in_halves = halved(pairs, lambda pair: (pair[0].text, pair[1].text))
    for ((source, target, gold), chooses), readings in zip(in_halves, found, strict=True):
        halves.add(chooses)
        for reading, links in readings.items():
            scored.setdefault(reading, AgainstGold(reading)).add(overlap(links, gold), chooses)
        for baseline, one in zip(baselines, _to_beat(source.size, target.size, gold), strict=True):
            baseline.add(one, chooses)
    if len(halves) < 2:
        raise UserError(f"AER wants two different sentence pairs or more, found {len(halves)}; give more lines")
    return sorted(scored.values(), key=lambda one: one.chosen_on.error), baselines


def _to_beat(sources: int, targets: int, gold: Gold) -> tuple[Overlap, ...]:
    straight = overlap(as_links(diagonal(sources, targets)), gold)
    return straight, by_chance(sources, targets, gold), overlap(as_links(at_best(targets, gold)), gold)


def with_both(pairs: Sequence[Judged], there: Sequence[Readings], back: Sequence[Readings]) -> list[Readings]:
    """The readings of two directions, and the best of each (on the half that chooses) made one in every way."""
    best = [against_gold(pairs, direction)[0][0].reading for direction in (there, back)]
    return [
        {**one, **other, **{HeadRow(name, BOTH): join(one[best[0]], other[best[1]]) for name, join in WAYS.items()}}
        for one, other in zip(there, back, strict=True)
    ]
