"""Formats of other programs: one file for each. Which one it is, is found by what a file holds, not by its name."""

from pathlib import Path

from regard.errors import UserError
from regard.hub.package import Package
from regard.hub.reading import arrays, gguf, hugging_face, llama2c, marian

READERS = (hugging_face, gguf, marian, llama2c, arrays)


def read_package(path: Path) -> Package:
    """What a file or folder of another program holds."""
    if not path.exists():
        raise UserError(f"{path} does not exist; give a file or a folder of weights")
    for reader in READERS:
        if reader.can_read(path):
            return reader.read(path)
    if _is_pickle(path):
        raise UserError(f"{path} is a pickle, which could run code, and is not read; save the model as safetensors")
    raise UserError(f"{path} is in no format that is known here; docs/hub.md lists them")


def _is_pickle(path: Path) -> bool:
    """By its first byte, or as torch keeps one inside a zip file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.read(4096)
    return first.startswith(b"\x80") or (first.startswith(b"PK") and b"data.pkl" in first)
