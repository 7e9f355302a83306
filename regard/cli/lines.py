"""Lines in and lines out: pipes, files and terminals. Whatever is in them, a line stays a line and keeps its place."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from regard.cli.command import STANDARD
from regard.data.files import BLOCK, Decode, blocks, lines_in, raw_lines
from regard.errors import UserError

PACKED = b"PK\x03\x04"
"""How .xlsx, .ods and .zip files begin."""


def read_lines(name: str) -> Iterator[str]:
    """The lines of a file, or of standard input for "-". Bytes that are not UTF-8 become U+FFFD, which is said once."""
    return lines_in(_of_lines(name), _called(name), _forgiving())


def _of_lines(name: str) -> Iterator[bytes]:
    """Blocks of what has lines; a spreadsheet, or whatever else is packed, has none."""
    for number, block in enumerate(_blocks(name)):
        if not number and block.startswith(PACKED):
            raise UserError(
                f"{_called(name)} is a spreadsheet or an archive; save its column as text, a line for each row"
            )
        yield block


def _forgiving() -> Decode:
    said = False

    def decode(line: bytes, name: str, number: int) -> str:
        nonlocal said
        text = line.decode(errors="replace")
        if not said and "\ufffd" in text and "\ufffd".encode() not in line:
            said = True
            where = f"line {number} of {name} is not UTF-8"
            print(f"regard: {where}; what cannot be read becomes U+FFFD, here and in later lines", file=sys.stderr)
        return text

    return decode


def read_text(name: str) -> str:
    """All of it, less the end of its last line."""
    return "\n".join(read_lines(name))


def _blocks(name: str) -> Iterator[bytes]:
    return _standard_input() if name == STANDARD else blocks(Path(name))


def at_terminal() -> bool:
    """Whether somebody is typing."""
    return sys.stdin is not None and sys.stdin.isatty()


def _standard_input() -> Iterator[bytes]:
    """What there is at the moment, so that someone at a terminal gets an answer to each line."""
    if sys.stdin is None:
        raise UserError("standard input is closed; name a file, or leave it open")
    try:
        while block := sys.stdin.buffer.read1(BLOCK):  # type: ignore[union-attr]
            yield block
    except OSError as error:
        raise UserError(f"cannot read standard input: {error.strerror}") from error


def count_lines(name: str) -> int | None:
    """How many there are, where one can look without taking them."""
    return None if name == STANDARD or not Path(name).is_file() else sum(1 for _ in raw_lines(_blocks(name)))


@contextmanager
def output_to(path: Path | None) -> Iterator[TextIO]:
    """Where lines go: each is handed on as soon as it is written, so that none is lost whatever happens to the next.

    A file is therefore written as it goes and not replaced as a whole at the end.
    """
    path = None if str(path) == STANDARD else path
    try:
        if path is None:
            if isinstance(sys.stdout, TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="\n", line_buffering=True)
            sys.stdout.write("")  # one that is closed says so before anything is computed
            yield sys.stdout
            sys.stdout.flush()
        else:
            with path.open("w", encoding="utf-8", newline="\n", buffering=1) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None:
            let_go()
        what = path or "standard output"
        raise UserError(f"cannot write {what}: {error.strerror}; check the folder and the space left on it") from error


def let_go() -> None:
    """Standard output leads nowhere from now on: what it still holds must not fail again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: str) -> str:
    """A model may write a line end; a line of output is the answer to one line of input all the same."""
    return text.replace("\r", " ").replace("\n", " ")


def _called(name: str) -> str:
    return "standard input" if name == STANDARD else name
