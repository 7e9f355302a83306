"""From the lines of a file to rows of fields: by tabs, by names, or from two files whose lines belong together."""

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.data.files import read_lines
from regard.errors import UserError

KEYED = (".jsonl", ".csv")
"""Files whose lines say by name what is what: objects, and tables with a headline."""
LONE = re.compile("[\ud800-\udfff]")
"""Half of a character, which JSON can write and UTF-8 cannot."""


def ending(path: Path) -> str:
    """How a file's name ends, once .gz or .xz is off."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".xz")), "")


def from_parallel(first: Path, second: Path) -> Iterator[list[str]]:
    lines = read_lines(first), read_lines(second)
    for number, (source, target) in enumerate(zip_longest(*lines), 1):
        if source is not None and target is not None:
            yield [source, target]
            continue
        longer, shorter, rest = (first, second, lines[0]) if target is None else (second, first, lines[1])
        raise UserError(
            f"{longer} has {number + sum(1 for _ in rest)} lines, {shorter} has {number - 1}: line {number} of "
            f"{longer.name}, {short(source or target or '')}, has no partner; both files must have the same lines"
        )


def from_tabs(path: Path, wanted: str = "the source, a tab, the target") -> Iterator[list[str]]:
    for number, line in numbered(path):
        if "\t" not in line:
            raise UserError(f"line {number} of {path}, {short(line)}, has no tab; write {wanted}")
        yield line.split("\t")[:2]


def from_keys(path: Path, keys: Sequence[str]) -> Iterator[list[str]]:
    """What each line of a .jsonl or .csv file has under these keys. A label may be a number."""
    for number, found in objects(path):
        row = []
        for key in keys:
            if key not in found:
                wanted = " and ".join(keys)
                raise UserError(f"line {number} of {path} has the keys {short(', '.join(found))}; wanted are {wanted}")
            value = found[key]
            if key == "label" and isinstance(value, int):
                value = json.dumps(value)
            if not isinstance(value, str):
                raise UserError(f"line {number} of {path}: {key} must be text, found {short(value)}")
            if LONE.search(value):
                raise UserError(
                    f"line {number} of {path}: {key} holds half a character (a lone surrogate); mend or drop it"
                )
            row.append(value)
        yield row


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """What stands on each line by name, with the line's number."""
    if ending(path) == ".csv":
        yield from _table(path)
        return
    for number, line in numbered(path):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UserError(f"line {number} of {path}, {short(line)}, is not a JSON object; write one on each line")
        yield number, found


def _table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of a table under its headline. In quotation marks a field may hold commas and line ends."""
    csv.field_size_limit(sys.maxsize)  # a field may be a whole document
    rows = csv.reader(line + "\n" for line in read_lines(path))
    names = [name.strip() for name in next(rows, [])]
    for row in rows:
        if len(row) != len(names) and row:
            raise UserError(
                f"line {rows.line_num} of {path} has {len(row)} fields, its headline has {len(names)}; "
                "put a field that has commas in quotation marks"
            )
        if row:
            yield rows.line_num, dict(zip(names, row, strict=True))


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip())


def filled(rows: Iterator[list[str]], path: Path, skipped: Counter[str] | None) -> Iterator[list[str]]:
    """The rows that have something on every side. Those with nothing on any are no more than a blank line."""
    some = False
    for row in rows:
        sides = sum(1 for side in row if side.strip())
        if sides == len(row):
            some = True
            yield row
        elif sides and skipped is not None:
            skipped["one side empty"] += 1
    if not some:
        raise UserError(
            f"{path} has no example: every line is blank, or one side of it is; give a file with text in it"
        )


def short(value: object, most: int = 40) -> str:
    """A value as an error shows it: on one line, not longer than a glance."""
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= most else text[:most] + "…")
