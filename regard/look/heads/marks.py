"""Masks over a text, for what a head may look for: each of its characters is marked or not."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from regard.text.tokenizer import Tokenizer
from regard.text.words import UNKNOWN_WORD as UNKNOWN

TextMark: TypeAlias = Callable[[str], Iterable[bool]]

RARE = 0.1  # of all words of a text: the share that counts as rare
_WORD = re.compile(rf"\w+|{UNKNOWN}")


def rare_words(texts: Iterable[str]) -> TextMark:
    """The rarest words of these texts: together at most a tenth of all, or those that come once if they are more.

    A word is a run of letters and digits, or the sign for what a tokenizer does not know, which is always rare.
    """
    counts = Counter(word for text in texts for word in _WORD.findall(text) if word != UNKNOWN)
    by_count = Counter(counts.values())
    total = sum(counts.values())
    frequencies = sorted(by_count)
    so_far = list(accumulate(frequency * by_count[frequency] for frequency in frequencies))
    most = frequencies[max(bisect(so_far, RARE * total) - 1, 0)] if frequencies else 0

    def rare(text: str) -> list[bool]:
        return _inside(text, (word for word in _WORD.finditer(text) if counts[word[0]] <= most))

    return rare


def marked(tokenizer: Tokenizer, tokens: Sequence[int], mark: TextMark) -> list[bool]:
    """Whether any byte of what each token spells is marked."""
    pieces = tokenizer.pieces(tokens)
    text = b"".join(pieces).decode(errors="surrogateescape")  # half a character stays as long as it was
    flags = (flag for character, flag in zip(text, mark(text), strict=True) for flag in [flag] * len(_bytes(character)))
    per_byte = list(flags)
    ends = list(accumulate(map(len, pieces)))
    return [any(per_byte[end - len(piece) : end]) for piece, end in zip(pieces, ends, strict=True)]


def _bytes(character: str) -> bytes:
    return character.encode(errors="surrogateescape")


def _inside(text: str, found: Iterable[re.Match[str]]) -> list[bool]:
    flags = [False] * len(text)
    for match in found:
        flags[match.start() : match.end()] = [True] * (match.end() - match.start())
    return flags
