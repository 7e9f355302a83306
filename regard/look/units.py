"""Single cells and heads by name, and what it takes to hold one still.

A cell is one number at a tap with axes "B T D" (or F): `layer.layers.0.cells[17]`. A head is one of the H of an
attention layer, by that layer's path: `layer.blocks.0.self_attention[3]`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from regard.errors import UserError, unknown
from regard.layers.tap import Listener, layer_of
from regard.look.trace import Trace


class Unit(NamedTuple):
    """One cell or one head."""

    path: str
    number: int
    head: bool = False

    def __str__(self) -> str:
        return f"{self.path}[{self.number}]"

    @property
    def read_at(self) -> str:
        """The path of the tap that shows it: a head by its weights a_{t,i}."""
        return f"{self.path}.weights" if self.head else self.path

    @property
    def held_at(self) -> str:
        """The path of the tap at which it is held still: a head by what it mixes, Σ_i a_{t,i} v_i."""
        return f"{self.path}.mixed" if self.head else self.path

    def first(self, values: Tensor) -> Tensor:
        """A view of what passes where it is held, the axis of units behind that of rows: (B, D, T) or (B, H, T, L)."""
        return values if self.head else values.transpose(1, 2)


def cells_in(seen: Trace) -> dict[str, int]:
    """Every tap of cells that was heard, and how many there are at it."""
    return {
        path: seen.calls[path][0].shape[-1]
        for path in seen
        if seen.taps[path].axes in (["B", "T", "D"], ["B", "T", "F"])
    }


def heads_in(seen: Trace) -> dict[str, int]:
    """Every attention layer whose weights were heard, and how many heads it has; one that mixes nothing has none."""
    return {
        layer_of(path): seen.calls[path][0].shape[1]
        for path in seen
        if seen.taps[path].role == "weights" and Unit(layer_of(path), 0, True).held_at in seen.taps
    }


def units_in(seen: Trace) -> list[Unit]:
    """Every cell and every head that was heard."""
    cells = [Unit(path, number) for path, count in cells_in(seen).items() for number in range(count)]
    return cells + [Unit(path, number, True) for path, count in heads_in(seen).items() for number in range(count)]


def unit_named(name: str, seen: Trace) -> Unit:
    """The unit that somebody means by `path[number]`."""
    heads = heads_in(seen)
    path, number = place_named(name, cells_in(seen) | heads)
    return Unit(path, number, path in heads)


def place_named(name: str, counts: Mapping[str, int]) -> tuple[str, int]:
    """What `path[number]` means where each path has so many units."""
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if not match:
        example = next(iter(counts), "layer.layers.0.hidden")
        raise UserError(f"a unit is written path[number], found '{name}'; for example {example}[0]")
    path, number = match[1], int(match[2])
    if path not in counts:
        raise unknown("unit", path, counts)
    if number >= counts[path]:
        raise UserError(f"{path} has units 0 to {counts[path] - 1}, found {number}")
    return path, number


def clamped(unit: Unit, value: float = 0.0) -> Mapping[str, Listener]:
    """Edits for `patch`: a cell that always says `value`; a head that adds `value` to the sum, nothing if it is 0."""

    def held(values: Tensor) -> Tensor:
        values = values.clone()
        unit.first(values)[:, unit.number] = value
        return values

    return {unit.held_at: held}
