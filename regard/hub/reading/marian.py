"""A translator as Marian and Bergamot (Firefox) keep it: model….bin or .npz, its settings inside, its words beside.

A .bin holds, for n tensors: the version 1, n, then for each the lengths of name, type, shape and data; all names, all
shapes, a gap, all data. Every one of these lengths is held against the size of the file before it is believed.
"""

import mmap
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.errors import UserError
from regard.hub.package import Facts, Package, Tensors
from regard.hub.reading.json_files import read_table
from regard.hub.reading.npz import Npz, is_npz
from regard.hub.reading.sentencepiece import read_unigram

SETTINGS = "special:model.yml"
VERSION, MOST = 1, 100_000  # of the format; tensors in a file
FLOAT, EIGHT_BITS = 0x404, 0x4101  # types: 32-bit floats; whole numbers of 8 bits and their factor behind them


def can_read(path: Path) -> bool:
    found = _model_in(path)
    if found is None:
        return False
    if is_npz(found):
        return SETTINGS in Npz(found).names()
    with found.open("rb") as file:
        opening = file.read(16)
    return (
        len(opening) == 16 and struct.unpack("<QQ", opening)[0] == VERSION and struct.unpack("<QQ", opening)[1] <= MOST
    )


def read(path: Path) -> Package:
    """What the file holds; its words are in the same folder."""
    found = _model_in(path)
    assert found is not None
    tensors: Npz | Bin = Npz(found) if is_npz(found) else Bin(found)
    if SETTINGS not in tensors.names():
        raise UserError(f"{found} is damaged or no model of Marian's: it has no {SETTINGS}; fetch it again")
    facts = Facts(settings_in(bytes(tensors.array(SETTINGS)).decode(errors="replace")))
    return Package(str(found), "marian", "marian-native", facts, tensors, (found,), _words(found.parent))


def _model_in(path: Path) -> Path | None:
    """The file itself, or the only one of a folder that can be one."""
    if path.is_file():
        return path if path.suffix in (".bin", ".npz") else None
    found = [*path.glob("model*.bin"), *path.glob("model*.npz")]
    return found[0] if len(found) == 1 else None


def _words(folder: Path) -> dict[str, Any]:
    if (folder / "tokenizer.json").is_file():
        return read_table(folder / "tokenizer.json")
    found = sorted(folder.glob("*.spm"))
    if len(found) != 1:
        raise UserError(f"{folder} must hold the model's words, one .spm file for both languages, found {len(found)}")
    return read_unigram(found[0])


def settings_in(text: str) -> dict[str, Any]:
    """The settings of a model.yml: lines `key: value`, and lists of values below a key."""
    found: dict[str, Any] = {}
    key = ""
    for line in text.replace("\0", "").splitlines():
        if line.startswith(("  - ", "- ")):
            found[key] = [*(found[key] or []), _value(line.partition("- ")[2])]
        elif ": " in line or line.endswith(":"):
            key, _, value = line.partition(":")
            found[key] = _value(value.strip())
    return found


def _value(word: str) -> Any:
    if word in ("true", "false", "", "[]", '""'):
        return {"true": True, "false": False, "": None, "[]": [], '""': ""}[word]
    return int(word) if word.isdigit() else word


class Spot(NamedTuple):
    """Where a tensor's data is."""

    kind: int
    shape: tuple[int, ...]
    begin: int
    length: int


class Bin(Tensors):
    """The tensors of a .bin file by name, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._spots = dict(self._found())
        except (struct.error, ValueError, UnicodeDecodeError, OverflowError) as error:
            raise UserError(f"{path} is damaged or cut short ({error}); fetch it again") from None

    def names(self) -> Iterable[str]:
        return self._spots.keys()

    def read(self, name: str) -> Tensor:
        """In 32 bits. Matrices of 8 bits are kept with their columns as rows, the table of words is not."""
        spot, numbers = self._spots[name], self.array(name)
        if spot.kind == FLOAT:
            return torch.from_numpy(numbers.reshape(spot.shape))
        factor = struct.unpack_from("<f", self._data, spot.begin + prod(spot.shape))[0]
        if not 0 < factor < float("inf"):
            raise UserError(f"{self.path} is damaged at {name} (its numbers are divided by {factor}); fetch it again")
        whole = torch.from_numpy(numbers).float() / factor
        return whole.view(spot.shape) if name.endswith("Wemb") else whole.view(spot.shape[::-1]).t()

    def array(self, name: str) -> np.ndarray:
        """The numbers as they are kept."""
        spot = self._spots[name]
        kind = np.dtype("<f4") if spot.kind == FLOAT else np.dtype(np.int8)
        return np.frombuffer(self._data, kind, prod(spot.shape), spot.begin).copy()

    def _found(self) -> Iterator[tuple[str, Spot]]:
        data, size = self._data, len(self._data)
        version, number = struct.unpack_from("<QQ", data)
        if version != VERSION or number > min(MOST, size // 32):
            raise ValueError(f"{number} tensors of version {version}")
        heads = [struct.unpack_from("<QQQQ", data, 16 + 32 * place) for place in range(number)]
        at, names, shapes = 16 + 32 * number, [], []
        for length, *_ in heads:
            names.append(data[at : _within(at + length, size)].rstrip(b"\0").decode())
            at += length
        for _, _, axes, _ in heads:
            shapes.append(struct.unpack_from(f"<{_within(axes, 8)}i", data, at))
            at += 4 * axes
        often = Counter(names)
        at = _within(at + 8 + struct.unpack_from("<Q", data, at)[0], size)
        for name, (_, kind, _, length), shape in zip(names, heads, shapes, strict=True):
            if often[name] > 1 or min(shape, default=1) < 1:
                raise ValueError(f"{name} twice, or of shape {list(shape)}")
            wide = {FLOAT: 4 * prod(shape), EIGHT_BITS: prod(shape) + 4}.get(kind, prod(shape))
            _within(wide, length)
            yield name, Spot(kind, shape, at, length)
            at = _within(at + length, size)


def _within(value: int, most: int) -> int:
    if value > most:
        raise ValueError(f"{value} where at most {most} can be")
    return value
