"""Files of words with a tag on each: one word a line, a blank line between sentences; and CoNLL-U's trees."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from regard.data.files import read_lines
from regard.errors import UserError, counted

COLUMNS = 10  # of a word in CoNLL-U: its number, form, lemma, UPOS, …
APART = "SpaceAfter=No"
Item = TypeVar("Item")


class Word(NamedTuple):
    """A syntactic word of a CoNLL-U file."""

    form: str
    tag: str
    head: str
    """The number of the word that it depends on, from 1; 0: none; _: nobody said."""
    relation: str
    behind: str
    """The blank behind it, or nothing."""


class Tree(NamedTuple):
    """A sentence with the word that each of its words depends on."""

    text: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    """From 0; −1: on none."""
    relations: tuple[str, ...]


def from_conllu(path: Path) -> Iterator[tuple[str, str] | None]:
    """Form and universal part of speech (UPOS) of each syntactic word; None where a sentence ends."""
    return (word and (word.form, word.tag) for word in conllu_words(path))


def read_trees(path: Path) -> Iterator[Tree]:
    """The sentences of a CoNLL-U file, each as it was written, with its dependency tree."""
    for words in grouped(conllu_words(path)):
        for word in words:
            if not (word.head.isdecimal() and int(word.head) <= len(words)):
                raise UserError(f"{path}: '{word.form}' has the head '{word.head}', which is no word of its sentence")
        yield Tree(
            "".join(word.form + word.behind for word in words).strip(),
            tuple(word.form for word in words),
            tuple(int(word.head) - 1 for word in words),
            tuple(word.relation for word in words),
        )


def conllu_words(path: Path) -> Iterator[Word | None]:
    """Each syntactic word; None where a sentence ends.

    Ranges (3-4, how words are written together) and empty nodes (5.1) are no words of their own. The words of a range,
    such as do and n't, are written together, as English does. (universaldependencies.org/format.html)
    """
    written: dict[str, str] = {}  # what stands behind the words of a range
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            yield None
            written = {}
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise UserError(
                f"line {number} of {path} has {counted(len(columns), 'column')}, a word in CoNLL-U {COLUMNS}, "
                "with tabs between; mend it, or give a file of lines word<TAB>tag another ending"
            )
        behind = "" if APART in columns[9].split("|") else " "
        first, _, last = columns[0].partition("-")
        if first.isdecimal() and last.isdecimal():
            written = {str(number): "" for number in range(int(first), int(last))} | {last: behind}
        elif columns[0].isdecimal():
            yield Word(columns[1], columns[3], columns[6], columns[7], written.get(first, behind))


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
    for held in grouped(words):
        yield tuple(form for form, _ in held), tuple(tag for _, tag in held)


def grouped(words: Iterator[Item | None]) -> Iterator[list[Item]]:
    """What stands between the Nones, where there is anything."""
    held: list[Item] = []
    for word in words:
        if word is not None:
            held.append(word)
        elif held:
            yield held
            held = []
    if held:
        yield held
