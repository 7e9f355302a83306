"""What `torch.save` wrote, by torch's own reader of tensors alone: anything else in a pickle is refused, never run."""

import pickle
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import UserError

ZIP, PICKLE = b"PK\x03\x04", b"\x80"
WRAPPINGS = ("_orig_mod.", "module.")  # what torch.compile and data parallelism put before every name


def is_pickle(path: Path) -> bool:
    """By its first byte, or as torch keeps one inside a zip file."""
    with path.open("rb") as file:
        first = file.read(4096)
    return first.startswith(PICKLE) or (first.startswith(ZIP) and b"data.pkl" in first)


def load_pickle(path: Path) -> Any:
    """Tensors and plain values, as they were saved. A file that would need anything else is refused."""
    _check_archive(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it may not know: what it does not know, it refuses
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        named = str(error).partition("GLOBAL ")[2].split(" ")[0]
        what = f" ({named})" if named else ""
        raise UserError(
            f"{path} is a pickle with more than tensors in it{what}, which could run code, and is not read; "
            "save the state dict alone, or as safetensors"
        ) from None
    except Exception as error:  # torch's reader raises whichever error a broken file comes to
        said = " ".join(str(error).split())[:120]
        raise UserError(f"{path} is damaged ({said}); fetch it again") from None


def _check_archive(path: Path) -> None:
    """No part of a zip file is larger than the file: torch packs nothing."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(ZIP)) != ZIP:
            return
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again") from None
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts) or sum(p.file_size for p in parts) > size:
        raise UserError(f"{path} is a zip file that torch did not write; save the model as safetensors")


class StateDict:
    """Tensors by name, of a file that is read already."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        self._tensors: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            if tensor.layout != torch.strided or tensor.numel() * tensor.element_size() > _stored(tensor):
                raise UserError(f"{path}: tensor {name} is no plain array of numbers; save it as one")
            for wrapping in WRAPPINGS:
                name = name.removeprefix(wrapping)
            if name in self._tensors:
                raise UserError(f"{path} holds tensor {name} twice, once as it was wrapped; save one of them")
            self._tensors[name] = tensor.detach()

    def names(self) -> Iterable[str]:
        return self._tensors.keys()

    def read(self, name: str) -> Tensor:
        return self._tensors[name]


def _stored(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        return -1


def state_dict(found: Any, path: Path) -> StateDict:
    """The tensors of a checkpoint: all it is, or what it keeps under a usual name."""
    for key in ("model", "state_dict", "model_state_dict"):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
            break
    whole = (
        isinstance(found, dict)
        and bool(found)
        and all(isinstance(name, str) and isinstance(value, Tensor) for name, value in found.items())
    )
    if not whole:
        raise UserError(f"{path} holds no state dict, tensors by name; save model.state_dict()")
    return StateDict(found, path)
