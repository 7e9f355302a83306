"""Pictures: how they are made ready, and what reads them."""

from dataclasses import dataclass
from typing import Literal

from regard.config.settings import Settings, at_least, fraction
from regard.errors import UserError

PRETRAINED = ("vgg16", "resnet50")


@dataclass(frozen=True)
class Pictures(Settings):
    """What becomes of a picture before a model reads it. Only captions have pictures."""

    folder: str = ""
    """Where the pictures are that captions name; left out, the folder of the caption file."""
    side: int = at_least(8, 64)
    """Pixels on each side: the shorter side becomes so long, and the middle square is kept."""
    shift: float = fraction(0.05)
    """In training: how far, as a part of its side, a picture is moved at random."""
    colour: float = fraction(0.1)
    """In training: by which part its brightness and contrast change at random."""
    flip: bool = False
    """In training: mirror half of the pictures. Not where captions say left or right."""


@dataclass(frozen=True)
class Vision(Settings):
    """Reads a picture: convolutions, then one vector for each region of a grid."""

    kind: Literal["vgg", "residual", "vgg16", "resnet50"] = "residual"
    """Small ones that learn from nothing: vgg, residual. Large ones that want `weights`: vgg16, resnet50."""
    width: int = at_least(1, 256)
    """D: how many numbers stand for each region."""
    stages: int = at_least(1, 3)
    """How often a small body halves the picture's side: 3 makes 8 × 8 regions of 64 × 64 pixels."""
    channels: int = at_least(1, 32)
    """Numbers at each place after a small body's first stage; every stage doubles them."""
    dropout: float = fraction(0.1)
    """Which part of a region's numbers is set to zero in training."""
    weights: str = ""
    """A file with a large body's weights, as torchvision saves them (.pth) or the same names in .safetensors."""
    frozen: bool = False
    """Leave the body as its weights have it, and learn only what reads the regions."""

    def check(self) -> None:
        if self.kind in PRETRAINED and not self.weights:
            raise UserError(
                f"kind '{self.kind}' is too large to learn from few pictures and wants weights = FILE, found none; "
                "name a file, or use kind 'residual'"
            )
        if self.kind not in PRETRAINED and self.weights:
            raise UserError(f"weights are for kind {' or '.join(PRETRAINED)}, found kind '{self.kind}'; leave them out")
        if self.frozen and not self.weights:
            raise UserError("frozen keeps a body as its weights have it, and there are none; leave it out")
