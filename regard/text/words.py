"""Text as words and punctuation marks: the tokens of the classic translation papers."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Self

from regard.special import NAMES, PADDING, UNKNOWN
from regard.text.tokenizer import Learnt, utf8

SIZE = 8000
"""The vocabulary, special tokens included, where none is asked for: no more, and no more than the text has words."""

UNKNOWN_WORD = "⁇"


class Words(Learnt):
    """The most frequent words and marks of the training text; all others are unknown and come back as ⁇.

    A word is a run of letters, digits and combining marks. An apostrophe inside it belongs to the left (l'accord is
    l' + accord) unless an English ending follows (don't is don + 't). Any other character is a mark.

    A space next to a mark is part of the mark: ", " and " (" and "-" are tokens. Words carry no spaces, so each has one
    id wherever it stands, and two words in a row have a space between them. Where two marks meet, the left one decides
    whether a space stands between. The ends of a text count as spaces.
    """

    kind = "words"
    spells = False
    smallest = len(NAMES) + 1

    def __init__(self, tokens: list[str]) -> None:
        super().__init__(utf8(token) for token in tokens)
        self._tokens = tokens
        self._id = {token: len(NAMES) + place for place, token in enumerate(tokens)}
        if len(self._id) != len(tokens) or "" in self._id:
            raise ValueError("a token is empty or stands twice in the list of tokens")

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None) -> Self:
        counts = Counter(token for text in texts for token in split(text))
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        return cls(ranked[: (size or SIZE) - len(NAMES)])

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(list(data["tokens"]))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "tokens": self._tokens}

    def encode(self, text: str) -> list[int]:
        utf8(text)
        return [self._id.get(token, UNKNOWN) for token in split(text)]

    def faces(self, text: str) -> list[str]:
        """A word that is not known, with the sign of such words behind it."""
        known = (self._id.get(token) for token in split(text))
        each = zip(known, split(text), strict=True)
        return [
            f"{token.strip().removesuffix(UNKNOWN_WORD)}{UNKNOWN_WORD}" if number is None else self.label(number)
            for number, token in each
        ]

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """A space comes with the token after it, so that nothing is taken back when a text ends."""
        pieces, before = [], ""
        for number in self.check(ids):
            if number < UNKNOWN:
                pieces.append(b"")
                before = before if number == PADDING else ""  # a text begins after start or stop
            else:
                token = UNKNOWN_WORD if number == UNKNOWN else self._tokens[number - len(NAMES)]
                pieces.append(after(before, token).encode())
                before = token
        return pieces


def split(text: str) -> Iterator[str]:
    """The tokens of a text, each mark with the spaces beside it."""
    spaced = f" {' '.join(unicodedata.normalize('NFC', text).split())} "
    for left, word, mark, right in _pattern().findall(spaced):
        yield word or left + mark + right


def after(before: str, token: str) -> str:
    """What a token adds to a text after the token before it, or "" at the start: it undoes `split`."""
    if not before:
        return token.strip(" ")
    wish = _wish(before[-1])
    if wish is None:
        wish = _wish(token[0])
    return (" " if wish is None else wish) + token.strip(" ")


@cache
def _wish(edge: str) -> str | None:
    """What a token with this character at its edge wants beside it: a space, nothing, or either (a word)."""
    return " " if edge == " " else None if re.fullmatch(_letter(), edge) else ""


@cache
def _letter() -> str:
    """The characters of words, which includes the accents and vowel signs that `\\w` leaves out, and our own ⁇."""
    signs = (chr(code) for code in range(0x20000) if unicodedata.category(chr(code)).startswith("M"))
    return rf"[\w{''.join(signs)}{UNKNOWN_WORD}]"


@cache
def _pattern() -> re.Pattern[str]:
    """Groups: the space before, a word or a part of one, or else a mark; and the space after, left for the next."""
    letter, ending = _letter(), rf"(?i:s|t|d|m|re|ve|ll)(?!{_letter()})"
    word = rf"{letter}+(?:['’](?!{ending})(?={letter}))?|(?<={letter})['’]{ending}"
    return re.compile(rf"( ?)(?:({word})|(\S))(?=( ?))")
