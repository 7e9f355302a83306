"""What every format gives: lines, with what stands on each of them by name."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from regard.data.columns import by_number


class Line(NamedTuple):
    """A line of a table, or whatever is one example there."""

    number: int
    """Where it stands, from 1."""
    fields: dict[str, Any]
    named_at: int
    """Where the names of its fields stand."""


def under_headline(rows: Iterable[tuple[int, Sequence[str]]], columns: Sequence[str]) -> Iterator[Line]:
    """Rows by the names in the first that is not blank; by their numbers where columns are chosen so.

    A row that is shorter is filled up, as spreadsheets leave out empty cells at its end.
    """
    names, named_at = list[str](), 0
    for number, row in rows:
        if by_number(columns):
            filled = [*row, *[""] * (max(map(int, columns)) - len(row))]
            yield Line(number, dict(zip(map(str, range(1, len(filled) + 1)), filled, strict=False)), number)
        elif names:
            yield Line(number, dict(zip(names, [*row, *[""] * (len(names) - len(row))], strict=False)), named_at)
        elif any(row):
            names, named_at = [name.strip() for name in row], number


def in_words(value: object) -> str:
    """A cell as text: nothing for an empty one, and a number as a person writes it, so that 1 and 1.0 are the same."""
    if value is None or value != value:  # NaN: how tables of numbers write an empty cell
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def short(value: object, most: int = 40) -> str:
    """A value as an error shows it: on one line, not longer than a glance."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return repr(text if len(text) <= most else text[:most] + "…")
