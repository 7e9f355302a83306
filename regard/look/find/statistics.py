"""How well a signal tells a label, for many signals at once, and whether that could be chance.

A signal is one number for each position (kept as float16), a unit's row in a matrix "U N". Every measure needs nothing
but its ranks: AUROC and Spearman's ρ are linear in them, so that all units under all moves of a label are one product.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float16, Float32, Int
from numpy.typing import NDArray

BINS = 8  # of a signal, where its information about classes is measured
FEW = 8192  # positions that are enough for it
FINE = 512  # bins of an AUROC under resampling
DRAWS = 500

Move: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Puts labels where they do not belong, for a null."""
AS_THEY_ARE: tuple[Move, ...] = (lambda labels: labels,)


def midranks(signals: Float16[np.ndarray, "U N"]) -> Float32[np.ndarray, "U N"]:
    """r = 1 + #smaller + ½ #others that are equal. float16 has 65,536 values: counting them is sorting."""
    bits = (signals + np.float16(0)).view(np.uint16)  # −0 has become 0
    order = np.where(bits >> 15, ~bits, bits | 0x8000)
    ranks = np.empty(signals.shape, np.float32)
    for unit, places in enumerate(order):
        counts = np.bincount(places, minlength=1 << 16)
        ranks[unit] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def moved(values: Float[np.ndarray, " N"], moves: Sequence[Move]) -> Float[np.ndarray, "S N"]:
    """The values as each move puts them."""
    return np.stack([move(values) for move in moves])


class Measure(ABC):
    """How well ranks tell these labels. `chance` is what a signal gets that has nothing to do with them."""

    name: str
    chance: float = 0.0
    labels: NDArray[Any]

    @property
    @abstractmethod
    def targets(self) -> Float[np.ndarray, "N C"]:
        """What has to be predicted, for a predictor by least squares."""

    @abstractmethod
    def scores(self, ranks: Float32[np.ndarray, "U N"], moves: Sequence[Move]) -> Float[np.ndarray, "S U"]:
        """Of every unit, with the labels as each move puts them."""

    @abstractmethod
    def tables(self, ranks: Float32[np.ndarray, " N"], block: Int[np.ndarray, " N"]) -> Float[np.ndarray, "blocks F"]:
        """What has to be summed over positions to score them, for each block of positions by itself."""

    @abstractmethod
    def from_tables(self, sums: Float[np.ndarray, "R F"]) -> Float[np.ndarray, " R"]:
        """The scores for such sums; not a number where they hold only one label."""

    def of_units(self, signals: Float16[np.ndarray, "U N"]) -> Float[np.ndarray, " U"]:
        return self.scores(midranks(signals), AS_THEY_ARE)[0]

    def of_prediction(self, predicted: Float[np.ndarray, "N C"]) -> float:
        """The score of a prediction of `targets`."""
        return float(self.of_units(predicted.T.astype(np.float16))[0])


class AUROC(Measure):
    """P(x_inside > x_outside) + ½ P(equal) = (Σ_inside r − n₁(n₁ + 1)/2) / (n₁ n₀): 1 and 0 tell all, ½ nothing."""

    name, chance = "AUROC", 0.5

    def __init__(self, labels: Bool[np.ndarray, " N"]) -> None:
        self.labels = labels
        self._pairs = float(labels.sum()) * float((~labels).sum())

    @property
    def targets(self) -> Float[np.ndarray, "N C"]:
        return self.labels[:, None].astype(float)

    def scores(self, ranks: Float32[np.ndarray, "U N"], moves: Sequence[Move]) -> Float[np.ndarray, "S U"]:
        number = len(self.labels)
        weights = moved((self.labels * (number / self._pairs)).astype(np.float32), moves)
        return self.chance + weights @ ((ranks - (number + 1) / 2) / np.float32(number)).T

    def tables(self, ranks: Float32[np.ndarray, " N"], block: Int[np.ndarray, " N"]) -> Float[np.ndarray, "blocks F"]:
        bins = ((ranks - 0.5) * (FINE / len(ranks))).astype(int)
        return _counts(block, self.labels * FINE + bins, 2 * FINE)

    def from_tables(self, sums: Float[np.ndarray, "R F"]) -> Float[np.ndarray, " R"]:
        outside, inside = sums[:, :FINE], sums[:, FINE:]
        below = np.cumsum(outside, 1) - outside / 2
        with np.errstate(invalid="ignore"):
            return (inside * below).sum(1) / (inside.sum(1) * outside.sum(1))


class Spearman(Measure):
    """ρ: the correlation of the ranks of the signal and of the label."""

    name = "Spearman"

    def __init__(self, labels: NDArray[Any]) -> None:
        _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
        self.labels = labels
        self._ranks = _standard((np.cumsum(counts) - (counts - 1) / 2)[places].astype(np.float32))

    @property
    def targets(self) -> Float[np.ndarray, "N C"]:
        return self._ranks[:, None].astype(float)

    def scores(self, ranks: Float32[np.ndarray, "U N"], moves: Sequence[Move]) -> Float[np.ndarray, "S U"]:
        return moved(self._ranks / np.float32(len(self.labels)), moves) @ _standard(ranks).T

    def tables(self, ranks: Float32[np.ndarray, " N"], block: Int[np.ndarray, " N"]) -> Float[np.ndarray, "blocks F"]:
        x, y = _standard(ranks).astype(float), self._ranks.astype(float)
        return np.stack([np.bincount(block, weights) for weights in (np.ones(len(x)), x, y, x * x, y * y, x * y)], 1)

    def from_tables(self, sums: Float[np.ndarray, "R F"]) -> Float[np.ndarray, " R"]:
        n, x, y, xx, yy, xy = sums.T
        with np.errstate(invalid="ignore", divide="ignore"):
            return (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))


class Information(Measure):
    """I(bin of the signal; class) / H(class): the share of what there is to know about the class, from 0 to 1.

    Eight bins of equal size; at most some thousand positions, evenly spread, since every move is counted out.
    """

    name = "information"

    def __init__(self, labels: NDArray[Any]) -> None:
        self.labels = labels
        self._classes, self._places = np.unique(labels, return_inverse=True)

    @property
    def targets(self) -> Float[np.ndarray, "N C"]:
        return np.eye(len(self._classes))[self._places]

    @cached_property
    def _step(self) -> int:
        return -(-len(self.labels) // FEW)

    def scores(self, ranks: Float32[np.ndarray, "U N"], moves: Sequence[Move]) -> Float[np.ndarray, "S U"]:
        bins = self._bins(ranks)[:, :: self._step]  # (U, n)
        there = (bins[:, None] == np.arange(BINS)[:, None]).astype(np.float32)  # (U, 8, n)
        found = np.empty((len(moves), len(ranks)))
        for place, move in enumerate(moves):
            there_now = move(self._places)[:: self._step]
            found[place] = information(
                np.swapaxes(there @ np.eye(len(self._classes), dtype=np.float32)[there_now], 1, 2)
            )
        return found

    def tables(self, ranks: Float32[np.ndarray, " N"], block: Int[np.ndarray, " N"]) -> Float[np.ndarray, "blocks F"]:
        return _counts(block, self._places * BINS + self._bins(ranks), len(self._classes) * BINS)

    def from_tables(self, sums: Float[np.ndarray, "R F"]) -> Float[np.ndarray, " R"]:
        return information(sums.reshape(len(sums), len(self._classes), BINS))

    def of_prediction(self, predicted: Float[np.ndarray, "N C"]) -> float:
        number = len(self._classes)
        table = np.bincount(self._places * number + predicted.argmax(1), minlength=number**2)
        return float(information(table.reshape(1, number, number).astype(float))[0])

    def _bins(self, ranks: Float32[np.ndarray, "*U N"]) -> Int[np.ndarray, "*U N"]:
        return ((ranks - 0.5) * (BINS / ranks.shape[-1])).astype(int)


def information(tables: Float[np.ndarray, "R C bins"]) -> Float[np.ndarray, " R"]:
    """I(X; Y) / H(Y) for tables of how often class y (rows) met bin x (columns)."""
    joint = tables / tables.sum((1, 2), keepdims=True)
    classes, bins = joint.sum(2, keepdims=True), joint.sum(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        mutual = np.where(joint > 0, joint * np.log(joint / (classes * bins)), 0).sum((1, 2))
        entropy = -np.where(classes > 0, classes * np.log(classes), 0).sum((1, 2))
        return mutual / entropy


def measure_for(labels: NDArray[Any]) -> Measure:
    """True or False: AUROC; numbers: Spearman's ρ; names: information."""
    if labels.dtype == bool:
        return AUROC(labels)
    return Spearman(labels) if np.issubdtype(labels.dtype, np.number) else Information(labels)


# ---- chance and intervals


def interval(
    measure: Measure, ranks: Float32[np.ndarray, " N"], block: Int[np.ndarray, " N"], seed: int
) -> tuple[float, float]:
    """95 % of the scores of texts made of blocks of this one, drawn with replacement. (Künsch 1989)"""
    number = int(block[-1]) + 1
    drawn = np.random.default_rng(seed).multinomial(number, [1 / number] * number, DRAWS)
    low, high = np.nanpercentile(measure.from_tables(drawn @ measure.tables(ranks, block)), [2.5, 97.5])
    return float(low), float(high)


def adjusted(chances: Sequence[float]) -> list[float]:
    """q_(i) = min_{j ≥ i} p_(j) n / j: the share of false findings if all with a smaller q are believed.

    (Benjamini and Hochberg 1995)
    """
    order = np.argsort(chances)
    scaled = np.asarray(chances)[order] * len(order) / np.arange(1, len(order) + 1)
    found = np.empty(len(order))
    found[order] = np.minimum(1, np.minimum.accumulate(scaled[::-1])[::-1])
    return found.tolist()


# ---- a signal as a detector


def average_precision(signal: Float[np.ndarray, " N"], labels: Bool[np.ndarray, " N"]) -> float:
    """Σ_k (R_k − R_{k−1}) P_k over all thresholds, from the highest down; by chance it is the base rate."""
    precision, recall, _ = _thresholds(signal, labels)
    return float((np.diff(recall, prepend=0) * precision).sum())


def best_threshold(signal: Float[np.ndarray, " N"], labels: Bool[np.ndarray, " N"]) -> float:
    """The value from which up the signal says "inside" with the highest F1."""
    precision, recall, values = _thresholds(signal, labels)
    return float(values[np.argmax(precision * recall / np.maximum(precision + recall, 1e-9))])


def f1(said: Bool[np.ndarray, " N"], labels: Bool[np.ndarray, " N"]) -> float:
    """2 · right / (said + true)."""
    return float(2 * (said & labels).sum() / max(1, said.sum() + labels.sum()))


def _thresholds(signal: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Precision and recall of "at least v" for each value v, from the highest down."""
    values, places = np.unique(-signal.astype(np.float32), return_inverse=True)
    said = np.cumsum(np.bincount(places))
    right = np.cumsum(np.bincount(places, labels))
    return right / said, right / max(1, labels.sum()), -values


def _standard(values: NDArray[Any]) -> NDArray[Any]:
    """Mean 0 and variance 1 along the last axis; a constant becomes 0."""
    centred = values - values.mean(-1, keepdims=True, dtype=float).astype(np.float32)
    spread = np.sqrt((centred * centred).mean(-1, keepdims=True))
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)


def _counts(block: NDArray[Any], values: NDArray[Any], number: int) -> NDArray[Any]:
    """How often each value from 0 to `number − 1` stands in each block."""
    blocks = int(block[-1]) + 1
    return np.bincount(block * number + values, minlength=blocks * number).reshape(blocks, number).astype(float)
