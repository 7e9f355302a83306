"""Text as its characters: those of the training text, and a way to spell all others."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard.special import NAMES
from regard.text.tokenizer import Learnt, utf8

_NIBBLE = len(NAMES)  # id of the half-byte 0; those up to 15 follow
_CHARACTER = _NIBBLE + 16  # id of the first character


class Characters(Learnt):
    """One id for each character seen in training, in the order of Unicode.

    A character never seen is written as its UTF-8 bytes, each as two half-bytes, high before low. That takes 16 ids
    where whole bytes would take 256: an English text has about 80 characters, and the embedding of a small model
    should not be mostly rows that are never trained. Such characters are rare, so their length does not matter.
    """

    kind = "characters"

    def __init__(self, characters: str) -> None:
        super().__init__([b""] * 16 + [utf8(character) for character in characters])
        self._characters = characters
        self._id = {character: _CHARACTER + place for place, character in enumerate(characters)}
        if len(self._id) != len(characters):
            raise ValueError("a character stands twice in the list of characters")

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None) -> Self:
        return cls("".join(sorted(set().union(*texts))))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["characters"])

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "characters": self._characters}

    def encode(self, text: str) -> list[int]:
        try:
            return [self._id[character] for character in text]
        except KeyError:
            utf8(text)  # says where the text is not valid, if that is why
            return [token for character in text for token in self._spell(character)]

    def _spell(self, character: str) -> list[int]:
        if character in self._id:
            return [self._id[character]]
        return [_NIBBLE + half for byte in utf8(character) for half in divmod(byte, 16)]

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """The first half of a byte adds nothing and the second adds the byte; a half without its other half is lost."""
        pieces, high = [], None
        for token in self.check(ids):
            half = token - _NIBBLE if _NIBBLE <= token < _CHARACTER else None
            if half is None or high is None:
                pieces.append(self._bytes[token])
                high = half
            else:
                pieces.append(bytes([16 * high + half]))
                high = None
        return pieces

    def label(self, token: int) -> str:
        return f"<half-byte {token - _NIBBLE:x}>" if _NIBBLE <= token < _CHARACTER else super().label(token)
