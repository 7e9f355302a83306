"""From pixels to regions: bodies of convolutions, and what makes a vector of each place in their grid.

A body turns (B, 3, Y, X) into (B, C, Y / stride, X / stride). The small ones learn from nothing; VGG-16 and ResNet-50
have the shapes of the published weights (see `pretrained`), as the body in `lite` has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float16, UInt8
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.dropout import Dropout
from regard.layers.position import Sinusoid

VGG_16 = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
RESNET_50 = ((64, 3), (128, 4), (256, 6), (512, 3))  # inner channels and blocks of each stage
PLACE_WIDTH = 32


class Scale(NamedTuple):
    """How colours come to a body: x = (pixel / 255 − mean) / deviation, of red, green and blue."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


PHOTOGRAPHS = Scale((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Over many photographs: what most published weights expect, and as good as any for new ones."""


class Body(nn.Module):
    """Stages of convolutions one after the other; `channels` numbers stand at each place of the last."""

    def __init__(
        self, stem: nn.Module, stages: Sequence[nn.Module], channels: int, stride: int, scale: Scale = PHOTOGRAPHS
    ) -> None:
        super().__init__()
        self.stem = stem
        self.stages = nn.ModuleList(stages)
        self.channels, self.stride = channels, stride
        for name, colours in scale._asdict().items():
            self.register_buffer(name, torch.tensor(colours)[:, None, None] * 255, persistent=False)

    def see(self, pixels: UInt8[Tensor, "B 3 Y X"]) -> Float[Tensor, "B C y x"]:
        """What it finds in pictures."""
        if min(pixels.shape[2:]) < self.stride:
            raise UserError(
                f"a picture must have at least {self.stride} pixels on each side for this model, "
                f"found {pixels.shape[3]} × {pixels.shape[2]}; raise [pictures] side"
            )
        found: Tensor = self((pixels - self.get_buffer("mean")) / self.get_buffer("deviation"))
        return found

    def forward(self, x: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B C y x"]:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return x


def convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """y = W ∗ x without a bias, for a norm follows; the picture keeps its size but for the stride."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


def group_norm(channels: int) -> nn.Module:
    """Norm within one picture: unlike a batch norm it is the same whatever else is in the batch. (Wu and He 2018)"""
    return nn.GroupNorm(max(groups for groups in (1, 2, 4, 8) if channels % groups == 0), channels)


class KnownNorm(nn.Module):
    """y = γ (x − μ) / √(σ² + ε) + β with the μ and σ of pre-training: a batch norm that stays in its test-time form.

    γ and β may be tuned; μ and σ never move, so a batch never changes an answer. (Ioffe and Szegedy 2015)
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, x: Float[Tensor, "B C y x"]) -> Float[Tensor, "B C y x"]:
        return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias)


class Residual(nn.Module):
    """y = relu(shortcut(x) + path(x)). (He et al. 2016)"""

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path, self.shortcut = path, shortcut

    def forward(self, x: Float[Tensor, "B C_in Y X"]) -> Float[Tensor, "B C y x"]:
        return F.relu(self.shortcut(x) + self.path(x))


def small_vgg(stages: int, channels: int) -> Body:
    """Two 3 × 3 convolutions, then the largest of each 2 × 2, again and again; as VGG, with norms to learn faster."""
    parts: list[nn.Module] = []
    inputs = 3
    for stage in range(stages):
        outputs = channels << stage
        convolutions: list[nn.Module] = []
        for reads in (inputs, outputs):
            convolutions += [convolution(reads, outputs, 3), group_norm(outputs), nn.ReLU()]
        parts.append(nn.Sequential(*convolutions, nn.MaxPool2d(2)))
        inputs = outputs
    return Body(nn.Identity(), parts, inputs, 2**stages)


def small_residual(stages: int, channels: int) -> Body:
    """A first convolution that halves the side, then one residual block a stage, each of which halves it again."""
    stem = nn.Sequential(convolution(3, channels, 5, 2), group_norm(channels), nn.ReLU())
    parts = [_basic(channels << stage, channels << (stage + 1)) for stage in range(stages - 1)]
    return Body(stem, parts, channels << (stages - 1), 2**stages)


def _basic(inputs: int, outputs: int) -> Residual:
    path = nn.Sequential(
        convolution(inputs, outputs, 3, 2), group_norm(outputs), nn.ReLU(),
        convolution(outputs, outputs, 3), group_norm(outputs),
    )  # fmt: skip
    return Residual(path, nn.Sequential(convolution(inputs, outputs, 1, 2), group_norm(outputs)))


def vgg_16() -> Body:
    """Configuration D: thirteen 3 × 3 convolutions in five stages; at 224 pixels, 7 × 7 regions of 512 numbers.

    (Simonyan and Zisserman 2015)
    """
    parts: list[nn.Module] = []
    inputs = 3
    for widths in VGG_16:
        layers: list[nn.Module] = []
        for outputs in widths:
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
            inputs = outputs
        parts.append(nn.Sequential(*layers, nn.MaxPool2d(2)))
    return Body(nn.Identity(), parts, inputs, 32)


def resnet_50() -> Body:
    """Sixteen bottlenecks in four stages; at 224 pixels, 7 × 7 regions of 2,048 numbers. (He et al. 2016)

    The stride is in the 3 × 3 convolution, as in the published weights.
    """
    stem = nn.Sequential(convolution(3, 64, 7, 2), KnownNorm(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
    parts: list[nn.Module] = []
    inputs = 64
    for stage, (inner, count) in enumerate(RESNET_50):
        blocks = [_bottleneck(inputs, inner, 1 if stage == 0 else 2)]
        inputs = 4 * inner
        blocks += [_bottleneck(inputs, inner, 1) for _ in range(count - 1)]
        parts.append(nn.Sequential(*blocks))
    return Body(stem, parts, inputs, 32)


def _bottleneck(inputs: int, inner: int, stride: int) -> Residual:
    outputs = 4 * inner
    path = nn.Sequential(
        convolution(inputs, inner, 1), KnownNorm(inner), nn.ReLU(),
        convolution(inner, inner, 3, stride), KnownNorm(inner), nn.ReLU(),
        convolution(inner, outputs, 1), KnownNorm(outputs),
    )  # fmt: skip
    if inputs == outputs:
        return Residual(path, nn.Identity())
    return Residual(path, nn.Sequential(convolution(inputs, outputs, 1, stride), KnownNorm(outputs)))


class Regions(nn.Module):
    """h_i = norm(W_2 φ(W_1 [f_i; p_i])): what a body says of place i, and where that is.

    p_i are the sinusoids of its row and of its column, so that a decoder can go through a picture from left to right.
    Shapes: (B, 3, Y, X) bytes → (B, S, D) with S = (Y / stride) · (X / stride), row by row from the top left.
    """

    def __init__(self, body: Body, width: int, dropout: float) -> None:
        super().__init__()
        self.body = body
        self.row, self.column = Sinusoid(PLACE_WIDTH // 2), Sinusoid(PLACE_WIDTH // 2)
        self.W_1, self.W_2 = nn.Linear(body.channels + PLACE_WIDTH, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)  # vectors of one length: attention tells them apart from the first step on
        self.dropout = Dropout(dropout)

    def forward(self, picture: UInt8[Tensor, "B 3 Y X"] | Float16[Tensor, "B C y x"]) -> Float[Tensor, "B S D"]:
        """Pixels, or what the body has found in them before."""
        seen = picture.dtype != torch.uint8
        found = picture.to(self.W_1.weight.dtype) if seen else self.body.see(picture)  # (B, C, y, x)
        regions = torch.cat([found.flatten(2).transpose(1, 2), self.places(found)], -1)  # (B, S, C + P)
        return self.dropout(self.norm(self.W_2(F.relu(self.W_1(regions)))))

    def places(self, found: Float[Tensor, "B C y x"]) -> Float[Tensor, "B S P"]:
        """p_i = [sinusoid(row of i); sinusoid(column of i)]."""
        batch, _, rows, columns = found.shape
        place = torch.arange(rows * columns, device=found.device)[None]  # (1, S)
        both = torch.cat([self.row(place // columns, rows), self.column(place % columns, columns)], -1)
        return both.to(found.dtype).expand(batch, -1, -1)
