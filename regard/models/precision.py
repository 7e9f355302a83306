"""Quantisation: which numbers weights are kept in for answering, once nothing is learnt any more.

One step multiplies few rows by every weight, so its time is the time to read the weights: fewer bytes, fewer seconds.
"""

import warnings

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import unknown
from regard.layers.embedding import BiasedTiedHead, Head, TiedHead
from regard.models.decoder import Decoder
from regard.models.model import Model

PRECISIONS = ("float32", "int8")
WORTH_IT = 1 << 15  # numbers; smaller matrices stay in the cache, and rounding their inputs costs more than it saves


class Int8(nn.Module):
    """y ≈ x Wᵀ + b with W_{o,i} = s_o · n_{o,i}, n whole numbers from −127 to 127, and x rounded to 8 bits as it comes.

    Each output has a scale s_o of its own. The product runs in whole numbers (torch's x86 and ARM kernels).
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scale = (weight.abs().amax(1) / 127).clamp(min=1e-9)
        bias = None if linear.bias is None else linear.bias.detach().float()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch announces another way of quantising for a later release
            whole = torch.quantize_per_channel(weight, scale.double(), torch.zeros_like(scale).long(), 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(whole, bias)
        # Older x86 processors add pairs of products in 16 bits: inputs of 7 bits do not overflow there.
        self.reduce_range = not torch.cpu._is_vnni_supported()

    def forward(self, x: Float[Tensor, "*positions D_in"]) -> Float[Tensor, "*positions D"]:
        return torch.ops.quantized.linear_dynamic(x, self.packed, self.reduce_range)

    @property
    def weight(self) -> Float[Tensor, "D D_in"]:
        """W as it is used, for kernels that read a whole sequence."""
        return torch.ops.quantized.linear_unpack(self.packed)[0].dequantize()

    @property
    def bias(self) -> Float[Tensor, " D"] | None:
        return torch.ops.quantized.linear_unpack(self.packed)[1]


class Transposed(nn.Module):
    """y = x W + b with W kept as (D_in, D): with one row, the long side is read fastest in one go."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.columns = nn.Parameter(linear.weight.detach().t().contiguous(), requires_grad=False)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)

    def forward(self, x: Float[Tensor, "*positions D_in"]) -> Float[Tensor, "*positions D"]:
        flat = x.flatten(0, -2)
        rows = torch.mm(flat, self.columns) if self.bias is None else torch.addmm(self.bias, flat, self.columns)
        return rows.view(*x.shape[:-1], rows.shape[1])

    @property
    def weight(self) -> Float[Tensor, "D D_in"]:
        return self.columns.t()


def with_precision(model: Model, precision: str) -> Model:
    """The model quantised and ready to answer: changed and handed back. It can no longer be trained."""
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    for module in list(model.modules()):
        if isinstance(module, Decoder) and isinstance(module.head, TiedHead):
            module.head = _untied(module)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, _kept(child, precision))
    return model.eval().requires_grad_(False)


def _kept(linear: nn.Linear, precision: str) -> nn.Module:
    if linear.weight.numel() < WORTH_IT:
        return linear
    if precision == "int8":
        return Int8(linear)
    if linear.out_features >= 2 * linear.in_features:
        return Transposed(linear)
    return linear


@torch.no_grad()
def _untied(decoder: Decoder) -> Head:
    """scores = (E W) h: a head with weights of its own, since nobody trains them together any more."""
    assert isinstance(decoder.head, TiedHead)
    table = decoder.embedding.lookup.weight
    weight = table if isinstance(decoder.head.W, nn.Identity) else table @ decoder.head.W.weight
    head = Head(weight.shape[1], weight.shape[0])
    head.W.weight.copy_(weight)
    if isinstance(decoder.head, BiasedTiedHead):
        head.W.bias.copy_(decoder.head.b)
    return head.to(weight.dtype)
