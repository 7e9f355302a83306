"""A packed file that holds others, as spreadsheets are: read as it unpacks, and never more than it says beforehand."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.data.files import BLOCK, no_such_file
from regard.errors import UserError

LARGEST = 1 << 30  # bytes of one part, unpacked: more than a full sheet of sentences has
OLD = b"\xd0\xcf\x11\xe0"  # how Office packs what is locked; its files from before 2007 begin so too
SHEET = re.compile(r"(.+\.(?:xlsx|ods))#(.+)", re.IGNORECASE)


def book_and_sheet(path: Path) -> tuple[Path, str]:
    """A file, and the sheet that is named behind its name and a #; "": the first."""
    found = SHEET.fullmatch(path.name)
    return (path.with_name(found[1]), found[2]) if found and not path.exists() else (path, "")


class Archive:
    """The parts of a packed file by name."""

    def __init__(self, path: Path, packed: zipfile.ZipFile) -> None:
        self.path, self._packed = path, packed
        self._sizes = {part.filename: part.file_size for part in packed.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def blocks(self, name: str) -> Iterator[bytes]:
        """A part's bytes. `zipfile` stops at the size that the part is said to have, so what is said can be held to."""
        if name not in self:
            raise UserError(f"{self.path} is damaged or no spreadsheet (it has no {name}); save it again")
        if self._sizes[name] > LARGEST:
            size = f"{self._sizes[name] / 1e9:,.1f} GB"
            raise UserError(f"{self.path} would unpack to {size}, more than a sheet of texts has; save it as .csv")
        with self._packed.open(name) as part:
            while block := part.read(BLOCK):
                yield block


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """An archive. Whatever is wrong with it is said here, also while it is read."""
    try:
        with path.open("rb") as file:
            locked = file.read(4) == OLD
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from None
    if locked:
        raise UserError(f"{path} is locked with a password, or an .xls file; save it as .xlsx without one")
    try:
        with zipfile.ZipFile(path) as packed:
            yield Archive(path, packed)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError):
        raise UserError(f"{path} is damaged or no spreadsheet, whatever its name says; save it again") from None
    except RuntimeError:  # the word of zipfile for one that is encrypted
        raise UserError(f"{path} is locked with a password; save it without one") from None


def further_sheets(path: Path) -> str:
    """What is said of the sheets that are not read."""
    return f"sheet behind the first (take one with {path}#NAME)"


def no_such_sheet(path: Path, wanted: str, names: list[str]) -> UserError:
    return UserError(f"{path} has no sheet '{wanted}'; it has {', '.join(names)}")
