"""Beam search: the K most probable beginnings of every answer, carried on together."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.constraints import Constraints, replaced
from regard.decode.rules import NOTHING, Bounds, apply
from regard.decode.wording import Wording
from regard.errors import UserError
from regard.layers.state import State, select
from regard.models.feeding import Fed, Feed, found_by
from regard.models.model import Model


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

    sums: Tensor  # what each is ranked by, −∞: there is none
    tokens: Tensor
    logs: Tensor  # log p of the token
    parents: Tensor  # the row it continues


class Backpointers(NamedTuple):
    """What a step leaves behind: for each row that goes on its token, its log p, and the row of the step before."""

    tokens: list[int]
    logs: list[float]
    parents: list[int]


class Step(NamedTuple):
    """One step of a search as whoever watches it is told. R rows before it, G groups of k; K continuations each."""

    logs: Float[Tensor, "R V"]  # log p of every continuation of every row
    best: Candidates  # the continuations that were considered last
    ended: Bool[Tensor, "G K"]  # those that are answers now, unless their sum is −∞
    going: Int[Tensor, "g k"]  # those that are the rows of the next step, in its order


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
) -> Generator[Feed, Fed, list[list[Hypothesis]]]:
    """The same for whoever computes: says what is to be fed."""
    width, limit, stop, rules = search.beam, search.limit, search.stop, search.rules
    found = [Found(search.n_best) for _ in prompt]
    lines = list(range(len(prompt)))  # the search that each group of rows belongs to
    steps: list[Backpointers] = []
    constraints = Constraints(search.wordings, _said(prompt, keep)) if any(search.wordings) else None
    written = prompt if keep is None else prompt.where(keep, NOTHING)
    sums = torch.zeros(len(prompt), 1, device=prompt.device)  # (G, k)
    scores, state = yield Feed(prompt, state, keep)  # (G · k, V)
    for made in range(1, limit + 1):
        own = scores.log_softmax(-1)
        ranked = apply(rules, own, written) if rules else own
        places_left = [width - len(found[line].hypotheses) for line in lines]
        best = _continued(ranked, own, sums, places_left, width)
        if constraints and (instead := constraints.best(ranked, sums, places_left, width)):
            best = Candidates(*replaced(best, instead, own))
        sums = best.sums
        ended = (best.tokens == stop) | (made == limit)
        for row in (ended & (sums > -math.inf)).flatten().nonzero()[:, 0].tolist():
            if constraints and not constraints.met(int(best.parents.flatten()[row]), int(best.tokens.flatten()[row])):
                continue
            found[lines[row // sums.shape[1]]].hypotheses.append(_hypothesis(steps, best, row, search))
        sums = sums.masked_fill(ended, -math.inf)
        longest = max(search.length(made + 1), search.length(limit))
        over = [found[line].settled(top / longest) for line, top in zip(lines, sums.amax(1).tolist(), strict=True)]
        sums = sums.masked_fill(torch.tensor(over, device=sums.device)[:, None], -math.inf)
        rows = _going(sums)
        if watch:
            watch(Step(own, best, ended, rows))
        if not len(rows):
            break
        lines = [lines[group] for group in (rows[:, 0] // sums.shape[1]).tolist()]
        sums, tokens, logs, parents = (
            part.flatten().index_select(0, rows.flatten()) for part in best._replace(sums=sums)
        )  # (G · k,)
        sums = sums.view_as(rows)
        steps.append(Backpointers(tokens.tolist(), logs.tolist(), parents.tolist()))
        if constraints:
            constraints.follow(steps[-1].parents, steps[-1].tokens)
        if rules:
            written = torch.cat([written.index_select(0, parents), tokens[:, None]], 1)
        state = select(state, parents.view_as(rows))
        scores, state = yield Feed(tokens[:, None], state, group_size=rows.shape[1], beams=width)
    return [sorted(one.hypotheses, key=lambda hypothesis: -hypothesis.score) for one in found]


def _said(prompt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"] | None) -> list[list[int]]:
    """The tokens of each prompt, less its padding."""
    rows = prompt.tolist()
    kept = [[True] * len(row) for row in rows] if keep is None else keep.tolist()
    return [[token for token, real in zip(*both, strict=True) if real] for both in zip(rows, kept, strict=True)]


def _continued(ranked: Tensor, own: Tensor, sums: Tensor, places_left: list[int], width: int) -> Candidates:
    """The best continuations of every group: log p(y_1 … y_t) = log p(y_1 … y_{t−1}) + log p(y_t)."""
    groups, each = sums.shape
    values, tokens = top(ranked, min(width, own.shape[1]))  # (R, n)
    logs = values if ranked is own else own.gather(1, tokens)
    totals = (values + sums.view(-1, 1)).view(groups, -1)  # (G, k · n)
    best, places = totals.topk(min(width, totals.shape[1]))  # (G, K)
    first = torch.arange(0, groups * each, each, device=sums.device)[:, None]
    parents = places.div(tokens.shape[1], rounding_mode="floor") + first
    tokens, logs = (part.view(groups, -1).gather(1, places) for part in (tokens, logs))
    if min(places_left) < best.shape[1]:
        full = torch.arange(best.shape[1], device=best.device) >= torch.tensor(places_left, device=best.device)[:, None]
        best = best.masked_fill(full, -math.inf)
    return Candidates(best, tokens, logs, parents)


def top(scores: Float[Tensor, "R V"], count: int) -> tuple[Float[Tensor, "R n"], Int[Tensor, "R n"]]:
    """As `topk`, which sorts much more than it need: the best `count` lie in the `count` best of many short pieces."""
    piece = 64
    pieces = scores.shape[1] // piece
    if pieces < 2 * count:
        return scores.topk(count)
    whole = scores[:, : pieces * piece].unflatten(1, (pieces, piece))  # (R, V / 64, 64)
    where = whole.amax(2).topk(count).indices  # (R, n)
    places = (where[:, :, None] * piece + torch.arange(piece, device=scores.device)).flatten(1)  # (R, n · 64)
    rest = torch.arange(pieces * piece, scores.shape[1], device=scores.device).expand(len(scores), -1)
    places = torch.cat([places, rest], 1)
    values, chosen = scores.gather(1, places).topk(count)
    return values, places.gather(1, chosen)


def _going(sums: Float[Tensor, "G K"]) -> Int[Tensor, "g k"]:
    """Which hypotheses go on, by group, best first; as many of each group as any needs.

    A group that is over leaves once a quarter of them are: each time costs a copy of the others' states.
    """
    going = (sums > -math.inf).sum(1)
    groups = (going > 0).nonzero()[:, 0]
    if not len(groups):
        return sums.new_zeros(0, 0, dtype=torch.long)
    if 4 * len(groups) > 3 * len(sums):
        groups = torch.arange(len(sums), device=sums.device)
    order = sums[groups].argsort(dim=1, descending=True, stable=True)[:, : int(going.max())]
    return order + groups[:, None] * sums.shape[1]


def _hypothesis(steps: list[Backpointers], best: Candidates, row: int, search: BeamSearch) -> Hypothesis:
    """The continuation in one row, followed back to the prompt."""
    total, token, log, parent = (part.flatten()[row].item() for part in best)
    tokens, logs = [int(token)], [float(log)]
    for step in reversed(steps):
        tokens.append(step.tokens[int(parent)])
        logs.append(step.logs[int(parent)])
        parent = step.parents[int(parent)]
    finished = token == search.stop
    return Hypothesis(
        tokens[:0:-1] if finished else tokens[::-1], total / search.length(len(logs)), logs[::-1], finished
    )
