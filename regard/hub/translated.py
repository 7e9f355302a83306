"""Tensors under other names, and in another order, than a file has them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from regard.hub.package import Tensors
from regard.hub.ways import Way


@dataclass(frozen=True)
class Translated:
    """Each tensor by its way from those of a file."""

    tensors: Tensors
    ways: Mapping[str, Way]

    def names(self) -> Iterable[str]:
        return self.ways.keys()

    def read(self, name: str) -> Tensor:
        return self.ways[name].read(self.tensors)
