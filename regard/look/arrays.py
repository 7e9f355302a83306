"""Attention as labelled arrays: for every layer and head, from which token how much to which."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from regard.errors import UserError
from regard.layers.tap import layer_of
from regard.look.record import GROUPS, Record

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataArray

DIMS = ("layer", "head", "target", "source")


@dataclass(frozen=True)
class Weights:
    """The attention of one group, `weights[layer, head, target, source]`; NaN where a row was not allowed to look.

    `np.asarray` makes it an array; `to_xarray` and `to_pandas` one with these names, with the extra `arrays`.
    """

    weights: Float[np.ndarray, "L H T S"]
    layers: tuple[str, ...]
    rows: tuple[str, ...]
    """The tokens that looked: those fed, or, from a decoder to its source, those predicted."""
    columns: tuple[str, ...]
    """The tokens that were looked at."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.weights, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        named = ", ".join(f"{name} {size}" for name, size in zip(DIMS, self.weights.shape, strict=True))
        return f"Weights({named}: {' '.join(self.rows)} → {' '.join(self.columns)})"

    def to_xarray(self) -> "DataArray":
        """With the names of layers and tokens as coordinates. A token may come twice: choose by place with `isel`."""
        try:
            from xarray import DataArray
        except ImportError:
            raise _wanted("to_xarray", "xarray") from None
        return DataArray(self.weights, dict(zip(DIMS, self._names, strict=True)), DIMS, "attention")

    def to_pandas(self) -> "DataFrame":
        """A line for each weight, with the places and the names of what looked and was looked at."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise _wanted("to_pandas", "pandas") from None
        places = [place.ravel() for place in np.indices(self.weights.shape)]
        found = {"layer": np.asarray(self.layers)[places[0]], "head": places[1]}
        found |= {"target_place": places[2], "target": np.asarray(self.rows)[places[2]]}
        found |= {"source_place": places[3], "source": np.asarray(self.columns)[places[3]]}
        return DataFrame({**found, "weight": self.weights.ravel()})

    @property
    def _names(self) -> list[list[Any]]:
        return [list(self.layers), list(range(self.weights.shape[1])), list(self.rows), list(self.columns)]


def _wanted(method: str, package: str) -> UserError:
    return UserError(f"{method} wants {package}, which is not here; pip install 'regard[arrays]'")


def attention_of(record: Record) -> Mapping[str, Weights]:
    """Every attention there is, by its group: cross, self, encoder. What `regard look --view heads --save` writes."""
    there = [name for name in GROUPS if any(s.attention and s.group == name for s in record.seen.values())]
    return {name: _weights(record, name) for name in there or [""]}


def _weights(record: Record, group: str) -> Weights:
    layers = record.attention(group)
    first = next(iter(layers.values()))
    values = torch.stack([seen.values.masked_fill(seen.masked, torch.nan) for seen in layers.values()]).numpy()
    columns = record.sequences[first.columns].words[: values.shape[3]]
    return Weights(values, tuple(map(layer_of, layers)), tuple(record.row_words(first)), tuple(columns))
