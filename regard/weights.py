"""Weights in a file: tensors by name, what is to be known of them, and a checksum. Nothing in it is executed."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from regard.disk import read_tensors, write_tensors
from regard.errors import UserError

REMEDY = "restore it from a copy, or train again"
NOTHING: dict[str, Any] = {}


def save_weights(path: Path, tensors: dict[str, Tensor], about: Mapping[str, Any] = NOTHING) -> None:
    """Tensors and what is to be known of them, with a checksum over both: one file, so that they are never apart.

    One entry holds it all. The library writes several in any order, and equal weights should be equal files.
    """
    told = {**about, "checksum": _checksum(tensors, about)}
    write_tensors(path, tensors, {"about": json.dumps(told, sort_keys=True)})


def open_weights(path: Path, remedy: str = REMEDY) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `save_weights` wrote. Files from before there were checksums are taken as they are."""
    tensors, metadata = read_tensors(path, remedy)
    if "about" not in metadata:
        return tensors, dict(metadata)
    try:
        about = json.loads(metadata["about"])
        wanted = about.pop("checksum")
    except (ValueError, KeyError, AttributeError, TypeError):
        wanted = None
    if wanted is None or wanted != _checksum(tensors, about):
        raise UserError(f"{path} is damaged or was changed (its checksum is another one); {remedy}")
    return tensors, about


def _checksum(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """CRC-32 over everything: names, kinds, sizes and numbers."""
    found = zlib.crc32(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        found = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), found)
        found = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, found)
    return f"{found:08x}"


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a run, by name."""
    return weights_of(path)[0]


def about_weights(path: Path) -> dict[str, Any]:
    """What is known of the weights in a file, without reading them; nothing, if there are none."""
    try:
        with safe_open(path, "pt") as file:
            return dict(json.loads((file.metadata() or {}).get("about", "{}")))
    except (FileNotFoundError, SafetensorError, OSError, ValueError):
        return {}


def weights_of(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights of a run, by name, and what is known of them."""
    try:
        return open_weights(path)
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: this run has not been trained; run `regard train {path.parent}`"
        ) from None


def fill_some(model: nn.Module, path: Path) -> None:
    """Fills the parts of a model whose weights are in a file, and leaves the others as they are."""
    wanted = model.state_dict()
    fill(model, wanted | read_weights(path), path)


def fill(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Fills a model with weights that were in a file."""
    wanted = model.state_dict()
    for name in (*wanted, *tensors):
        if (found := tensors.get(name)) is None or (want := wanted.get(name)) is None or found.shape != want.shape:
            raise UserError(
                f"{path} does not fit the model in config.toml: {name} is {_size(tensors, name, 'missing')}, "
                f"wanted is {_size(wanted, name, 'none')}; put config.toml back, or take the weights of this run"
            )
    model.load_state_dict(tensors)


def _size(tensors: dict[str, Tensor], name: str, without: str) -> str:
    return " × ".join(map(str, tensors[name].shape)) or "one number" if name in tensors else without
