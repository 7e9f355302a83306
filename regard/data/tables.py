"""From the lines of a file to rows of fields: by names, by tabs, or from two files whose lines belong together."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from regard.data.columns import chosen, known
from regard.data.files import ZERO, read_lines
from regard.data.formats import is_table, lines_of
from regard.data.formats.line import in_words, short
from regard.data.formats.separated import layout_of
from regard.errors import UserError, counted

LONE = re.compile("[\ud800-\udfff]")
"""Half of a character, which JSON can write and UTF-8 cannot."""


class Row(NamedTuple):
    """What a task reads of one line."""

    number: int
    """Of the line, from 1."""
    fields: tuple[str, ...]


def names_in(path: Path, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """What the columns of a file are called; none: it has no headline, or nothing but blank lines."""
    if is_table(path):
        return tuple(next((line.fields for line in lines_of(path, columns)), ()))
    return layout_of(path, columns).names


def from_parallel(first: Path, second: Path) -> Iterator[Row]:
    lines = read_lines(first), read_lines(second)
    for number, (source, target) in enumerate(zip_longest(*lines), 1):
        if source is not None and target is not None:
            yield Row(number, (source, target))
            continue
        longer, shorter, rest = (first, second, lines[0]) if target is None else (second, first, lines[1])
        raise UserError(
            f"{longer} has {counted(number + sum(1 for _ in rest), 'line')}, {shorter} has {number - 1}: line "
            f"{number} of {longer.name}, {short(source or target or '')}, has no partner; both "
            "files must have the same lines"
        )


def goes_by_name(path: Path, keys: Sequence[str], columns: Sequence[str] = ()) -> bool:
    """Whether a task reads a file by the names, or the chosen numbers, of its columns; else by what comes first."""
    return is_table(path) or bool(columns) or known(names_in(path), keys) is not None


def from_tabs(path: Path, wanted: str, skipped: Counter[str] | None = None) -> Iterator[Row]:
    """All fields of each line, in the order in which they stand; a headline, if there surely is one, is left out."""
    for number, fields, _ in lines_of(path, (), skipped):
        if len(fields) < 2:
            raise UserError(f"line {number} of {path}, {short(*fields.values())}, has no tab; write {wanted}")
        yield Row(number, tuple(fields.values()))


def from_keys(
    path: Path, keys: Sequence[str], columns: Sequence[str] = (), skipped: Counter[str] | None = None
) -> Iterator[Row]:
    """What each line has under the columns for these keys. A label may be a number."""
    names: list[str] = []
    for number, found, named_at in lines_of(path, columns, skipped):
        names = names or chosen(tuple(found), keys, columns, f"line {named_at} of {path}")
        row = []
        for key, name in zip(keys, names, strict=True):
            if name not in found:
                wanted = " and ".join(names)
                raise UserError(f"line {number} of {path} has the keys {short(', '.join(found))}; wanted are {wanted}")
            value = in_words(found[name]) if key == "label" and isinstance(found[name], int | float) else found[name]
            if not isinstance(value, str):
                raise UserError(f"line {number} of {path}: {name} must be text, found {short(value)}")
            if LONE.search(value):
                raise UserError(
                    f"line {number} of {path}: {name} holds half a character (a lone surrogate); mend or drop it"
                )
            row.append(value)
        yield Row(number, tuple(row))


def filled(rows: Iterator[Row], path: Path, skipped: Counter[str] | None) -> Iterator[Row]:
    """The rows that have something on every side, and no zero byte. Nothing on any side is a blank line."""
    some, zero = False, ""
    for row in rows:
        sides = sum(1 for side in row.fields if side.strip())
        if sides < len(row.fields):
            reason = "example with one side empty" if sides else ""
        elif any("\0" in side for side in row.fields):
            reason = zero = zero or f"{ZERO} (first: line {row.number} of {path})"
        else:
            some = True
            yield row
            continue
        if reason and skipped is not None:
            skipped[reason] += 1
    if not some:
        raise UserError(
            f"{path} has no example: every line is blank, or one side of it is; give a file with text in it"
        )
