"""How many rows may be computed together so that no row's numbers depend on how many they are."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.models.model import Model

BLOCK = 8  # rows: kernels treat those of a last, smaller block otherwise, on every processor that was tried


class RowCounts(NamedTuple):
    """The numbers of rows with which each of them gets the bits that it would get alone."""

    numbers: Sequence[int]
    """In ascending order; none: each search alone."""
    block: int = BLOCK
    """A group of beams has a multiple of so many rows."""

    def wide(self, beams: int) -> int:
        """How many rows a group of so many beams has."""
        return 1 if beams == 1 else -(-beams // self.block) * self.block

    def enough(self, rows: int) -> int:
        """The next number of rows that may be computed together."""
        return next(number for number in self.numbers if number >= rows)


@torch.inference_mode()
def steady(model: Model, most: int) -> RowCounts:
    """With how many rows each product of the model gives the same bits: all up to `most`, or some, or none.

    Torch's kernels differ from processor to processor, and share out rows among threads in their own ways: so this is
    tried, in the thread that will compute, for each shape of a product. Numbers of 8 bits pass nowhere there: their
    scale is that of all rows together. Where each row is added up by itself nothing need be tried.
    """
    if model.row_by_row:
        return RowCounts(range(1, most + 1), block=1)
    wanted = _sizes(most)
    generator = torch.Generator().manual_seed(0)
    tried = set()
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if not isinstance(weight, Tensor) or weight.dim() != 2 or isinstance(module, nn.Embedding):
            continue
        shape = type(module), tuple(weight.shape), getattr(module, "bias", None) is None
        if shape not in tried:
            tried.add(shape)
            x = torch.randn(wanted[-1] if wanted else BLOCK, weight.shape[1], generator=generator)
            wanted = _agreeing(module, x.to(next(iter(module.parameters()), x).dtype), wanted)
    return RowCounts(wanted if wanted and wanted[-1] >= most else [])


def _sizes(most: int) -> list[int]:
    """8, 16, 24, 32, 48, 64, 96, 128, …: as many as there may be, and each at most half as large again as needed."""
    found, step = [BLOCK], BLOCK
    while found[-1] < most:
        step = step * 2 if found[-1] >= 4 * step else step
        found.append(found[-1] + step)
    return found


def _agreeing(module: nn.Module, x: Tensor, sizes: Sequence[int]) -> list[int]:
    """With which of these numbers of rows each is as it is in its block alone, wherever in the block it stands."""
    alone = torch.cat([module(block) for block in x.split(BLOCK)])
    turned = torch.cat([module(block.roll(3, 0)).roll(-3, 0) for block in x.split(BLOCK)])
    if not torch.equal(alone, turned):
        return []
    return [size for size in sizes if torch.equal(module(x[:size]), alone[:size])]
