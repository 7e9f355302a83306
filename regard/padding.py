"""Rows of different length in one batch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.special import STOP


def padded(
    rows: Sequence[Sequence[int] | NDArray[np.integer]], filler: int = STOP
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows of different length as one matrix, filled up on the right, and which of its cells are real."""
    shape = len(rows), max(map(len, rows))
    filled, keep = np.full(shape, filler, np.int64), np.zeros(shape, bool)
    for i, row in enumerate(rows):
        filled[i, : len(row)], keep[i, : len(row)] = row, True
    return torch.from_numpy(filled), torch.from_numpy(keep)
