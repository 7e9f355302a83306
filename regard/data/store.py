"""Tokens on the disk: sequences of any number, memory-mapped, so that a text larger than memory can be trained on."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.disk import write_with
from regard.errors import UserError, counted

TYPES = (np.uint16, np.int32)  # of a token: small vocabularies take two bytes


class Store:
    """Sequences of tokens in two files: all tokens in a row, and where each sequence ends."""

    def __init__(self, tokens: NDArray[np.integer], ends: NDArray[np.int64]) -> None:
        self.tokens = tokens
        self.ends = ends

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.tokens[self.ends[index - 1] if index else 0 : self.ends[index]]

    def at(self, places: Sequence[int]) -> "Store":
        """Some of the sequences."""
        return self if len(places) == len(self) else gather([self[place] for place in places])

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.ends, prepend=0)

    def cut(self, place: int) -> tuple["Store", "Store"]:
        """All tokens before a place and all after it, each as one sequence."""
        left, right = self.tokens[:place], self.tokens[place:]
        return Store(left, np.array([len(left)])), Store(right, np.array([len(right)]))


def write(path: Path, sequences: Iterable[Sequence[int]], vocabulary: int) -> None:
    """`path`.tokens and `path`.ends, written as the sequences come: they need not fit in memory together."""
    kind = TYPES[vocabulary > 2**16]
    ends: list[int] = []
    total = 0

    def pour(partial: Path) -> None:
        nonlocal total
        with partial.open("wb") as file:
            for sequence in sequences:
                file.write(np.asarray(sequence, dtype=kind).tobytes())
                total += len(sequence)
                ends.append(total)

    write_with(path.with_suffix(".tokens"), pour)
    write_with(path.with_suffix(".ends"), lambda partial: partial.write_bytes(np.array(ends, np.int64).tobytes()))


def read(path: Path) -> Store:
    """What `write` wrote, without reading it into memory. The size of its file says how many bytes a token has."""
    tokens, ends = path.with_suffix(".tokens"), np.fromfile(path.with_suffix(".ends"), np.int64)
    total = int(ends[-1]) if len(ends) else 0
    if not total:
        return Store(np.zeros(0, np.uint16), ends)
    found = next((kind for kind in TYPES if tokens.stat().st_size == total * np.dtype(kind).itemsize), None)
    if found is None:
        raise UserError(
            f"{tokens} is damaged: it wants {counted(total, 'token')}; delete {path.parent} and train again"
        )
    return Store(np.memmap(tokens, found, "r"), ends)


def gather(sequences: Sequence[Sequence[int] | NDArray[np.integer]]) -> Store:
    """Sequences in memory."""
    tokens = np.concatenate([np.asarray(sequence, np.int32) for sequence in sequences])
    return Store(tokens, np.cumsum([len(sequence) for sequence in sequences]))
