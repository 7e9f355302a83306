"""EfficientNet-Lite0: a body for small processors, whose published weights come as a package. (Tan and Le 2019)

The lite variants leave squeeze-and-excitation out and have ReLU6 for swish. The batch norms of pre-training are folded
into the convolutions before them (see `pretrained`), so there are none here.
"""

import math

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.vision import Body, Scale

STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Of each: blocks, side of the convolution, stride of the first, how many times wider inside, channels."""
FIRST, LAST = 32, 1280
SCALE = Scale((127 / 255,) * 3, (128 / 255,) * 3)


class SameConvolution(nn.Conv2d):
    """y = W ∗ x + b, ⌈size / stride⌉ places on each side; of the zeros around, an odd one stands behind.

    So TensorFlow pads, where the weights were learnt; with a stride it is another grid than that of equal zeros.
    """

    def __init__(self, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, size, stride, groups=groups)

    def forward(self, x: Float[Tensor, "B C_in Y X"]) -> Float[Tensor, "B C y x"]:
        zeros: list[int] = []
        for places, size, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True):
            missing = max((math.ceil(places / stride) - 1) * stride + size - places, 0)
            zeros += [missing // 2, missing - missing // 2]
        return super().forward(F.pad(x, zeros))


class Inverted(nn.Module):
    """y = x + W_3 φ(W_2 ∗ φ(W_1 x)), narrow outside and wide inside, with φ(x) = min(max(x, 0), 6).

    W_1 and W_3 go from channels to channels at each place, W_2 from place to place within each channel. x is added
    where y has its shape. (MBConv: Sandler et al. 2018)
    """

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, times: int) -> None:
        super().__init__()
        inner = times * inputs
        self.widen = nn.Sequential(SameConvolution(inputs, inner, 1), nn.ReLU6()) if times > 1 else nn.Identity()
        self.apart = nn.Sequential(SameConvolution(inner, inner, size, stride, groups=inner), nn.ReLU6())
        self.narrow = SameConvolution(inner, outputs, 1)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Float[Tensor, "B C_in Y X"]) -> Float[Tensor, "B C y x"]:
        y = self.narrow(self.apart(self.widen(x)))
        return x + y if self.adds else y


def lite_0() -> Body:
    """Sixteen blocks in seven stages, then 1,280 numbers for each place; at 224 pixels, 7 × 7 regions."""
    parts: list[nn.Module] = []
    inputs = FIRST
    for count, size, stride, times, outputs in STAGES:
        blocks = [Inverted(inputs, outputs, size, stride, times)]
        blocks += [Inverted(outputs, outputs, size, 1, times) for _ in range(count - 1)]
        parts.append(nn.Sequential(*blocks))
        inputs = outputs
    parts.append(nn.Sequential(SameConvolution(inputs, LAST, 1), nn.ReLU6()))
    return Body(nn.Sequential(SameConvolution(3, FIRST, 3, 2), nn.ReLU6()), parts, LAST, 32, SCALE)
