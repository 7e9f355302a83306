"""Files of words with a tag on each: one word a line, a blank line between sentences."""

from collections.abc import Iterator
from pathlib import Path

from regard.data.files import read_lines
from regard.errors import UserError

COLUMNS = 10  # of a word in CoNLL-U: its number, form, lemma, UPOS, …


def from_conllu(path: Path) -> Iterator[tuple[str, str] | None]:
    """Form and universal part of speech (UPOS) of each syntactic word; None where a sentence ends.

    Ranges (3-4, how words are written together) and empty nodes (5.1) are no words of their own.
    (universaldependencies.org/format.html)
    """
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            yield None
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise UserError(
                f"line {number} of {path} has {len(columns)} columns, a word in CoNLL-U {COLUMNS}, with tabs between; "
                "mend it, or give a file of lines word<TAB>tag another ending"
            )
        if columns[0].isdecimal():
            yield columns[1], columns[3]


def from_columns(path: Path) -> Iterator[tuple[str, str] | None]:
    """The first and the last column of each line. Between them stand tabs, or spaces if the first line has no tab."""
    mark: str | None = ""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            yield None
            continue
        mark = ("\t" if "\t" in line else None) if mark == "" else mark
        columns = [column.strip() for column in line.split(mark)]
        if len(columns) < 2 or not (columns[0] and columns[-1]):
            name = "tab" if mark else "space"
            raise UserError(f"line {number} of {path}, {line.strip()!r}, has no tag; write the word, a {name}, the tag")
        yield columns[0], columns[-1]


def sentences(words: Iterator[tuple[str, str] | None]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and the tags of each sentence."""
    held: list[tuple[str, str]] = []
    for word in words:
        if word is not None:
            held.append(word)
        elif held:
            yield tuple(form for form, _ in held), tuple(tag for _, tag in held)
            held = []
    if held:
        yield tuple(form for form, _ in held), tuple(tag for _, tag in held)
