"""Mean ablation: the change of log p where a unit is held still, against other units like it; of a head, at zero."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.tap import Listener
from regard.look.find.windows import walk
from regard.look.patch import patch
from regard.look.units import Unit
from regard.models.model import Model

ROWS, LENGTH = 4, 512  # stretches that are read again with each clamp
AT_ONCE = 16  # clamps side by side in a batch


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


def changes(
    model: Model, tokens: Int[Tensor, " N"], clamps: Sequence[Clamp], carry: bool
) -> Float[np.ndarray, "clamps N"]:
    """log p(token t) with each clamp, less log p without. Several clamped texts stand side by side in a batch."""
    rows = max(1, len(tokens) // LENGTH)
    assert len(tokens) % rows == 0
    found = []
    for begin in range(0, len(clamps), AT_ONCE):
        some = clamps[begin : begin + AT_ONCE]
        groups = 1 + len(some)  # the first is left as it is
        logs = torch.empty(groups * len(tokens))
        with patch(model, _side_by_side(some, rows)):
            pieces = walk(
                model, tokens.repeat(groups), [], carry=carry, rows=groups * rows, window=min(256, len(tokens) // rows)
            )
            for piece in pieces:
                logs[piece.place] = piece.logs
        each = logs.view(groups, len(tokens)).numpy()
        found.append(each[1:] - each[:1])
    return np.concatenate(found)


def _side_by_side(clamps: Sequence[Clamp], rows: int) -> Mapping[str, Listener]:
    """Edits under which group g of `rows` rows, counted from 1, has clamp g alone."""
    by_path: dict[str, list[tuple[int, Clamp]]] = {}
    for group, clamp in enumerate(clamps, 1):
        by_path.setdefault(clamp.unit.held_at, []).append((group, clamp))
    edits: dict[str, Listener] = {}
    for path, members in by_path.items():
        lines = torch.cat([torch.arange(group * rows, (group + 1) * rows) for group, _ in members])
        numbers = torch.tensor([clamp.unit.number for _, clamp in members]).repeat_interleave(rows)
        held = torch.tensor([clamp.value for _, clamp in members]).repeat_interleave(rows)

        edits[path] = partial(_hold, members[0][1].unit, (lines, numbers), held)
    return edits


def _hold(unit: Unit, where: tuple[Tensor, Tensor], held: Tensor, values: Tensor) -> Tensor:
    values = values.clone()
    by_unit = unit.first(values)  # (B, D, T) or (B, H, T, L)
    by_unit[where] = held.to(values).view(-1, *[1] * (by_unit.dim() - 2))
    return values


def densest(matters: Bool[np.ndarray, " N"], length: int, number: int = 1) -> Int[np.ndarray, " n"]:
    """The places of so many stretches of that length, or fewer, with most positions that matter; in order."""
    number = max(1, min(number, len(matters) // length))
    begins = np.arange(max(1, len(matters) // length)) * length
    counts = np.add.reduceat(matters[: begins[-1] + length].astype(int), begins)
    chosen = np.sort(begins[np.argsort(-counts, kind="stable")[:number]])
    return (chosen[:, None] + np.arange(min(length, len(matters)))).ravel()


def effects(
    model: Model,
    tokens: Int[Tensor, " N"],
    matters: Bool[np.ndarray, " N"],
    chosen: Mapping[Clamp, Sequence[Clamp]],
    carry: bool,
) -> dict[Clamp, Effect]:
    """The effect of each chosen clamp beside those of its controls, in the stretches where the property occurs most.

    Position t is where token t has been read, so what is measured there is how well token t + 1 is expected.
    """
    where = densest(matters, LENGTH, ROWS)
    every = list(dict.fromkeys([*chosen, *(control for controls in chosen.values() for control in controls)]))
    change = changes(model, tokens[torch.from_numpy(where)], every, carry)
    here = matters[where].reshape(-1, min(LENGTH, len(where)))[:, :-1]  # (rows, …): the last has nothing behind it
    after = change.reshape(len(every), len(here), -1)[:, :, 1:]
    mean = dict(zip(every, after[:, here].mean(1).tolist(), strict=True))
    found = {}
    for clamp, controls in chosen.items():
        others = [mean[control] for control in controls]
        beaten = sum(mean[clamp] < other for other in others)
        found[clamp] = Effect(mean[clamp], float(np.mean(others)) if others else 0.0, beaten, len(others))
    return found
