"""Wordings that answers must keep to: which of a search's continuations go on, so that some get there."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.decode.wording import Standing, Wording

SPARE = 8  # tokens looked at beside as many as are wanted, before all are


class Continuation(NamedTuple):
    """One token behind one row."""

    total: float  # the row's sum and the token's share
    row: int
    token: int


class Constraints:
    """Keeps how far every hypothesis has come, and shares a beam's places between those that came less and more far.

    The places go in turn to the best continuation with the fewest tokens left to say, with one more, and so on, so that
    the probable do not crowd out those that have said what must be said. (Post and Vilar 2018) Each row of a batch has
    its own wording, or none: then nothing here touches it.
    """

    def __init__(self, wordings: Sequence[Wording | None], prompts: Sequence[Sequence[int]]) -> None:
        self.rows: list[tuple[Wording, Standing] | None] = [
            (wording, wording.start(prompt)) if wording else None
            for wording, prompt in zip(wordings, prompts, strict=True)
        ]

    def best(
        self, ranked: Float[Tensor, "R V"], sums: NDArray[np.float64], places_left: Sequence[int], width: int
    ) -> dict[int, list[Continuation]]:
        """For each group with a wording as many continuations as it has places for."""
        before, each = sums.ravel().tolist(), sums.shape[1]
        found = {}
        for group, places in enumerate(places_left):
            rows = [row for row in range(group * each, (group + 1) * each) if before[row] > -math.inf]
            if self.rows[group * each] is not None:
                possible = [
                    (left, Continuation(before[row] + value, row, token))
                    for row in rows
                    for token, value, left in self._next(row, ranked[row], width)
                ]
                found[group] = _in_turn(possible, places)
        return found

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """These rows go on, each from a row before."""
        rows = [self.rows[row] for row in parents]
        self.rows = [
            row and (row[0], row[0].after(row[1], token) or row[1]) for row, token in zip(rows, tokens, strict=True)
        ]

    def met(self, row: int, token: int) -> bool:
        """Whether an answer may end in this row behind the token."""
        if (kept := self.rows[row]) is None:
            return True
        wording, standing = kept
        after = wording.after(standing, token)
        return after is not None and wording.may_end(after)

    def _next(self, row: int, ranked: Float[Tensor, " V"], width: int) -> Iterator[tuple[int, float, int]]:
        """The best tokens that may be said, as many as a beam is wide, and all wanted ones; and what is left then.

        Among them is one that loses nothing: where a phrase has just been said, the best that does not glue to it.
        """
        kept = self.rows[row]
        assert kept is not None
        wording, standing = kept
        said: set[int] = set()
        wanted, now = wording.wants(standing), wording.left(standing)
        kept_all = bool(wanted)
        for token, value in _downwards(ranked, width):
            if len(said) >= width and kept_all:
                break
            if (after := wording.after(standing, token)) is not None:
                left = wording.left(after)
                if len(said) < width or left <= now:
                    said.add(token)
                    kept_all = kept_all or left <= now
                    yield token, value, left
        for token in sorted(wanted - said):
            value, after = float(ranked[token]), wording.after(standing, token)
            if value > -math.inf and after is not None:
                yield token, value, wording.left(after)


def _downwards(ranked: Float[Tensor, " V"], width: int) -> Iterator[tuple[int, float]]:
    """Tokens that may follow and their values, the best first; all are sorted only where the first do not suffice."""
    size = len(ranked)
    few = min(width + SPARE, size)
    for count, begin in ((few, 0), (size, few)):
        if begin < count:
            values, tokens = (part.tolist()[begin:] for part in ranked.topk(count))
            yield from ((token, value) for token, value in zip(tokens, values, strict=True) if value > -math.inf)


def _in_turn(possible: list[tuple[int, Continuation]], places: int) -> list[Continuation]:
    banks: dict[int, list[Continuation]] = {}
    for left, one in sorted(possible, key=lambda pair: pair[1]):  # the best last
        banks.setdefault(left, []).append(one)
    order = [banks[left] for left in sorted(banks)]
    chosen: list[Continuation] = []
    while len(chosen) < min(places, len(possible)):
        chosen += [bank.pop() for bank in order if bank][: places - len(chosen)]
    return chosen


def replaced(
    parts: tuple[NDArray[Any], ...], found: dict[int, list[Continuation]], own: Float[Tensor, "R V"]
) -> tuple[NDArray[Any], ...]:
    """Sums, tokens, log p and rows (G, n) with these groups in their place, filled up with what has no chance."""
    widest = max(parts[0].shape[1], *map(len, found.values()))
    more = (0, 0), (0, widest - parts[0].shape[1])
    sums, tokens, parents = (
        np.pad(part, more, constant_values=filler)
        for part, filler in ((parts[0], -math.inf), (parts[1], 0), (parts[3], 0))
    )
    for group, several in found.items():
        rows = [*several, *[Continuation(-math.inf, 0, 0)] * (widest - len(several))]
        sums[group], parents[group], tokens[group] = zip(*rows, strict=True)
    return sums, tokens, own[parents, tokens].double().cpu().numpy(), parents
