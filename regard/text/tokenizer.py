"""What every tokenizer can do, whatever it takes for a token."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, ClassVar, Self

from regard.errors import UserError
from regard.special import NAMES, STOP

_VISIBLE = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}


class Tokenizer(ABC):
    """Text ⇄ ids, where `decode(encode(text)) == text` for any text at all; words alone change it, see `Words`."""

    kind: ClassVar[str]
    cased: bool = True
    """Whether a capital is another letter than the small one."""
    begin: bool = False
    """Whether a text begins with the start token, as [CLS] stands before it."""
    spells: bool = True
    """Whether it can write any text: one that cannot is not charged for what it leaves out."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        """`tokens` are the bytes that each id after the special ones stands for."""
        self._bytes = [b""] * len(NAMES) + list(tokens)

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_json`. Data that is broken raises whichever built-in error it comes to."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All there is to know of this tokenizer, as plain values."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and stop."""

    def encode_marked(self, text: str) -> list[int]:
        """The same, of a text that may spell special tokens by their names: ours have none that a text could spell."""
        return self.encode(text)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The same as `encode` on each text; faster where many can be done at once."""
        return [self.encode(text) for text in texts]

    @property
    def vocabulary(self) -> int:
        """How many ids there are: 0 to `vocabulary - 1`."""
        return len(self._bytes)

    def decode(self, ids: Iterable[int]) -> str:
        """The text up to the first stop. Half a character, which only a model can write, shows as U+FFFD."""
        return b"".join(self.pieces(takewhile(lambda token: token != STOP, ids))).decode(errors="replace")

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """What each token adds to the text in UTF-8; nothing for special tokens. Joined, they are the text.

        A piece may depend on the tokens before it but never on those after it, so a text can be shown as it grows.
        """
        return [self._bytes[token] for token in self.check(ids)]

    def label(self, token: int) -> str:
        """A token's name for people: nothing in it is invisible."""
        (token,) = self.check([token])
        return NAMES[token] if token < len(NAMES) else visible(self._bytes[token])

    def faces(self, text: str) -> list[str]:
        """How people call each token of a text: by its label; one that is not known keeps its letters."""
        return [self.label(token) for token in self.encode(text)]

    def check(self, ids: Iterable[int]) -> list[int]:
        """The ids as plain numbers, all of them in the vocabulary."""
        numbers = [int(token) for token in ids]
        if numbers and not (min(numbers) >= 0 and max(numbers) < self.vocabulary):
            wrong = next(token for token in numbers if not 0 <= token < self.vocabulary)
            raise UserError(
                f"token {wrong} is not in the vocabulary, which has 0 to {self.vocabulary - 1}; "
                "decode with the tokenizer that the model was trained with"
            )
        return numbers


class Learnt(Tokenizer):
    """A tokenizer that is made from texts."""

    smallest: ClassVar[int | None] = None
    """The smallest vocabulary that can be asked for; None where the text alone decides."""

    @classmethod
    @abstractmethod
    def learn(cls, texts: Sequence[str], size: int | None) -> Self:
        """A tokenizer for texts like these."""


def utf8(text: str) -> bytes:
    """A text's bytes, or what is wrong with it."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"a text must be valid Unicode, found half a surrogate pair (U+{ord(text[error.start]):04X}) at position "
            f"{error.start}; read the file as UTF-8, or drop it with text.encode(errors='ignore').decode()"
        ) from None


def visible(piece: bytes) -> str:
    """Bytes as people can see them: blanks get a sign, and what cannot be shown its code."""
    text = piece.decode(errors="backslashreplace")
    return "".join(_VISIBLE.get(c) or (c if c.isprintable() else c.encode("unicode_escape").decode()) for c in text)
