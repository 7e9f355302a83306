"""Separated values (CSV, TSV): what stands between the fields, and what a quotation mark means, is found by looking."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.columns import by_number, has_columns, is_headline, listed
from regard.data.files import ending, read_lines
from regard.data.formats.line import Line
from regard.data.formats.quotes import around_fields
from regard.errors import UserError, counted

TAB = "\t"
MARKS = {",": "commas", ";": "semicolons", TAB: "tabs", "|": "bars"}
LOOKED_AT = 200  # lines by which the mark is found
SAID = re.compile(r"sep=(.)", re.IGNORECASE)
"""How Excel says in a first line what stands between fields."""

Rows = Iterator[tuple[int, list[str]]]


class Layout(NamedTuple):
    """How a table is written."""

    mark: str
    """What stands between fields."""
    names: tuple[str, ...]
    """Its headline; none: its columns go by their numbers."""
    first: int
    """The number of the line with the first row."""


def separated(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    """The rows of a table by the names of its headline, or else by the numbers of its columns."""
    layout = layout_of(path, columns)
    names, loose = layout.names, ending(path) != ".csv"
    if names and loose and not columns and skipped is not None:
        skipped[f"headline ({listed(names)}; if it is an example, say --data.columns 1 2)"] = 1
    for number, row in rows_of(path, layout):
        if names and (len(row) < len(names) or (len(row) > len(names) and not loose)):
            found = f"line {number} of {path} has {counted(len(row), 'field')}, its headline has {len(names)}"
            raise UserError(f"{found}; {_remedy(row, names, layout.mark)}")
        fields = dict(zip(names or map(str, range(1, len(row) + 1)), row, strict=False))
        yield Line(number, fields, layout.first - 1 if names else number)


def _remedy(row: Sequence[str], names: Sequence[str], mark: str) -> str:
    if any("\n" in field for field in row):
        return "a quotation mark in it closes only some lines later; double one that is meant as such"
    if len(row) < len(names):
        return f"add what is missing, or {MARKS.get(mark, mark)} for empty fields"
    return f"put a field that has {MARKS.get(mark, mark)} in quotation marks"


def layout_of(path: Path, columns: Sequence[str] = ()) -> Layout:
    """What stands between the fields of a file, and its headline, as its first lines show.

    A .csv file has a headline unless its columns are chosen by number. Any other has one only if it is named by it, or
    if the first line is surely one.
    """
    lines = list(islice(read_lines(path), LOOKED_AT))
    begin = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    said = SAID.fullmatch(lines[begin].strip()) if begin < len(lines) else None
    begin += said is not None
    if ending(path) == ".csv" and any("\r" in line for line in lines[:1]):
        raise UserError(f"{path} ends its lines with a carriage return alone; convert it: tr '\\r' '\\n'")
    mark = said[1] if said else _mark_of(lines[begin:], columns, ending(path) == ".csv")
    names = tuple(name.strip() for name in next(_cut(lines[begin : begin + 1], mark), []))
    headed = bool(columns) or ending(path) == ".csv" or is_headline(names)
    if by_number(columns) or not headed:
        return Layout(mark, (), begin + 1)
    return Layout(mark, names, begin + 2)


def _mark_of(lines: list[str], columns: Sequence[str], is_csv: bool) -> str:
    fits = {mark: _fit(lines, mark, columns) for mark in MARKS}
    best = max(MARKS, key=lambda mark: fits[mark])
    if is_csv or (TAB not in "".join(lines[:1]) and fits[best][0]):
        return best
    return TAB  # a sentence may have as many commas as the next


def _fit(lines: list[str], mark: str, columns: Sequence[str]) -> tuple[bool, bool, float]:
    """How well a mark cuts lines: into columns that are known or wanted, into any, and into as many on each line."""
    rows = [row for row in _cut(lines, mark) if row]
    wide = len(rows[0]) if rows else 0
    even = sum(len(row) == wide for row in rows[:-1]) / max(1, len(rows) - 1)  # the last may be cut short
    return wide > 1 and has_columns(rows[0], columns), wide > 1, even if wide > 1 else 0.0


def rows_of(path: Path, layout: Layout) -> Rows:
    """The fields of every row that is not blank, with the number of the line on which it begins."""
    if layout.mark == TAB and not around_fields(read_lines(path)):
        for number, line in enumerate(read_lines(path), 1):
            if number >= layout.first and line.strip():
                yield number, line.split(TAB)
        return
    lines = islice(read_lines(path), layout.first - 1, None)
    begin = layout.first
    reader = _reader(lines, layout.mark)
    try:
        for row in reader:
            if any(row):
                yield begin, row
            begin = layout.first + reader.line_num
    except csv.Error as error:
        raise UserError(
            f"line {begin} of {path} cannot be cut into fields ({error}); save the table again, as UTF-8"
        ) from None


def _cut(lines: Iterable[str], mark: str) -> Iterator[list[str]]:
    """The fields of some lines, as far as they can be cut."""
    try:
        yield from _reader(lines, mark)
    except csv.Error:
        return


def _reader(lines: Iterable[str], mark: str) -> Any:
    csv.field_size_limit(sys.maxsize)  # a field may be a whole document
    return csv.reader((line + "\n" for line in lines), delimiter=mark)
