"""Arrays in an .npz file, each length held against what the file has. Nothing in it is unpickled."""

import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import UserError

MAGIC = b"PK\x03\x04"
HEADER = 1 << 16  # bytes in which an array says what it is, at most
TIGHTEST = 1000  # no array of weights is packed to a thousandth


def is_npz(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC and any(_names(path))


def _names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []


class Npz:
    """Arrays by name, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names = _names(path)
        if len(set(self._names)) < len(self._names):
            raise UserError(f"{path} holds an array twice; fetch it again")

    def names(self) -> Iterable[str]:
        return self._names

    def read(self, name: str) -> Tensor:
        return torch.from_numpy(self.array(name))

    def array(self, name: str) -> np.ndarray:
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as file:
                told = archive.getinfo(f"{name}.npy")
                if told.file_size > TIGHTEST * max(1, told.compress_size):
                    raise ValueError("it would be a thousand times as large unpacked")
                version = np.lib.format.read_magic(file)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                shape, by_columns, kind = header(file, max_header_size=HEADER)
                if kind.hasobject or prod(shape) * kind.itemsize > told.file_size:
                    raise ValueError(f"an array of {list(shape)} {kind} is not in it")
                flat = np.frombuffer(file.read(prod(shape) * kind.itemsize), kind)
                return flat.reshape(shape, order="F" if by_columns else "C").copy()
        except Exception as error:  # numpy's reader of a header raises whichever error a broken one comes to
            raise UserError(
                f"{self.path} is damaged at {name} ({' '.join(str(error).split())}); fetch it again"
            ) from None
