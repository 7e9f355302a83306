"""How many rows may be computed together so that no row's numbers depend on how many they are."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from regard.models.model import Model

BLOCK = 8  # rows: kernels treat those of a last, smaller block otherwise, on every processor that was tried


@torch.inference_mode()
def steady(model: Model, most: int) -> list[int]:
    """The numbers of rows, up to `most` or a little more, with which each product of the model gives the same bits.

    Kernels differ from processor to processor, and share out rows among threads in their own ways: so this is tried, in
    the thread that will compute, for each shape of a product. Numbers of 8 bits pass nowhere: their scale is that of
    all rows together. None where not so many may be.
    """
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
    return wanted if wanted and wanted[-1] >= most else []


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


def rounded(rows: int, sizes: Iterable[int]) -> int:
    """The next number of rows that may be computed together."""
    return next(size for size in sizes if size >= rows)
