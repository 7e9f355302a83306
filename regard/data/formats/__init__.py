"""Files whose lines say by name what is what: a reader for each ending. A new one is a file, and a line in FORMATS."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from regard.data.files import ending
from regard.data.formats.archive import book_and_sheet
from regard.data.formats.json_lines import json_lines, json_list
from regard.data.formats.line import Line
from regard.data.formats.ods import ods
from regard.data.formats.parquet import parquet
from regard.data.formats.separated import separated
from regard.data.formats.tmx import tmx
from regard.data.formats.xlsx import xlsx

# a file, the columns that are chosen, and what is left out, counted by reason → its lines by name
Reader = Callable[[Path, Sequence[str], Counter[str] | None], Iterator[Line]]

FORMATS: dict[str, Reader] = {
    ".csv": separated,
    ".jsonl": json_lines,
    ".json": json_list,
    ".xlsx": xlsx,
    ".ods": ods,
    ".parquet": parquet,
    ".tmx": tmx,
}


def is_table(path: Path) -> bool:
    """Whether a file's name says that its lines go by name."""
    return not path.is_dir() and format_of(path) in FORMATS


def format_of(path: Path) -> str:
    """The ending of a file by which its reader is chosen."""
    return ending(book_and_sheet(path)[0])


def lines_of(path: Path, columns: Sequence[str] = (), skipped: Counter[str] | None = None) -> Iterator[Line]:
    """What stands on each line by name. A file that no format is named for may have tabs between its fields."""
    return FORMATS.get(format_of(path), separated)(path, columns, skipped)
