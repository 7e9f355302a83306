"""Heads against the grammar: does a head look from a word to the one it depends on, more often than a fixed offset?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import UserError
from regard.look.align.against_gold import halved
from regard.look.align.words import words_of
from regard.look.heads.profile import Example, look_at
from regard.models.model import Model
from regard.text.tokenizer import Tokenizer

REACH = 10  # words: the largest offset that is tried
LEAST = 20  # of a relation in each half, or there is nothing to say
TO_HEAD, TO_DEPENDENT = "to head", "to dependent"


class Parsed(NamedTuple):
    """A sentence and its words; the number of the word that each depends on, −1: on none; and how."""

    text: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def arcs(self) -> list[tuple[str, str, int, int]]:
        """Relation, direction, the word that looks, the word that it should look at."""
        both = []
        for dependent, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True)):
            if head >= 0:
                both += [(relation, TO_HEAD, dependent, head), (relation, TO_DEPENDENT, head, dependent)]
        return both


@dataclass
class Tally:
    """How often each head and each offset was right, of how many; and how often a word at random would be."""

    number: int
    heads: Float[Tensor, " H"]
    offsets: Float[Tensor, " O"]
    chance: float


class Relation(NamedTuple):
    """One relation in one direction. The head and the offset are the best of one half, the figures of the other."""

    relation: str
    direction: str
    number: int
    head: str
    accuracy: float
    offset: int
    offset_accuracy: float
    chance: float


class Best(NamedTuple):
    """The relation in which a head is furthest above what is to beat on one half; the figures are of the other."""

    relation: str
    direction: str
    accuracy: float
    to_beat: float
    """What the offset that is best on the first half gets right, or chance if that is more."""


def looks_at(
    weights: Float[Tensor, "H T T"], owners: Int[Tensor, " T"], may: Bool[Tensor, "W W"]
) -> Int[Tensor, "H W"]:
    """The other word that each word looks at most: from its last token, to the sum over the tokens of the other.

    −1 for a word that has no token of its own, or no word that it may look at.
    """
    words = torch.arange(len(may))
    member = owners[:, None] == words  # (T, W)
    last = (member * torch.arange(1, len(owners) + 1)[:, None]).amax(0) - 1  # (W,)
    summed = weights[:, last] @ member.to(weights)  # (H, W, W)
    best = summed.masked_fill(~may, -1.0).argmax(-1)
    return best.where((last >= 0) & may.any(1), -1)


def relations(
    model: Model, tokenizer: Tokenizer, sentences: Iterable[Parsed], source: bool
) -> tuple[list[Relation], dict[str, Best]]:
    """Every relation with its best head beside its best offset, most frequent first; and what each head is best at.

    `source`: an encoder reads the sentences, where a word may look at every other; else only at those before it, and
    only such pairs are counted. No word is its own head, so it never counts that a word looks at itself.
    (Clark et al. 2019)
    """
    halves: tuple[dict[tuple[str, str], Tally], ...] = ({}, {})
    names: list[str] = []
    for sentence, chooses in halved(sentences, lambda one: one.text):
        tokens = tokenizer.encode(sentence.text)
        example = Example(tokens, []) if source else Example(None, tokens)
        owners = words_of(tokenizer, sentence.text, tokens, sentence.words)[1]
        found = look_at(model, example)
        names = [*map(str, found)]
        places = torch.tensor([*owners, -1] if source else [-1, *owners])
        size = len(sentence.words)
        may = ~torch.eye(size, dtype=torch.bool) if source else torch.ones(size, size, dtype=torch.bool).tril(-1)
        chosen = looks_at(torch.stack([*found.values()]), places, may)
        _count(halves[not chooses], sentence, chosen, may)
    return _relations(halves, names), _best(halves, names)


def _count(tallies: dict[tuple[str, str], Tally], sentence: Parsed, chosen: Tensor, may: Tensor) -> None:
    for relation, direction, at, to in sentence.arcs:
        if may[at, to] and chosen[0, at] >= 0:
            new = Tally(0, torch.zeros(len(chosen)), torch.zeros(2 * REACH + 1), 0.0)
            tally = tallies.setdefault((relation, direction), new)
            tally.number += 1
            tally.heads += chosen[:, at] == to
            tally.chance += 1 / int(may[at].sum())
            if abs(to - at) <= REACH:
                tally.offsets[to - at + REACH] += 1


def _enough(halves: tuple[dict[tuple[str, str], Tally], ...]) -> list[tuple[tuple[str, str], Tally, Tally]]:
    """What there is enough of in both halves."""
    first, other = halves
    both = [(key, first[key], other[key]) for key in first if key in other]
    enough = [(key, a, b) for key, a, b in both if min(a.number, b.number) >= LEAST]
    if not enough:
        raise UserError(f"no relation comes {LEAST} times in each half of the sentences; give more sentences")
    return enough


def _relations(halves: tuple[dict[tuple[str, str], Tally], ...], names: list[str]) -> list[Relation]:
    found = []
    for (relation, direction), first, other in _enough(halves):
        head, offset = int(first.heads.argmax()), int(first.offsets.argmax())
        right, by_offset, by_chance = (
            share / other.number for share in (other.heads[head].item(), other.offsets[offset].item(), other.chance)
        )
        named = relation, direction, other.number, names[head]
        found.append(Relation(*named, right, offset - REACH, by_offset, by_chance))
    return sorted(found, key=lambda one: -one.number)


def _best(halves: tuple[dict[tuple[str, str], Tally], ...], names: list[str]) -> dict[str, Best]:
    enough = _enough(halves)
    ahead = torch.stack(
        [(first.heads - max(first.offsets.max().item(), first.chance)) / first.number for _, first, _ in enough]
    )  # (R, H)
    found = {}
    for head, (name, place) in enumerate(zip(names, ahead.argmax(0).tolist(), strict=True)):
        (relation, direction), first, other = enough[place]
        to_beat = max(other.offsets[first.offsets.argmax()].item(), other.chance)
        found[name] = Best(relation, direction, other.heads[head].item() / other.number, to_beat / other.number)
    return found
