"""Names of classes and tags: each is one token, and there are no others."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard.errors import UserError
from regard.special import NAMES, PADDING
from regard.text.tokenizer import Tokenizer, utf8

SHOWN = 20  # names that an error lists at most


class Labels(Tokenizer):
    """The labels of the training data by name, in the order of Unicode. Several read with spaces between them."""

    kind = "labels"

    def __init__(self, names: list[str]) -> None:
        super().__init__(utf8(name) for name in names)
        self.names = names
        self._id = {name: len(NAMES) + place for place, name in enumerate(names)}
        if len(self._id) != len(names) or "" in self._id:
            raise ValueError("a label is empty or stands twice in the list of labels")

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None = None) -> Self:
        return cls(sorted(set(texts)))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(list(data["labels"]))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "labels": self.names}

    def encode(self, text: str) -> list[int]:
        """One id for the whole text, which must be the name of a label."""
        if text not in self._id:
            known = ", ".join(self.names[:SHOWN]) + (", …" if len(self.names) > SHOWN else "")
            raise UserError(f"label '{text}' was never seen in training; there are {known}")
        return [self._id[text]]

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        pieces: list[bytes] = []
        for token in self.check(ids):
            name = self._bytes[token]
            pieces.append(b" " + name if name and any(pieces) else name)
        return pieces


def pieces_of_words(tokenizer: Tokenizer, words: Sequence[str]) -> list[list[int]]:
    """The tokens of each word of a text, which together are those of the words with a space between them."""
    return tokenizer.encode_all([f" {word}" if place else word for place, word in enumerate(words)])


def in_step(pieces: Sequence[Sequence[int]], labels: Sequence[int]) -> list[int]:
    """For every token what it should be called: a word's label at its last token, and padding, nothing, at the others.

    At its last token also a reader from left to right has seen the whole word.
    """
    found: list[int] = []
    for word, label in zip(pieces, labels, strict=True):
        found += [PADDING] * (len(word) - 1) + [label]
    return found
