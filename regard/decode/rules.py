"""What may be said next, given what has been said. A rule changes scores and hands back new ones."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import UserError
from regard.special import STOP

# scores (R, V), written (R, T): the prompt and all made since, NOTHING at padding → scores (R, V); changes no argument
Rule: TypeAlias = Callable[[Tensor, Tensor], Tensor]

NOTHING = -1  # stands in `written` where no token is; only on the left


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How far writing goes: `limit` tokens at most, `stop` included, which ends it; and only what the rules leave."""

    limit: int
    stop: int = STOP
    rules: Sequence[Rule] = ()


def apply(rules: Sequence[Rule], scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
    """One rule after the other."""
    for rule in rules:
        scores = rule(scores, written)
    return scores


@dataclass(frozen=True)
class RepetitionPenalty:
    """The score s of every token written before becomes s / penalty, or s · penalty where it is negative.

    Above 1 repetition becomes less likely. Scores are taken as they come, so their zero matters: those of the model,
    not its log-probabilities, for the figures of Keskar et al. 2019.
    """

    penalty: float

    def __post_init__(self) -> None:
        if not 0 < self.penalty < math.inf:
            raise UserError(f"repetition penalty must be above 0, found {self.penalty}; 1 changes nothing")

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        said = written.where(written != NOTHING, written[:, -1:])  # the last one is a token, and said as well
        before = scores.gather(1, said)
        return scores.scatter(1, said, torch.where(before < 0, before * self.penalty, before / self.penalty))


@dataclass(frozen=True)
class NoRepeatedNgram:
    """No n tokens in a row occur twice: what followed the last n − 1 tokens before may not follow them again."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UserError(f"the length of an n-gram that may not repeat must be at least 1, found {self.n}")

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        if written.shape[1] < self.n:
            return scores
        grams = written.unfold(1, self.n, 1)  # (R, T − n + 1, n)
        last = written[:, None, written.shape[1] - self.n + 1 :]
        return forbid(scores, grams[..., -1].where((grams[..., :-1] == last).all(-1), NOTHING))


@dataclass(frozen=True)
class AtLeast:
    """No `stop` before `count` tokens stand behind the first `begin` of what is written."""

    count: int
    stop: int
    begin: int

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        if written.shape[1] - self.begin >= self.count:
            return scores
        return forbid(scores, written.new_full((len(written), 1), self.stop))


def forbid(scores: Float[Tensor, "R V"], tokens: Int[Tensor, "R N"]) -> Float[Tensor, "R V"]:
    """−∞ for these tokens of each row, NOTHING forbidding none."""
    forbidden = scores.new_zeros(len(scores), 1 + scores.shape[1], dtype=torch.bool)
    forbidden.scatter_(1, tokens - NOTHING, True)  # the first column is that of NOTHING
    return scores.masked_fill(forbidden[:, 1:], -math.inf)
