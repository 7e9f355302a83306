"""Files as text: unpacked, decoded and cut into pieces or lines, never more in memory than a piece or a line."""

import codecs
import gzip
import lzma
import os
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from regard.errors import UserError

BLOCK = 1 << 18
PIECE = 1 << 20
"""Bytes read at once, and bytes without a line end after which a line is cut all the same."""

MARK = "\ufeff"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order mark, as text and as UTF-16 writes it. In UTF-8 it says nothing and is dropped."""

ZERO = "line with a zero byte"

# a line without its end, what it stands in, its number → its text
Decode: TypeAlias = Callable[[bytes, str, int], str]


def read_pieces(path: Path, skipped: Counter[str] | None = None) -> Iterator[str]:
    """A file's text as it is, in pieces of about a megabyte at most that end where a line ends.

    Only a line longer than a piece is cut within. Joined, the pieces are the whole text, but for lines with a zero
    byte, which are left out and counted.
    """
    held, start, found = b"", _Spot(), False
    skipped = Counter() if skipped is None else skipped
    for block in _of_text(path):
        data = held + block
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= PIECE:
            end = _last_character(data)
        if end:
            text = _without_zeros(_decode(data[:end], path, start), path, start, skipped)
            yield text if found else text.removeprefix(MARK)
            start, found = start.after(data[:end]), True
        held = data[end:]
    last = _without_zeros(_decode(held, path, start), path, start, skipped)
    if not found:
        last = last.removeprefix(MARK)
    if last:
        yield last
    elif not found:
        raise UserError(f"{path} is empty; give a file with text in it")


def read_lines(path: Path) -> Iterator[str]:
    """A file's lines, every byte of which must be UTF-8."""
    lines = lines_in(_of_text(path), str(path), strictly)
    try:
        yield next(lines)
    except StopIteration:
        raise UserError(f"{path} is empty; give a file with text in it") from None
    yield from lines


def lines_in(blocks: Iterable[bytes], name: str, decode: Decode) -> Iterator[str]:
    r"""Lines without their ends, as they come. A line ends with \n or \r\n and with nothing else that Unicode knows."""
    for number, line in enumerate(raw_lines(blocks), 1):
        if number == 1 and line.startswith(UTF16):
            raise UserError(f"{name} is in UTF-16, UTF-8 is wanted; convert it: iconv -f utf-16 -t utf-8")
        text = decode(line.removesuffix(b"\r"), name, number)
        yield text.removeprefix(MARK) if number == 1 else text


def raw_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """What stands between line ends."""
    held: list[bytes] = []
    for block in blocks:
        first, *others = block.split(b"\n")
        held.append(first)
        if others:
            yield b"".join(held)
            yield from others[:-1]
            held = others[-1:]
    if last := b"".join(held):
        yield last


def strictly(line: bytes, name: str, number: int) -> str:
    """Says where what is not UTF-8 stands, and ends there."""
    return _decode(line, name, _Spot(number))


def text_files(folder: Path, skipped: Counter[str] | None = None) -> Iterator[Path]:
    """The files in a folder and the folders within it, by name. Empty and binary ones are skipped and counted."""
    found, skipped = False, Counter() if skipped is None else skipped
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        opening = next(blocks(path), b"")
        if not opening:
            skipped["file that is empty"] += 1
        elif not opening.startswith(UTF16) and _binary(opening):
            skipped["file that is binary"] += 1
        else:
            found = True
            yield path
    if not found:
        raise UserError(f"folder {folder} has no text file in it; hidden, empty and binary files do not count")


def ending(path: Path) -> str:
    """How a file's name ends, once .gz or .xz is off."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".xz")), "")


def no_such_file(path: Path, otherwise: str = "check the path") -> UserError:
    """The error for a path where nothing is, with the name that was probably meant, or else another remedy."""
    close = get_close_matches(path.name, neighbours(path), n=1)
    remedy = f"did you mean '{path.with_name(close[0])}'?" if close else otherwise
    return UserError(f"{shlex.quote(str(path))} does not exist; {remedy}")


def neighbours(path: Path) -> list[str]:
    """The names in the folder in which a path was looked for, if there is such a folder."""
    try:
        return os.listdir(path.parent)
    except OSError:
        return []


def blocks(path: Path) -> Iterator[bytes]:
    """A file's bytes, unpacked, some at a time. Whatever goes wrong on the disk is said here."""
    if path.is_dir():
        raise UserError(f"{path} is a folder where a file is wanted; name a file in it")
    try:
        with _open(path) as file:
            while block := file.read(BLOCK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError):
        tool = "gzip" if path.suffix.lower() == ".gz" else "xz"
        raise UserError(f"{path} is damaged or cut short (ask {tool} -t); fetch or pack it again") from None
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from error


def _of_text(path: Path) -> Iterator[bytes]:
    """A file's blocks; one that is no text is refused at once."""
    found, start = blocks(path), _Spot()
    first = next(found, b"")
    found = chain([first], found)
    for block in _from_utf16(found, path) if first.startswith(UTF16) else found:
        if _binary(block):
            line = start.after(block[: block.index(b"\0")]).line
            raise UserError(
                f"{path} is a binary file (line {line} has a zero byte), text in UTF-8 is wanted; leave it out"
            )
        start = start.after(block)
        yield block


def _binary(block: bytes) -> bool:
    """Whether zero bytes are more than a slip in a text: beside each other, on half of its lines, or it is no UTF-8."""
    if b"\0" not in block:
        return False
    lines = block.split(b"\n")
    if b"\0\0" in block or 2 * sum(b"\0" in line for line in lines) >= len(lines):
        return True
    try:  # a block may begin and end within a character
        b"\n".join(lines[1:-1]).decode()
    except UnicodeDecodeError:
        return True
    return False


def _from_utf16(found: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """As Excel writes "Unicode text"."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for block in found:
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise UserError(f"{path} begins as UTF-16 and does not go on so; save it again, as UTF-8") from None


def _open(path: Path) -> BufferedIOBase:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
        case _:
            return path.open("rb")


def _without_zeros(text: str, path: Path, start: "_Spot", skipped: Counter[str]) -> str:
    """A text without the lines that have a zero byte."""
    if "\0" not in text:
        return text
    lines = text.split("\n")
    first = start.line + next(place for place, line in enumerate(lines) if "\0" in line)
    known = next((reason for reason in skipped if ZERO in reason), f"{ZERO} (first: line {first} of {path})")
    skipped[known] += sum("\0" in line for line in lines)
    return "\n".join(line for line in lines if "\0" not in line)


class _Spot(NamedTuple):
    """A place in a file: the number of the line, and how many of its bytes stand before."""

    line: int = 1
    byte: int = 0

    def after(self, data: bytes) -> "_Spot":
        lines = data.count(b"\n")
        return _Spot(self.line + lines, len(data) - data.rfind(b"\n") - 1 + (0 if lines else self.byte))


def _decode(data: bytes, path: Path | str, start: _Spot) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        spot = start.after(data[: error.start])
        raise UserError(
            f"{path} is not UTF-8: line {spot.line}, byte {spot.byte + 1} is 0x{data[error.start]:02x}; "
            "if it is Latin-1, convert it: iconv -f latin1 -t utf-8"
        ) from None


def _last_character(data: bytes) -> int:
    """Where the last character begins, for a cut that splits none. In UTF-8 its other bytes begin with the bits 10."""
    end = len(data) - 1
    while end > len(data) - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
