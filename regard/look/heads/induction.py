"""Induction: in … A B … A, looking at what came after the first A; measured on random tokens that come twice."""

from typing import NamedTuple

import torch

from regard.errors import UserError
from regard.look.heads.profile import UNIFORM, Example, look_at, nats, uniform
from regard.models.model import Model
from regard.special import NAMES

LENGTH, ROWS = 50, 8


class Induction(NamedTuple):
    """Each head's score, that of uniform weights among them; and the loss in nats a token, first time and second."""

    scores: dict[str, float]
    first: float
    again: float


def induction(model: Model, vocabulary: int, *, length: int = LENGTH, rows: int = ROWS, seed: int = 0) -> Induction:
    """The mean weight from x_i, where it comes again, to what followed it the first time: a_{n+i, i+1}.

    The text is x_1 … x_n x_1 … x_n behind a start token, with x_i drawn at random, no two alike, so nothing but the
    text itself can say where to look. (Olsson et al. 2022, prefix matching)
    """
    length = min(length, vocabulary - len(NAMES))
    if length < 2:
        raise UserError(f"induction wants two tokens or more to draw from, found {length}")
    chance = torch.Generator().manual_seed(seed)
    sums: dict[str, float] = {}
    again = torch.arange(length + 1, 2 * length + 1)  # place 0 is the start token
    halves = []
    for _ in range(rows):
        drawn = (torch.randperm(vocabulary - len(NAMES), generator=chance)[:length] + len(NAMES)).tolist()
        example = Example(None, drawn + drawn)
        found = {str(unit): weights for unit, weights in look_at(model, example).items()}
        for name, weights in (found | {UNIFORM: uniform(example.visible)}).items():
            sums[name] = sums.get(name, 0.0) + weights[again, again - length + 1].mean().item()
        halves.append([value.item() for value in nats(model, [Example(None, drawn), example])])
    first, both = torch.tensor(halves).mean(0).tolist()
    return Induction({name: total / rows for name, total in sums.items()}, first / length, (both - first) / length)
