"""Is one better than the other, or was it chance? Two scores of the same examples, and figures of several seeds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from regard.metrics.score import Hits, Interval, Score, middle


class Apart(NamedTuple):
    """A difference, what it could be, and p: how often chance alone makes one as large where there is none."""

    value: float
    interval: Interval
    p: float
    test: str


def over_examples(ours: Sequence[Score], theirs: Sequence[Score]) -> Apart:
    """theirs − ours, each the mean of its seeds, over other draws of the same examples (paired bootstrap, Koehn 2004).

    p = (1 + #{|d_r − mean d| ≥ |d|}) / (1 + R): draws moved to where there is no difference (Riezler and Maxwell 2005).
    """
    value = np.mean([score.value for score in theirs]) - np.mean([score.value for score in ours])
    drawn = np.mean([score.drawn() for score in theirs], 0) - np.mean([score.drawn() for score in ours], 0)
    interval = middle(drawn)
    if len(ours) == len(theirs) == 1 and isinstance(ours[0], Hits) and isinstance(theirs[0], Hits):
        return Apart(float(value), interval, mcnemar(ours[0].right, theirs[0].right), "McNemar's exact test")
    as_far = np.abs(drawn - drawn.mean()) >= abs(value)
    return Apart(float(value), interval, (1 + int(as_far.sum())) / (1 + len(drawn)), "paired bootstrap")


def mcnemar(ours: Bool[np.ndarray, " N"], theirs: Bool[np.ndarray, " N"]) -> float:
    """2 P(X ≤ k) for X ~ binomial(n, ½): of the n examples that only one has right, k are the rarer one's. (1947)"""
    one, other = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    n, term, ways = one + other, 1, 0
    for k in range(min(one, other) + 1):
        ways += term
        term = term * (n - k) // (k + 1)  # the next binomial coefficient
    return float(min(1.0, 2 * ways / 2**n))


def over_seeds(ours: Sequence[float], theirs: Sequence[float]) -> Apart | None:
    """theirs − ours over trainings that differ by their seed (Welch's t-test, 1947); None: one seed is not enough."""
    if min(len(ours), len(theirs)) < 2:
        return None
    value = float(np.mean(theirs) - np.mean(ours))
    errors = [float(np.var(each, ddof=1)) / len(each) for each in (ours, theirs)]
    error = sum(errors)
    if not error:
        return Apart(value, Interval(value, value), float(not value), "Welch's t-test")
    freedom = error**2 / sum(one**2 / (len(each) - 1) for one, each in zip(errors, (ours, theirs), strict=True))
    around = student_quantile(0.975, freedom) * error**0.5
    p = student_tails(value / error**0.5, freedom)
    return Apart(value, Interval(value - around, value + around), p, "Welch's t-test")


class Spread(NamedTuple):
    """What several seeds came to."""

    mean: float
    deviation: float | None
    """Standard deviation; None for one seed."""
    interval: Interval | None
    """Of the mean, by Student's t (1908)."""


def spread_of(values: Sequence[float]) -> Spread:
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Spread(mean, None, None)
    deviation = float(np.std(values, ddof=1))
    around = student_quantile(0.975, n - 1) * deviation / n**0.5
    return Spread(mean, deviation, Interval(mean - around, mean + around))


def student_quantile(share: float, freedom: float) -> float:
    """Below which t this share of Student's distribution lies."""
    angle, mass = _student(freedom)
    return float(freedom**0.5 * np.tan(np.interp(share, mass, angle)))


def student_tails(t: float, freedom: float) -> float:
    """How much of Student's distribution is at least this far from 0, on both sides."""
    angle, mass = _student(freedom)
    return float(2 * np.interp(-np.arctan(abs(t) / freedom**0.5), angle, mass))


def _student(freedom: float) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """As a table: with t = √ν tan θ the density of θ is proportional to cos^(ν − 1) θ."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 100_001)
    density = np.cos(angle).clip(0) ** (freedom - 1)
    mass = np.append(0, np.cumsum(density[1:] + density[:-1]))
    return angle, mass / mass[-1]
