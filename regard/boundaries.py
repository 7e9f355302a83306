"""Where a word begins and ends in a text."""

import unicodedata
from collections.abc import Iterator
from functools import cache

UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese. Words may meet anywhere."""


@cache
def in_word(character: str) -> bool:
    """Whether it joins what stands beside it to one word: a letter, digit, underscore or combining mark."""
    if any(first <= ord(character) <= last for first, last in UNSPACED):
        return False
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def glued(left: str, right: str) -> bool:
    """Whether two texts, one behind the other, meet inside a word; either may be empty."""
    return bool(left and right) and in_word(left[-1]) and in_word(right[0])


def places(phrase: str, text: str, begin: int = 0) -> Iterator[int]:
    """Where a phrase stands in a text by itself, from `begin` on: not as a part of a longer word."""
    at = text.find(phrase, begin)
    while at >= 0:
        end = at + len(phrase)
        if not glued(text[max(at - 1, 0) : at], phrase) and not glued(phrase, text[end : end + 1]):
            yield at
        at = text.find(phrase, at + 1)


def stands_in(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a text by itself."""
    return any(True for _ in places(phrase, text))
