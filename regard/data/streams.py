"""What can be read only once, such as a pipe or standard input, as files that can be read again."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.config import Data, Where
from regard.data.files import BLOCK
from regard.errors import UserError

STANDARD = "-"
PREFIX = ".stream-"
BEGINNINGS = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".xlsx",
    b"<?xml": ".tmx",
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ": ".xz",
    b"{": ".jsonl",
}
"""How formats begin that have no name to tell them by."""


@contextmanager
def data_in_files(data: Data, folder: Path | None = None) -> Iterator[Data]:
    """The same data, with every stream that it names as a file in the folder, while it is needed."""
    with in_files(data.train, folder) as train, in_files(data.valid, folder) as valid:
        yield replace(data, train=train, valid=valid)


@contextmanager
def in_files(where: Where, folder: Path | None = None) -> Iterator[Where]:
    """The same place, with every stream as a file."""
    names = (where,) if isinstance(where, str) else where
    if not any(map(_is_stream, names)):
        yield where
        return
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=PREFIX, dir=folder) as kept:
        found = tuple(
            str(_copied(name, Path(kept) / f"{number}")) if _is_stream(name) else name
            for number, name in enumerate(names, 1)
        )
        yield found[0] if isinstance(where, str) else found


def forget_streams(folder: Path) -> None:
    """Removes the copies of a process that was killed."""
    for left in folder.glob(f"{PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def _is_stream(name: str) -> bool:
    try:
        return name == STANDARD or stat.S_ISFIFO(os.stat(os.path.expanduser(name)).st_mode) if name else False
    except OSError:
        return False  # whoever reads it says so


def _copied(name: str, path: Path) -> Path:
    """All that a stream has to say, in a file whose ending says what it looks like."""
    if name == STANDARD and sys.stdin is None:
        raise UserError("standard input is closed; name a file, or leave it open")
    try:
        source = sys.stdin.fileno() if name == STANDARD else os.path.expanduser(name)
        with open(source, "rb", closefd=name != STANDARD) as stream, path.open("wb") as file:
            shutil.copyfileobj(stream, file, BLOCK)
    except OSError as error:
        raise UserError(f"cannot copy {name}: {error.strerror}; check the space left on {path.parent}") from error
    with path.open("rb") as file:
        opening = file.read(1 << 16)
    return path.rename(path.with_suffix(_ending(opening)))


def _ending(opening: bytes) -> str:
    """By how it begins: a format's own mark, or a tab on each line."""
    found = next((ending for beginning, ending in BEGINNINGS.items() if opening.lstrip().startswith(beginning)), "")
    lines = [line for line in opening.split(b"\n")[:20] if line.strip()]
    return found or (".tsv" if lines and all(b"\t" in line.strip() for line in lines) else ".txt")
