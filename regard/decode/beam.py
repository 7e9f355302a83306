"""Beam search: the K most probable beginnings of every answer, carried on together."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.decode.constraints import Constraints, replaced
from regard.decode.rules import NOTHING, Bounds, apply
from regard.decode.wording import Wording
from regard.errors import UserError
from regard.layers.state import State, select
from regard.models.feeding import Feed, Rank, found_by
from regard.models.model import Model
from regard.models.ranking import Ranked, top


@dataclass(frozen=True, kw_only=True)
class BeamSearch(Bounds):
    """What a beam search is to find."""

    beam: int
    """K: how many hypotheses of each row are followed at once."""
    n_best: int = 1
    """How many answers must be settled, the best first."""
    length_penalty: float | Literal["average"] = 0.6
    """α of ((5 + n) / 6)^α, which divides Σ log p of n tokens: 0 prefers short answers; "average": n itself.

    (Wu et al. 2016)
    """
    wordings: Sequence[Wording | None] = ()
    """For each row what its answers must hold and must not, and there may be no answer then; none: nothing for any."""

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.beam:
            raise UserError(
                f"a beam must be at least as wide as the answers wanted ({self.n_best}), found {self.beam}; widen it"
            )

    def length(self, n: int) -> float:
        """What Σ log p of n tokens is divided by; it grows with n."""
        return n if self.length_penalty == "average" else float(((5 + n) / 6) ** self.length_penalty)


@dataclass(frozen=True)
class Hypothesis:
    """One answer."""

    tokens: list[int]
    """What was made after the prompt, without stop."""
    score: float
    """What answers are ranked by: Σ log p / length(n), with n tokens made, stop included."""
    logs: list[float]
    """log p of each token made, stop included where it was made."""
    finished: bool
    """Whether it ends in stop; else the limit cut it off."""


class Candidates(NamedTuple):
    """The best continuations of every group, best first, (G, n)."""

    sums: NDArray[np.float64]  # what each is ranked by, −∞: there is none
    tokens: NDArray[np.int64]
    logs: NDArray[np.float64]  # log p of the token
    parents: NDArray[np.int64]  # the row it continues


class Backpointers(NamedTuple):
    """What a step leaves behind: for each row that goes on its token, its log p, and the row of the step before."""

    tokens: list[int]
    logs: list[float]
    parents: list[int]


class Step(NamedTuple):
    """One step of a search as whoever watches it is told. R rows before it, G groups of k; K continuations each."""

    logs: Float[Tensor, "R V"]  # log p of every continuation of every row
    best: Candidates  # the continuations that were considered last
    ended: NDArray[np.bool_]  # (G, K): those that are answers now, unless their sum is −∞
    going: NDArray[np.int64]  # (g, k): those that are the rows of the next step, in its order


Watch: TypeAlias = Callable[[Step], None]


@dataclass
class Found:
    """What has been found for one row of the batch."""

    n_best: int
    hypotheses: list[Hypothesis] = field(default_factory=list)

    def settled(self, bound: float) -> bool:
        """Whether nothing that scores at most `bound` can change the hypotheses wanted."""
        best = sorted((hypothesis.score for hypothesis in self.hypotheses), reverse=True)[: self.n_best]
        return len(best) == self.n_best and best[-1] >= bound


@torch.inference_mode()
def beam(
    model: Model,
    prompt: Int[Tensor, "B T"],
    state: State,
    search: BeamSearch,
    *,
    keep: Bool[Tensor, "B T"] | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """For each row of the batch its answers, best first: at most `beam`, the first `n_best` of them settled.

    Of all continuations of K hypotheses the K best go on; one that stops takes one of the K places for good, so a beam
    of 1 is argmax. A search ends when its places are taken, or when what goes on can no longer win: a sum of log p only
    falls, so divided by the greatest length it can reach it bounds every score to come. Nothing better is missed.
    The prompt is read in one pass; `keep` is False at padding, which stands on the left. `watch` is told of each step.
    """
    return found_by(model, searching(prompt, state, search, keep, watch))


def searching(
    prompt: Int[Tensor, "B T"],
    state: State,
    search: BeamSearch,
    keep: Bool[Tensor, "B T"] | None = None,
    watch: Watch | None = None,
) -> Generator[Feed | Rank, Any, list[list[Hypothesis]]]:
    """The same for whoever computes: says what is to be fed."""
    width, limit, stop, rules = search.beam, search.limit, search.stop, search.rules
    found = [Found(search.n_best) for _ in prompt]
    lines = list(range(len(prompt)))  # the search that each group of rows belongs to
    steps: list[Backpointers] = []
    constraints = Constraints(search.wordings, _said(prompt, keep)) if any(search.wordings) else None
    written = prompt if keep is None else prompt.where(keep, NOTHING)
    every = bool(rules or constraints or watch)  # whether somebody looks at all continuations
    sums = np.zeros((len(prompt), 1))  # (G, k)
    scores, state = yield Feed(prompt, state, keep)  # (G · k, V)
    for made in range(1, limit + 1):
        ranked = yield Rank(scores, min(width, scores.shape[1]), every)
        own = ranked.every
        worth = apply(rules, own, written) if rules else own  # (G · k, V)
        places_left = [width - len(found[line].hypotheses) for line in lines]
        best = _continued(_behind(ranked, worth), sums, places_left, width)
        if constraints and (instead := constraints.best(worth, sums, places_left, width)):
            best = Candidates(*replaced(best, instead, own))
        ended = (best.tokens == stop) | (made == limit)
        for row in np.flatnonzero(ended & (best.sums > -math.inf)).tolist():
            if constraints and not constraints.met(best.parents.item(row), best.tokens.item(row)):
                continue
            found[lines[row // best.sums.shape[1]]].hypotheses.append(_hypothesis(steps, best, row, search))
        sums = np.where(ended, -math.inf, best.sums)
        longest = max(search.length(made + 1), search.length(limit))
        over = [found[line].settled(top / longest) for line, top in zip(lines, sums.max(1).tolist(), strict=True)]
        sums[over] = -math.inf
        rows = _going(sums)
        if watch:
            watch(Step(own, best, ended, rows))
        if not rows.size:
            break
        lines = [lines[group] for group in (rows[:, 0] // sums.shape[1]).tolist()]
        sums = sums.ravel()[rows]  # (G, k)
        tokens, logs, parents = (part.ravel()[rows.ravel()] for part in best[1:])  # (G · k,)
        steps.append(Backpointers(tokens.tolist(), logs.tolist(), parents.tolist()))
        if constraints:
            constraints.follow(steps[-1].parents, steps[-1].tokens)
        fed, kept = (torch.from_numpy(part).to(prompt.device) for part in (tokens[:, None], parents))
        if rules:
            written = torch.cat([written.index_select(0, kept), fed], 1)
        state = select(state, kept.view(rows.shape))
        scores, state = yield Feed(fed, state, group_size=rows.shape[1], beams=width)
    return [sorted(one.hypotheses, key=lambda hypothesis: -hypothesis.score) for one in found]


def _said(prompt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"] | None) -> list[list[int]]:
    """The tokens of each prompt, less its padding."""
    rows = prompt.tolist()
    kept = [[True] * len(row) for row in rows] if keep is None else keep.tolist()
    return [[token for token, real in zip(*both, strict=True) if real] for both in zip(rows, kept, strict=True)]


def _behind(ranked: Ranked, worth: Float[Tensor, "R V"] | None) -> tuple[NDArray[Any], ...]:
    """The best tokens behind every row (R, n): what each is ranked by, which it is, and its log p."""
    if worth is ranked.every:
        logs = _numbers(ranked.logs)
        return logs, ranked.tokens.cpu().numpy(), logs
    assert worth is not None
    assert ranked.every is not None
    values, tokens = top(worth, ranked.tokens.shape[1])
    return _numbers(values), tokens.cpu().numpy(), _numbers(ranked.every.gather(1, tokens))


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.double().cpu().numpy()


def _continued(
    behind: tuple[NDArray[Any], ...], sums: NDArray[np.float64], places_left: list[int], width: int
) -> Candidates:
    """The best continuations of every group: log p(y_1 … y_t) = log p(y_1 … y_{t−1}) + log p(y_t)."""
    values, tokens, logs = behind
    groups = len(sums)
    totals = (sums.reshape(-1, 1) + values).reshape(groups, -1)  # (G, k · n)
    order = (-totals).argsort(1, kind="stable")[:, :width]  # (G, K)
    places = order + totals.shape[1] * np.arange(groups)[:, None]
    best = totals.ravel()[places]
    if min(places_left) < best.shape[1]:
        best[np.arange(best.shape[1]) >= np.array(places_left)[:, None]] = -math.inf
    return Candidates(best, tokens.ravel()[places], logs.ravel()[places], places // values.shape[1])


def _going(sums: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which hypotheses go on (g, k), by group, best first; as many of each group as any needs.

    A group that is over leaves once a quarter of them are: each time costs a copy of the others' states.
    """
    going = (sums > -math.inf).sum(1)
    groups = np.flatnonzero(going)
    if 4 * len(groups) > 3 * len(sums):
        groups = np.arange(len(sums))
    order = (-sums[groups]).argsort(1, kind="stable")[:, : going.max()]
    return order + groups[:, None] * sums.shape[1]


def _hypothesis(steps: list[Backpointers], best: Candidates, row: int, search: BeamSearch) -> Hypothesis:
    """The continuation in one row, followed back to the prompt."""
    token, log, parent = best.tokens.item(row), best.logs.item(row), best.parents.item(row)
    tokens, logs = [token], [log]
    for step in reversed(steps):
        tokens.append(step.tokens[parent])
        logs.append(step.logs[parent])
        parent = step.parents[parent]
    finished = token == search.stop
    return Hypothesis(
        tokens[:0:-1] if finished else tokens[::-1],
        best.sums.item(row) / search.length(len(logs)),
        logs[::-1],
        finished,
    )
