"""Small files, written and read back, and what is said when they cannot be."""

import gzip
import lzma
from pathlib import Path

from regard.tasks import TASKS, held_in

read_texts, read_pairs, read_labelled, read_tagged = (TASKS[n].read for n in ("text", "pairs", "labels", "tags"))
PACKED = {"": lambda data: data, ".gz": gzip.compress, ".xz": lzma.compress}


def write(name: str, data: str | bytes) -> str:
    """Write a file, packed as its name says."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(PACKED.get(path.suffix, PACKED[""])(data))
    return name


def documents(where, split=None, skipped=None) -> list[str]:
    return ["".join(pieces) for pieces in read_texts(where, split, skipped)]


def pairs(where, split=None, skipped=None) -> list[tuple[str, str]]:
    return list(read_pairs(where, split, skipped))


def labelled(where, split=None, skipped=None) -> list[tuple[str, str]]:
    return list(read_labelled(where, split, skipped))


def kind_of(where, told=None, columns=()) -> str:
    """The name of the task that a corpus is for."""
    return held_in(where, TASKS[told] if told else None, columns).name
