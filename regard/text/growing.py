"""A text that grows token by token: whole characters as soon as they are there (an incremental detokenizer)."""

import codecs
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Spells(Protocol):
    """All that is wanted of a tokenizer here."""

    def pieces(self, ids: Sequence[int], /) -> list[bytes]: ...


class Cursor(NamedTuple):
    """Where such a text stands: all that what the next token adds depends on. A value: nothing is written to it."""

    last: tuple[int, ...] = ()
    """The tokens that added something last. What one adds may depend on those before it, but on none before these."""
    since: tuple[int, ...] = ()
    """Those since, which have added nothing."""
    begun: bytes = b""
    """Of a character that is not whole yet."""

    def add(self, tokenizer: Spells, token: int) -> tuple["Cursor", str]:
        """The text one token later, and the characters that are whole now."""
        since = (*self.since, token)
        piece = tokenizer.pieces((*self.last, *since))[-1]
        text, used = codecs.utf_8_decode(self.begun + piece, "replace", False)
        begun = (self.begun + piece)[used:]
        return (Cursor(since, (), begun) if piece else Cursor(self.last, since, begun)), text

    def end(self) -> str:
        """What half a character is shown as."""
        return self.begun.decode(errors="replace")
