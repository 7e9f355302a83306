"""Low-rank adaptation (LoRA): a large matrix learns by a product of two thin ones beside it."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.attention import Attention
from regard.layers.block import FeedForward

SCALE = 2.0  # α / r: how much the change counts, whatever its rank


class LowRank(nn.Module):
    """y = W x + b + 2 B A x, where W and b stay as they are and only A (r, D_in) and B (D, r) learn. (Hu et al. 2021)

    B begins as zeros, so that training begins with the model as it was.
    """

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.down = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.normal_(self.down, std=1 / math.sqrt(linear.in_features))

    def forward(self, x: Float[Tensor, "*positions D_in"]) -> Float[Tensor, "*positions D"]:
        return F.linear(x, self.weight, self.bias) + SCALE * F.linear(F.linear(x, self.down), self.up)


def adapt(model: nn.Module, rank: int) -> int:
    """Freezes a model and gives each matrix of its attention and feed-forward parts a change that learns; how many."""
    model.requires_grad_(False)
    owners = [module for module in model.modules() if isinstance(module, Attention | FeedForward)]
    found = [(owner, name, one) for owner in owners for name, one in owner.named_children() if type(one) is nn.Linear]
    for owner, name, linear in found:
        setattr(owner, name, LowRank(linear, rank))
    return len(found)


@torch.no_grad()
def merged(model: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """W + 2 B A in the place of W, A and B: the weights of the model as it was before `adapt`."""
    tensors = dict(tensors)
    for path, module in model.named_modules():
        if isinstance(module, LowRank):
            change = tensors.pop(f"{path}.up") @ tensors.pop(f"{path}.down")
            tensors[f"{path}.weight"] = tensors[f"{path}.weight"] + SCALE * change
    return tensors
