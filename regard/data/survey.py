"""What a person should know of examples before a model learns from them; eight bytes are kept of each."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import is_normalized

import numpy as np

from regard.data.examples import Split
from regard.errors import counted

SHOWN = 2  # examples, as they were understood
GLANCE = 90  # characters of each side


class Survey:
    """Counts as examples go by: which repeat, which have the same on both sides, which are in both parts."""

    def __init__(self) -> None:
        self._first: list[list[str]] = []
        self._seen = {"train": array("q"), "valid": array("q")}
        self._same = self._composed = self._decomposed = 0

    def note(self, part: Split, sides: Sequence[str]) -> None:
        if part == "train":
            if len(self._first) < SHOWN:
                self._first.append([_glance(side) for side in sides])
            self._same += len(sides) > 1 and sides[0] == sides[1]
        self._seen[part].append(hash(tuple(sides)))
        for text in sides:
            self.note_accents(text)

    def note_accents(self, text: str) -> None:
        """How they are written: as one character, or as a letter and a mark."""
        if not text.isascii():
            self._composed += not is_normalized("NFD", text)
            self._decomposed += not is_normalized("NFC", text)

    @property
    def facts(self) -> dict[str, Any]:
        train, valid = (np.frombuffer(seen, np.int64) for seen in self._seen.values())
        return {
            "first": self._first,
            "examples": len(train),
            "repeated": len(train) - len(np.unique(train)),
            "same": self._same,
            "held_out": len(valid),
            "in_both": int(np.isin(valid, train).sum()),
            "composed": self._composed,
            "decomposed": self._decomposed,
        }


def told(facts: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
    """What was noticed, in lines: two examples as they were understood, and whatever is likely not meant so."""
    wide = max(map(len, names))
    for sides in facts["first"]:
        yield from (f"  {name:<{wide}}  {side}" for name, side in zip(names, sides, strict=True))
    examples = counted(facts["examples"], "example")
    if facts["repeated"]:
        yield f"repeated: {facts['repeated']:,} of {examples}, seen before"
    if facts["same"] and "target" in names:
        yield f"the same on both sides: {facts['same']:,} of {examples}"
    if facts["in_both"]:
        yield (
            f"in both parts: {facts['in_both']:,} of {counted(facts['held_out'], 'held-out example')}, also learnt "
            "from, so figures will be too good; take out of one file what is in both"
        )
    if facts["composed"] and facts["decomposed"]:
        yield (
            f"accents are written in two ways, as one character (NFC, in {facts['composed']:,}) and as two (NFD, in "
            f"{facts['decomposed']:,}), which differ to a model; make them one: uconv -x nfc < OLD > NEW"
        )


def _glance(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * GLANCE].split())
    return line if len(line) <= GLANCE else f"{line[:GLANCE]}…"
