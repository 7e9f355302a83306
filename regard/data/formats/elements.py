"""XML as it comes, element by element, in constant memory. What could unfold or fetch something is refused."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from regard.errors import UserError


class Element(NamedTuple):
    """Where an element begins or ends."""

    name: str
    """Without its namespace."""
    attributes: dict[str, str]
    line: int
    ends: bool
    text: str = ""
    """At the end of one whose text is wanted: all that stands in it."""


def elements(
    blocks: Iterable[bytes],
    path: Path,
    texts: Iterable[str],
    dropped: Iterable[str] = (),
    blanks: Mapping[str, str] | None = None,
) -> Iterator[Element]:
    """Every element as it begins and as it ends, and the text of those named in `texts`.

    Of those named in `dropped`, and of all within them, nothing is seen. `blanks`: elements that stand for a text.
    """
    reader = _Reader(path, frozenset(texts), frozenset(dropped), blanks or {})
    for block in blocks:
        yield from reader.read(block, False)
    yield from reader.read(b"", True)


class _Reader:
    def __init__(self, path: Path, texts: frozenset[str], dropped: frozenset[str], blanks: Mapping[str, str]) -> None:
        self.path, self.texts, self.dropped, self.blanks = path, texts, dropped, blanks
        self.found: list[Element] = []
        self.begun: list[Element] = []
        self.silent = 0  # dropped elements around
        self.wanted = 0  # elements around whose text is wanted
        self.pieces: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse

    def read(self, block: bytes, last: bool) -> list[Element]:
        self.found = []
        try:
            self.parser.Parse(block, last)
        except expat.ExpatError as error:
            raise UserError(
                f"{self.path} is damaged or cut short: line {error.lineno} is not XML "
                f"({expat.errors.messages.get(error.code, 'unknown')}); save it again"
            ) from None
        return self.found

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        made = Element(name.rpartition(":")[2], attributes, self.parser.CurrentLineNumber, ends=False)
        self.begun.append(made)
        self.silent += made.name in self.dropped
        if not self.silent:
            self.wanted += made.name in self.texts
            self.found.append(made)
            self._text(self.blanks.get(made.name, ""))

    def _end(self, name: str) -> None:
        made = self.begun.pop()
        if not self.silent:
            text = ""
            if made.name in self.texts:
                text, self.wanted = "".join(self.pieces), self.wanted - 1
                self.pieces = [text] if self.wanted else []  # the one around it has it too
            self.found.append(made._replace(ends=True, text=text))
        self.silent -= made.name in self.dropped

    def _text(self, text: str) -> None:
        if self.wanted and not self.silent:
            self.pieces.append(text)

    def _refuse(self, *_: object) -> None:
        raise UserError(
            f"{self.path} declares entities, by which a small file can unfold to a huge one; take <!ENTITY …> out"
        )
