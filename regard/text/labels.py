"""Names of classes and tags: each is one token, and there are no others."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard.errors import UserError
from regard.special import NAMES, PADDING, START
from regard.text.tokenizer import Tokenizer, utf8

SHOWN = 20  # names that an error lists at most


class Labels(Tokenizer):
    """The labels of the training data by name, in the order of Unicode. Several read with spaces between them."""

    kind = "labels"

    def __init__(self, names: list[str], at_first: bool = False) -> None:
        """`at_first`: a word's label stands at its first token, as Hugging Face's taggers have it, not at its last."""
        super().__init__(utf8(name) for name in names)
        self.names, self.at_first = names, at_first
        self._id = {name: len(NAMES) + place for place, name in enumerate(names)}
        if len(self._id) != len(names) or "" in self._id:
            raise ValueError("a label is empty or stands twice in the list of labels")

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None = None) -> Self:
        return cls(sorted(set(texts)))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(list(data["labels"]), bool(data.get("at_first", False)))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "labels": self.names, **({"at_first": True} if self.at_first else {})}

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
    found = tokenizer.encode_all([f" {word}" if place else word for place, word in enumerate(words)])
    return [word[tokenizer.begin :] if place else word for place, word in enumerate(found)]


def in_step(pieces: Sequence[Sequence[int]], labels: Sequence[int], at_first: bool = False) -> list[int]:
    """For every token what it should be called: a word's label at its last token, and padding, nothing, at the others.

    At its last token also a reader from left to right has seen the whole word. `at_first`: at its first one instead,
    behind what a text begins with.
    """
    found: list[int] = []
    for word, label in zip(pieces, labels, strict=True):
        before = (word[0] == START and len(word) > 1) if at_first else len(word) - 1
        found += [PADDING] * before + [label] + [PADDING] * (len(word) - 1 - before)
    return found
