"""A GGUF file: facts, then tensors. (llama.cpp: docs/gguf.md) No length in it is believed before it is checked."""

import struct
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from regard.errors import UserError
from regard.hub.reading.quantised import KINDS, Kind, Raw

MAGIC = b"GGUF"
VERSIONS = (2, 3)
NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
TEXT, LIST = 8, 9
DEEP, DIMENSIONS = 2, 4  # lists within lists, axes of a tensor: no file has more


class Place(NamedTuple):
    """Where a tensor is."""

    shape: tuple[int, ...]
    kind: Kind
    begin: int


class GGUFFile:
    """Facts by name, and tensors by name, which are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: Raw = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
        self._length, self._at = len(self._data), 0
        if self._take(4) != MAGIC:
            raise self._broken("it does not begin with GGUF")
        version = self._number("I")
        if version not in VERSIONS:
            raise UserError(f"{path} is of GGUF version {version}; take one of {' or '.join(map(str, VERSIONS))}")
        tensors, facts = self._count(24), self._count(13)  # bytes that one of each takes at least
        self.facts: dict[str, Any] = {}
        for _ in range(facts):
            name = self._text()
            if name in self.facts:
                raise self._broken(f"{name} is there twice")
            self.facts[name] = self._value(self._number("I"))
        places = [self._place() for _ in range(tensors)]
        align = self.facts.get("general.alignment", 32)
        if not isinstance(align, int) or not 1 <= align <= 1 << 20:
            raise self._broken(f"general.alignment is {align}")
        first = -(-self._at // align) * align
        self._places: dict[str, Place] = {}
        for name, place in places:
            if name in self._places:
                raise self._broken(f"tensor {name} is there twice")
            begin = first + place.begin
            if begin + self._size(place) > self._length:
                raise self._broken(f"tensor {name} ends behind the end of the file")
            self._places[name] = place._replace(begin=begin)
        self._data = self._data[:0].copy()

    def names(self) -> Iterable[str]:
        return self._places.keys()

    def read(self, name: str) -> Tensor:
        place = self._places[name]
        raw = np.fromfile(self.path, np.uint8, self._size(place), offset=place.begin)  # the map would keep its pages
        if len(raw) < self._size(place):
            raise self._broken("it has become shorter")
        with np.errstate(all="ignore"):  # what is not finite is for whoever asked to judge
            return place.kind.plain(raw.reshape(-1, place.kind.size)).reshape(place.shape)

    def _place(self) -> tuple[str, Place]:
        name, number = self._text(), self._number("I")
        if number > DIMENSIONS:
            raise self._broken(f"tensor {name} has {number} axes")
        sizes = [self._number("Q") for _ in range(number)]
        kind, begin = self._number("I"), self._number("Q")
        if kind not in KINDS:
            *others, last = (each.name for each in KINDS.values())
            known = f"{', '.join(others)} or {last}"
            raise UserError(f"{self.path}: tensor {name} is kept in kind {kind}; take the model in {known}")
        if not all(sizes) or prod(sizes) > 8 * self._length or (sizes or [1])[0] % KINDS[kind].numbers:
            raise self._broken(f"tensor {name} cannot have {' × '.join(map(str, sizes))} numbers")
        return name, Place(tuple(reversed(sizes)), KINDS[kind], begin)  # the last axis is named first

    def _size(self, place: Place) -> int:
        return prod(place.shape) // place.kind.numbers * place.kind.size

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        if kind == TEXT:
            return self._text()
        if kind != LIST or depth == DEEP:
            raise self._broken(f"a value is of kind {kind}")
        inner = self._number("I")
        if inner in NUMBERS:
            form = NUMBERS[inner]
            number = self._count(struct.calcsize(form))
            return list(struct.unpack(f"<{number}{form}", self._take(number * struct.calcsize(form))))
        return [self._value(inner, depth + 1) for _ in range(self._count(8))]

    def _text(self) -> str:
        return self._take(self._count(1)).decode(errors="replace")

    def _count(self, least: int) -> int:
        """How many things follow, each of at least so many bytes."""
        number = self._number("Q")
        if number * least > len(self._data) - self._at:
            raise self._broken(f"{number} things are named at byte {self._at - 8}, and so many cannot follow")
        return number

    def _number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self._take(struct.calcsize(form)))[0]

    def _take(self, number: int) -> bytes:
        if number > len(self._data) - self._at:
            raise self._broken("it ends too early")
        self._at += number
        return self._data[self._at - number : self._at].tobytes()

    def _broken(self, why: str) -> UserError:
        return UserError(f"{self.path} is damaged: {why}; fetch it again")
