"""The source of the Python that runs this: a few hundred files of real code that every reader already has."""

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from regard.data.examples import Split, own_split
from regard.errors import UserError

LARGEST = 1_000_000
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "lib2to3", "__pycache__"}
"""Not the library itself: what else is installed, and tests, some of them broken on purpose."""


def python_source(split: Split) -> Iterator[Iterator[str]]:
    """The standard library's modules as documents, by name. A module's name decides its split."""
    for name, path in _modules():
        if own_split(name) == split:
            try:
                text = path.read_bytes().decode("utf-8-sig")
            except (UnicodeDecodeError, OSError):
                continue
            yield iter([text])


def python_size() -> str:
    return f"{sum(path.stat().st_size for _, path in _modules()) / 1e6:.0f} MB of code"


def _modules() -> list[tuple[str, Path]]:
    """Names within the library, such as `json/decoder.py`, and where they are."""
    library = sysconfig.get_path("stdlib")
    modules = []
    for folder, inner, names in os.walk(library):
        inner[:] = [name for name in inner if name not in LEFT_OUT]  # not even looked into
        paths = [Path(folder, name) for name in names if name.endswith(".py")]
        modules += [
            (path.relative_to(library).as_posix(), path) for path in paths if 0 < path.stat().st_size <= LARGEST
        ]
    if not modules:
        raise UserError("the corpus 'python' wants the source of the standard library, and this Python has none")
    return sorted(modules)
