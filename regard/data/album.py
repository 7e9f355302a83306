"""Pictures on the disk with the captions that belong to each, and how they change in training."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.config.pictures import Pictures
from regard.data.images import Pixels, changed, read_pictures
from regard.disk import write_with


@dataclass(frozen=True)
class Album:
    """N pictures. The captions of picture i are those from first[i] up to first[i + 1]."""

    pixels: Pixels  # (N, 3, side, side)
    first: NDArray[np.int64]  # (N + 1,)
    settings: Pictures

    def __len__(self) -> int:
        return len(self.pixels)

    def changed(self, pixels: Pixels, random: np.random.Generator) -> Pixels:
        return changed(pixels, self.settings, random)


def write_counts(path: Path, counts: list[int]) -> None:
    """How many captions each picture has, in `path`.counts."""
    write_with(path, lambda partial: partial.write_bytes(np.array(counts, np.int64).tobytes()))


def read_album(pixels: Path, counts: Path, settings: Pictures) -> Album:
    """What was written, without reading the pixels into memory."""
    first = np.concatenate([[0], np.cumsum(np.fromfile(counts, np.int64))]).astype(np.int64)
    return Album(read_pictures(pixels, settings.side), first, settings)
