"""Mean ablation: the change of log p where a unit is held still, against other units like it; of a head, at zero."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.layers.tap import Listener
from regard.look.find.activations import Watcher
from regard.look.find.passages import Passage
from regard.look.patch import patch
from regard.look.units import Unit
from regard.models.model import Model

AT_ONCE = 8  # clamps side by side in a batch


class Clamp(NamedTuple):
    """A unit and the value that it is held at; a head adds nothing at 0."""

    unit: Unit
    value: float


class Effect(NamedTuple):
    """What holding a unit still does to log p (nats for each token) where its property matters."""

    change: float
    controls: float
    """The mean change for other units of the same tap whose variance is nearest."""
    beaten: int
    """How many of them lower log p less."""
    of: int

    @property
    def stands_out(self) -> bool:
        """It lowers log p, and more than nine in ten of the controls do."""
        return self.change < 0 and self.beaten >= 0.9 * self.of


def changes(model: Model, passage: Passage, clamps: Sequence[Clamp], watch: Watcher) -> Float[np.ndarray, "clamps N"]:
    """log p of what follows each token with each clamp, less that without. Several stand side by side in a batch."""
    found = []
    batches = [clamps[begin : begin + AT_ONCE] for begin in range(0, len(clamps), AT_ONCE)]
    for some in watch(batches, "holding units still", len(batches)):
        with patch(model, _side_by_side(some)):
            each = passage.logs_after(model, 1 + len(some))  # the first is left as it is
        found.append(each[1:] - each[:1])
    return np.concatenate(found)


def _side_by_side(clamps: Sequence[Clamp]) -> Mapping[str, Listener]:
    """Edits under which copy g of what is read, counted from 1, has clamp g alone."""
    by_path: dict[str, list[tuple[int, Clamp]]] = {}
    for copy, clamp in enumerate(clamps, 1):
        by_path.setdefault(clamp.unit.held_at, []).append((copy, clamp))
    edits: dict[str, Listener] = {}
    for path, members in by_path.items():
        numbers = torch.tensor([clamp.unit.number for _, clamp in members])
        held = torch.tensor([clamp.value for _, clamp in members])
        where = torch.tensor([copy for copy, _ in members]), numbers
        edits[path] = partial(_hold, members[0][1].unit, 1 + len(clamps), where, held)
    return edits


def _hold(unit: Unit, copies: int, where: tuple[Tensor, Tensor], held: Tensor, values: Tensor) -> Tensor:
    values = values.clone()
    copy, number = where
    rows = len(values) // copies
    lines = (copy[:, None] * rows + torch.arange(rows)).ravel()
    by_unit = unit.first(values)  # (B, D, T) or (B, H, T, L)
    many = held.to(values).repeat_interleave(rows).view(-1, *[1] * (by_unit.dim() - 2))
    by_unit[lines, number.repeat_interleave(rows)] = many
    return values


def effects(
    model: Model,
    passage: Passage,
    matters: Bool[np.ndarray, " N"],
    chosen: Mapping[Clamp, Sequence[Clamp]],
    watch: Watcher,
) -> dict[Clamp, Effect]:
    """The effect of each chosen clamp beside those of its controls, where the property occurs most.

    What is measured is how well that is expected which is said behind a token at which the property holds.
    """
    part, where = passage.dense(matters)
    every = list(dict.fromkeys([*chosen, *(control for controls in chosen.values() for control in controls)]))
    change = changes(model, part, every, watch)
    here = matters[where] & ~np.isnan(change[0])
    mean = dict(zip(every, change[:, here].mean(1).tolist(), strict=True))
    found = {}
    for clamp, controls in chosen.items():
        others = [mean[control] for control in controls]
        beaten = sum(mean[clamp] < other for other in others)
        found[clamp] = Effect(mean[clamp], float(np.mean(others)) if others else 0.0, beaten, len(others))
    return found
