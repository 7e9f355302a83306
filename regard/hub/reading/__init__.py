"""Formats of other programs: one file for each. Which one it is, is found by what a file holds, not by its name."""

from pathlib import Path

from regard.errors import UserError
from regard.hub.package import Package
from regard.hub.reading import arrays, gguf, hugging_face, llama2c, marian, torch_files

READERS = (hugging_face, gguf, marian, llama2c, torch_files, arrays)


def read_package(path: Path) -> Package:
    """What a file or folder of another program holds."""
    if not path.exists():
        raise UserError(f"{path} does not exist; give a file or a folder of weights")
    for reader in READERS:
        if reader.can_read(path):
            return reader.read(path)
    raise UserError(f"{path} is in no format that is known here; docs/hub.md lists them")
