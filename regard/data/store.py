"""Tokens on the disk: sequences of any number, memory-mapped, so that a text larger than memory can be trained on."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.disk import write_with


class Store:
    """Sequences of tokens in two files: all tokens in a row, and where each sequence ends."""

    def __init__(self, tokens: NDArray[np.integer], ends: NDArray[np.int64]) -> None:
        self.tokens = tokens
        self.ends = ends

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.tokens[self.ends[index - 1] if index else 0 : self.ends[index]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.ends, prepend=0)

    def cut(self, place: int) -> tuple["Store", "Store"]:
        """All tokens before a place and all after it, each as one sequence."""
        left, right = self.tokens[:place], self.tokens[place:]
        return Store(left, np.array([len(left)])), Store(right, np.array([len(right)]))


def write(path: Path, sequences: Iterable[Sequence[int]], vocabulary: int) -> None:
    """`path`.tokens and `path`.ends, written as the sequences come: they need not fit in memory together."""
    ends: list[int] = []
    total = 0

    def pour(partial: Path) -> None:
        nonlocal total
        with partial.open("wb") as file:
            for sequence in sequences:
                file.write(np.asarray(sequence, dtype=_type(vocabulary)).tobytes())
                total += len(sequence)
                ends.append(total)

    write_with(path.with_suffix(".tokens"), pour)
    write_with(path.with_suffix(".ends"), lambda partial: partial.write_bytes(np.array(ends, np.int64).tobytes()))


def read(path: Path, vocabulary: int) -> Store:
    """What `write` wrote, without reading it into memory."""
    ends = np.fromfile(path.with_suffix(".ends"), np.int64)
    if not len(ends) or not ends[-1]:
        return Store(np.zeros(0, _type(vocabulary)), ends)
    return Store(np.memmap(path.with_suffix(".tokens"), _type(vocabulary), "r"), ends)


def _type(vocabulary: int) -> type[np.integer]:
    return np.uint16 if vocabulary <= 2**16 else np.int32


def gather(sequences: Sequence[Sequence[int]]) -> Store:
    """The same in memory."""
    tokens = np.concatenate([np.asarray(sequence, np.int32) for sequence in sequences])
    return Store(tokens, np.cumsum([len(sequence) for sequence in sequences]))
