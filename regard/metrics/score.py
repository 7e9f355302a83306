"""A figure of many examples: what each example adds to it, and how far it may be off by chance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

DRAWS = 1000
FEW = 10  # examples, or stretches of a text: fewer say too little of others
SEED = 12345  # sacrebleu's own: with it intervals of BLEU and chrF are to the last digit those that it prints
Z = 1.959964  # of 95 % in the middle of a normal distribution
LOWER_IS_BETTER = ("loss", "perplexity", "bits_per_byte", "error_rate")


class Interval(NamedTuple):
    """A confidence interval of 95 %: of a hundred test sets like this one, about 95 have theirs around the truth."""

    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """A figure that is a function of sums over examples, value = of(Σ_n parts_n), and the words to compare it by.

    So a thousand other draws of the examples cost a thousand sums, and nothing is answered twice.
    """

    parts: Float[np.ndarray, "N F"]
    of: Callable[[Float[np.ndarray, " F"]], float]
    signature: str = ""

    @property
    def value(self) -> float:
        return float(self.of(self.parts.sum(0)))

    def drawn(self) -> Float[np.ndarray, " R"]:
        """The figure over other draws of the examples (bootstrap): scores of the same examples meet the same."""
        return np.array([self.of(sums) for sums in draws(self.parts)])

    def interval(self) -> Interval | None:
        """By bootstrap (Efron 1979); None where there are too few examples to draw from."""
        return middle(self.drawn()) if len(self.parts) >= FEW else None


@dataclass(frozen=True)
class Hits(Score):
    """A score where each example is right or wrong as a whole: parts are (1 or 0, 1)."""

    @property
    def right(self) -> Bool[np.ndarray, " N"]:
        return self.parts[:, 0] > 0

    def interval(self) -> Interval | None:
        """Wilson's (1927), which holds for few examples and near 0 and 1 as well."""
        n = len(self.parts)
        if not n:
            return None
        p = self.right.mean()
        centre, around = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        ends = (max(0.0, centre - around) / (1 + Z**2 / n), min(1.0, (centre + around) / (1 + Z**2 / n)))  # rounding
        return Interval(*(float(self.of(np.array([end * n, n]))) for end in ends))


def share_right(right: Float[np.ndarray, " N"], asked: Float[np.ndarray, " N"], whole: float = 1.0) -> Score:
    """whole · Σ right / Σ asked, for examples that are asked once each, or several times."""
    kind = Hits if (asked == 1).all() else Score
    return kind(np.stack([right, asked], 1).astype(float), lambda sums: whole * sums[0] / max(sums[1], 1))


def draws(parts: Float[np.ndarray, "N F"]) -> Iterator[Float[np.ndarray, " F"]]:
    """Sums over as many examples as there are, each drawn anew from all of them, a thousand times."""
    random, count = np.random.default_rng(SEED), len(parts)
    for _ in range(DRAWS):
        yield np.bincount(random.choice(count, count), minlength=count) @ parts


def middle(values: Float[np.ndarray, " R"]) -> Interval:
    """What lies between the lowest and the highest fortieth."""
    ordered, cut = np.sort(values), len(values) // 40
    return Interval(float(ordered[cut]), float(ordered[-cut - 1]))
