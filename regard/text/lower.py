"""Any tokenizer, without capitals: a word at the start of a sentence is the word inside it."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard.text.tokenizer import Tokenizer


class Lower(Tokenizer):
    """Reads a text as its lower case, so `decode(encode(text)) == text.lower()` wherever the inner one gives text back.

    Little data sees each word more often so; what is written has no capitals either.
    """

    kind = "lower"
    cased = False

    def __init__(self, inner: Tokenizer) -> None:
        super().__init__(())
        self.inner = inner
        self._bytes = inner._bytes
        self.spells = inner.spells

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """`inner` is a tokenizer already."""
        return cls(data["inner"])

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "inner": self.inner.to_json()}

    def encode(self, text: str) -> list[int]:
        return self.inner.encode(text.lower())

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return self.inner.encode_all([text.lower() for text in texts])

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        return self.inner.pieces(ids)

    def faces(self, text: str) -> list[str]:
        return self.inner.faces(text.lower())

    def label(self, token: int) -> str:
        return self.inner.label(token)
