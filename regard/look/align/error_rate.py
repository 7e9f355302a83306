"""How far an alignment is from one that people made: alignment error rate, and what to beat."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from regard.errors import UserError, counted

Link = tuple[int, int]
"""A word of the source and a word of the target, counted from 0."""


class Gold(NamedTuple):
    """S ⊆ P: links that must be there, and all that may be."""

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class Overlap:
    """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); precision |A ∩ P| / |A|; recall |A ∩ S| / |S|.

    Of several sentences the counts are added up first. (Och & Ney 2003)
    """

    found: int = 0
    """|A|"""
    sure: int = 0
    """|S|"""
    in_sure: float = 0.0
    """|A ∩ S|"""
    in_possible: float = 0.0
    """|A ∩ P|"""

    def __add__(self, other: "Overlap") -> "Overlap":
        return Overlap(
            self.found + other.found,
            self.sure + other.sure,
            self.in_sure + other.in_sure,
            self.in_possible + other.in_possible,
        )

    @property
    def error(self) -> float:
        every = self.found + self.sure
        return 1 - (self.in_sure + self.in_possible) / every if every else 0.0

    @property
    def precision(self) -> float:
        return self.in_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.in_sure / self.sure if self.sure else 1.0


def as_links(chosen: Sequence[int]) -> frozenset[Link]:
    """Links where each word of the target has at most one: its source word, or −1 for no link."""
    return frozenset((source, target) for target, source in enumerate(chosen) if source >= 0)


def turned(links: AbstractSet[Link]) -> frozenset[Link]:
    """The same, with the other language as the source."""
    return frozenset((target, source) for source, target in links)


def overlap(found: AbstractSet[Link], gold: Gold) -> Overlap:
    """Of an alignment with gold."""
    return Overlap(len(found), len(gold.sure), float(len(found & gold.sure)), float(len(found & gold.possible)))


def by_chance(sources: int, targets: int, gold: Gold) -> Overlap:
    """What to expect of uniform weights: each word of the target is linked to a word of the source at random.

    |A| and |S| are fixed, and AER is linear in what is left, so the AER of these means is the mean AER.
    """
    sources = max(sources, 1)
    return Overlap(targets, len(gold.sure), len(gold.sure) / sources, len(gold.possible) / sources)


def diagonal(sources: int, targets: int) -> list[int]:
    """i = ⌊(j + ½) I / J⌋: the word of the source that stands as far along as word j of the target."""
    return [(2 * j + 1) * sources // (2 * targets) for j in range(targets)]


def at_best(targets: int, gold: Gold) -> list[int]:
    """The best that one link for each word of the target can do: a sure one, else a possible one, else none."""
    chosen = [-1] * targets
    for source, target in [*sorted(gold.possible), *sorted(gold.sure)]:
        chosen[target] = source
    return chosen


def read_gold(line: str, sizes: tuple[int, int], *, from_one: bool = False, target_first: bool = False) -> Gold:
    """`0-0 1-2 1?3`: links source-target; `-` is sure, `?` or `p` possible. `sizes`: words of source and target.

    Numbers count from 0, or as the Hansards do from 1; `target_first` where the file has the target's word first.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for word in line.split():
        match = re.fullmatch(r"(\d+)([-?pP])(\d+)", word)
        if not match:
            raise UserError(f"a link is written 3-4 if it is sure, 3?4 or 3p4 if it is possible, found '{word}'")
        source, target = (int(match[group]) - from_one for group in ((3, 1) if target_first else (1, 3)))
        if not (0 <= source < sizes[0] and 0 <= target < sizes[1]):
            count = "1" if from_one else "0"
            raise UserError(
                f"link {word} is out of range: source and target have {sizes[0]} and {counted(sizes[1], 'word')}, "
                f"counted from {count}; check --from-one and --target-first"
            )
        (sure if match[2] == "-" else possible).add((source, target))
    return Gold(frozenset(sure), frozenset(sure | possible))
