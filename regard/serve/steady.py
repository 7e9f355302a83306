"""Whether a row's numbers depend on how many others are computed with it."""

import torch
from torch import Tensor, nn

from regard.models.model import Model
from regard.serve.batch import ROWS

MANY = 8 * ROWS


@torch.inference_mode()
def steady(model: Model) -> bool:
    """Whether every product of the model gives a row the same bits alone among `ROWS` as among many.

    Kernels differ from processor to processor, so this is tried. Numbers of 8 bits never pass: their scale is that of
    all rows together. A model that fails is answered one search at a time.
    """
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    found = all(_steady(module) for module in model.modules() if _product(module))
    torch.random.set_rng_state(state)
    return found


def _product(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.dim() == 2 and not isinstance(module, nn.Embedding)


def _steady(module: nn.Module) -> bool:
    assert isinstance(module.weight, Tensor)
    x = torch.randn(MANY, module.weight.shape[1])
    x = x.to(next(iter(module.parameters()), x).dtype)
    whole = module(x)
    return all(
        torch.equal(module(x[first : first + size]), whole[first : first + size])
        for size in (ROWS, 3 * ROWS)
        for first in range(0, MANY - size, ROWS)
    )
