"""Nothing a user made is ever half-written: a file appears whole, or the one that was there before stays."""

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from regard.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to. When the block ends well it is flushed to the disk and takes the place of `path`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(0o666 & ~_umask())  # readable by others as the user's other files are, whoever wrote it
        partial.replace(path)
    except OSError as error:
        kept = "; the earlier one is untouched" if path.exists() else ""
        raise UserError(
            f"cannot write {path}: {error.strerror or error}{kept}; check the folder and the space left on it"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to write to. When the block ends well it becomes `path`, where nothing may be before."""
    if path.exists():
        raise UserError(f"{path} is there already; name another place, or remove it first")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.rename(path)
    except UserError as error:  # of one of its files, by the name that it would have had
        raise UserError(str(error).replace(str(partial), str(path))) from error
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; check the folder and the space left on it"
        ) from error
    finally:
        rmtree(partial, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """A small text file, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Whatever `write` writes to the path it is given, whole or not at all."""
    with replacing(path) as partial:
        write(partial)


def checksum(path: Path) -> str:
    """What changes when any byte of a file does (CRC-32): it is for accidents, not against those who mean harm."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def text_sum(text: str) -> str:
    """The same of a text."""
    return f"{zlib.crc32(text.encode()):08x}"


def check_sum(path: Path, wanted: str, remedy: str) -> None:
    """A file must be as it was written."""
    try:
        found = checksum(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {remedy}") from None
    if found != wanted:
        raise UserError(f"{path} is damaged or was changed (its checksum is another one); {remedy}")


def read_tensors(path: Path, remedy: str) -> tuple[dict[str, "Tensor"], dict[str, str]]:
    """Tensors by name, and what was written beside them; nothing in the file is executed.

    The library opens a file twice, for its head and for its tensors: one that was replaced in between is read again.
    """
    from safetensors import SafetensorError, safe_open  # here, for a text is written without torch

    before = _identity(path)
    try:
        with safe_open(path, "pt") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        if _identity(path) == before:
            raise UserError(f"{path} is damaged ({error}); {remedy}") from None
        return read_tensors(path, remedy)
    return found if _identity(path) == before else read_tensors(path, remedy)


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Which file stands there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def write_tensors(path: Path, tensors: dict[str, "Tensor"], metadata: dict[str, str] | None = None) -> None:
    """Tensors by name, whole or not at all."""
    from safetensors import SafetensorError  # here, for a text is written without torch
    from safetensors.torch import save_file

    def pour(partial: Path) -> None:
        try:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial, metadata)
        except SafetensorError as error:  # its word for a full disk
            raise OSError(str(error)) from None

    write_with(path, pour)
