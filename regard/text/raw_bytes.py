"""Text as its UTF-8 bytes: nothing to learn, nothing unknown, and the longest sequences."""

from collections.abc import Sequence
from typing import Any, Self

from regard.special import NAMES
from regard.text.tokenizer import Learnt, utf8


class Bytes(Learnt):
    """Byte b has the id 4 + b."""

    kind = "bytes"

    def __init__(self) -> None:
        super().__init__(bytes([byte]) for byte in range(256))

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None) -> Self:
        return cls()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def encode(self, text: str) -> list[int]:
        first = len(NAMES)
        return [first + byte for byte in utf8(text)]
