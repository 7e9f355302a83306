"""Pictures on the disk with the captions that belong to each, and how they change in training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from regard.config.pictures import Pictures
from regard.data.images import Picture, Pixels, read_pictures
from regard.disk import write_with


@dataclass(frozen=True)
class Album:
    """N pictures. The captions of picture i are those from first[i] up to first[i + 1]."""

    pictures: Picture  # (N, 3, side, side) bytes, or (N, C, y, x) as frozen eyes have found them
    first: NDArray[np.int64]  # (N + 1,)
    settings: Pictures

    def __len__(self) -> int:
        return len(self.pictures)

    def changed(self, pictures: Picture, random: np.random.Generator) -> Picture:
        """As they come in training: what was seen once stays as it was seen."""
        seen = pictures.dtype != np.uint8
        return pictures if seen else changed(cast(Pixels, pictures), self.settings, random)


def write_counts(path: Path, counts: list[int]) -> None:
    """How many captions each picture has, in `path`.counts."""
    write_with(path, lambda partial: partial.write_bytes(np.array(counts, np.int64).tobytes()))


def read_album(pictures: Path, counts: Path, settings: Pictures, found: Sequence[int] = ()) -> Album:
    """What was written, without reading the pictures into memory; `found`: the shape of what eyes find in one."""
    first = np.concatenate([[0], np.cumsum(np.fromfile(counts, np.int64))]).astype(np.int64)
    return Album(read_pictures(pictures, settings.side, found), first, settings)


def changed(pixels: Pixels, settings: Pictures, random: np.random.Generator) -> Pixels:
    """Each picture (B, 3, Y, X) moved, brightened and mirrored a little, as chance has it: all of it from `random`.

    x' = mean + (1 + c) (x − mean) + 255 b, with c and b up to ± colour. What a move leaves empty, the edge fills.
    """
    count, _, side, _ = pixels.shape
    # Always the same number of draws, so that one setting does not change what another does.
    move = np.rint(random.uniform(-settings.shift, settings.shift, (count, 2)) * side).astype(int)
    contrast, brightness = random.uniform(-settings.colour, settings.colour, (2, count, 1, 1, 1))
    mirrored = random.random((count, 1, 1, 1)) < 0.5
    after: Pixels = pixels
    if settings.shift:
        places = np.arange(side)
        rows = np.clip(places + move[:, :1], 0, side - 1)[:, None, :, None]  # (B, 1, Y, 1)
        columns = np.clip(places + move[:, 1:], 0, side - 1)[:, None, None, :]  # (B, 1, 1, X)
        pictures, colours = np.arange(count)[:, None, None, None], np.arange(3)[None, :, None, None]
        after = after[pictures, colours, rows, columns]
    if settings.colour:
        mean = after.mean((1, 2, 3), keepdims=True)
        after = np.clip(np.rint(mean + (1 + contrast) * (after - mean) + 255 * brightness), 0, 255).astype(np.uint8)
    if settings.flip:
        after = np.where(mirrored, after[..., ::-1], after)
    return after
