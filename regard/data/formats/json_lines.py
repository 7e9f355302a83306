"""JSON: an object on each line, or all of them in one list."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.files import read_lines
from regard.data.formats.line import Line, short
from regard.errors import UserError


def json_lines(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UserError(f"line {number} of {path}, {short(line)}, is not a JSON object; write one on each line")
        yield Line(number, found, number)


def json_list(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    """A whole file in memory, for JSON has no end before its end."""
    try:
        found = json.loads("\n".join(read_lines(path)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); objects on single lines want the ending .jsonl") from None
    if not isinstance(found, list) or not found:
        raise UserError(
            f"{path} is no list of JSON objects; write [{{…}}, {{…}}], or one on each line of a .jsonl file"
        )
    for number, each in enumerate(found, 1):
        if not isinstance(each, dict):
            raise UserError(f"item {number} of {path}, {short(each)}, is not a JSON object; write only such")
        yield Line(number, each, number)
