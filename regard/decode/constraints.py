"""Phrases that an answer must hold: which of a search's continuations go on, so that some get there."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Phrase = tuple[int, ...]
Progress = tuple[int, ...]  # how many tokens of each phrase stand at the end, or all of them once it has appeared


class Continuation(NamedTuple):
    """One token behind one row."""

    total: float  # the row's sum and the token's share
    row: int
    token: int


class Constraints:
    """Keeps every hypothesis's progress, and shares a beam's places between those that have come less and more far.

    The places go in turn to the best continuation with most tokens of the phrases, with one fewer, and so on, so that
    the probable do not crowd out those that have said what must be said. (Post and Vilar 2018)
    """

    def __init__(self, phrases: Sequence[Phrase], stop: int, rows: int) -> None:
        self.phrases, self.stop = tuple(phrases), stop
        self.progress: list[Progress] = [(0,) * len(self.phrases)] * rows

    def best(
        self, ranked: Float[Tensor, "R V"], sums: Float[Tensor, "G k"], places_left: Sequence[int], width: int
    ) -> list[list[Continuation]]:
        """For each group as many continuations as it has places for."""
        values, tokens = (part.tolist() for part in ranked.topk(min(width, ranked.shape[1])))
        before, each = sums.flatten().tolist(), sums.shape[1]
        found = []
        for group, places in enumerate(places_left):
            candidates: dict[tuple[int, int], Continuation] = {}
            for row in range(group * each, (group + 1) * each):
                if before[row] == -math.inf:
                    continue
                wanted = list(self._next(self.progress[row]))
                logs = ranked[row, wanted].tolist() if wanted else []
                for token, value in zip(tokens[row] + wanted, values[row] + logs, strict=True):
                    if value > -math.inf and not (token == self.stop and wanted):
                        candidates[row, token] = Continuation(before[row] + value, row, token)
            found.append(self._in_turn(list(candidates.values()), places))
        return found

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """These rows go on, each from a row before."""
        self.progress = [self._after(self.progress[row], token) for row, token in zip(parents, tokens, strict=True)]

    def met(self, row: int, token: int) -> bool:
        """Whether all phrases stand in this row once the token is there."""
        return not list(self._next(self._after(self.progress[row], token)))

    def _next(self, progress: Progress) -> Iterator[int]:
        """What each phrase that has not appeared wants to be said next."""
        return (phrase[done] for phrase, done in zip(self.phrases, progress, strict=True) if done < len(phrase))

    def _after(self, progress: Progress, token: int) -> Progress:
        return tuple(
            done if done == len(phrase) else done + 1 if token == phrase[done] else int(token == phrase[0])
            for phrase, done in zip(self.phrases, progress, strict=True)
        )

    def _in_turn(self, candidates: list[Continuation], places: int) -> list[Continuation]:
        banks: dict[int, list[Continuation]] = {}
        for one in sorted(candidates):  # the best last
            banks.setdefault(sum(self._after(self.progress[one.row], one.token)), []).append(one)
        order = [banks[said] for said in sorted(banks, reverse=True)]
        chosen: list[Continuation] = []
        while len(chosen) < min(places, len(candidates)):
            chosen += [bank.pop() for bank in order if bank][: places - len(chosen)]
        return chosen


def as_tensors(
    found: list[list[Continuation]], own: Float[Tensor, "R V"], width: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums, tokens, log p and rows as (G, n), filled up with what has no chance."""
    widest = min(width, max(1, max(map(len, found))))
    filler = Continuation(-math.inf, 0, 0)
    rows = [[*group, *[filler] * (widest - len(group))] for group in found]
    parents = torch.tensor([[one.row for one in group] for group in rows], device=own.device)
    tokens = torch.tensor([[one.token for one in group] for group in rows], device=own.device)
    sums = torch.tensor([[one.total for one in group] for group in rows], dtype=own.dtype, device=own.device)
    return sums, tokens, own[parents, tokens], parents
