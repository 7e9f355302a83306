"""The n-gram control: what the last n characters alone say of a label. A unit that knows no more remembers nothing."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int, UInt64

from regard.look.find.statistics import Measure, measure_for

LONGEST = 8
TRUST = 4  # so many cases of a context weigh as much as what its shorter one says
MIX = np.uint64(0x9E3779B97F4A7C15)


LAST = tuple(range(0, -LONGEST, -1))
AROUND = (0, *(sign * far for far in range(1, LONGEST) for sign in (-1, 1)))[:LONGEST]


def contexts(text: str, places: Int[np.ndarray, " N"], offsets: Sequence[int] = LAST) -> list[UInt64[np.ndarray, " N"]]:
    """A number for the first 1, 2, … characters at these offsets from each place: the same where they are the same."""
    letters = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    ids = np.unique(letters, return_inverse=True)[1].astype(np.uint64) + np.uint64(1)
    whole, power = np.zeros(len(ids), np.uint64), np.uint64(1)
    found = []
    for offset in offsets:
        to, of = (
            (slice(-offset, None), slice(len(ids) + offset)) if offset <= 0 else (slice(-offset), slice(offset, None))
        )
        whole[to] += ids[of] * power
        found.append(whole[places].copy())
        with np.errstate(over="ignore"):
            power = power * MIX
    return found


def predictions(
    known: list[UInt64[np.ndarray, " N"]], targets: Float[np.ndarray, "N C"], asked: list[UInt64[np.ndarray, " M"]]
) -> Iterator[Float[np.ndarray, "M C"]]:
    """p_k(y | c) = (Σ_{t: c_t = c} y_t + m p_{k−1}(y | c)) / (n_c + m), for k = 1, 2, …; an unknown c: p_{k−1}."""
    before = np.repeat(targets.mean(0, keepdims=True), len(targets), 0)
    answer = np.repeat(before[:1], len(asked[0]), 0)
    for codes, wanted in zip(known, asked, strict=True):
        values, first, places, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(places, column) for column in targets.T], 1)
        means = (sums + TRUST * before[first]) / (counts[:, None] + TRUST)
        nearest = np.searchsorted(values, wanted).clip(max=len(values) - 1)
        answer = np.where((values[nearest] == wanted)[:, None], means[nearest], answer)
        before = means[places]
        yield answer


def last_characters(
    first: tuple[Measure, list[UInt64[np.ndarray, " N"]]], held_out: tuple[Measure, list[UInt64[np.ndarray, " M"]]]
) -> tuple[float, int]:
    """The held-out score of the best prediction from the last k characters, and k.

    Counted on the first part; k is what predicts its second half best from its first.
    """
    measure, codes = first
    half = len(measure.labels) // 2
    front, back = [code[:half] for code in codes], [code[half:] for code in codes]
    judge = measure_for(measure.labels[half:])
    tried = [judge.of_prediction(found) for found in predictions(front, measure.targets[:half], back)]
    best = int(np.argmax(np.nan_to_num(tried, nan=-1.0)))
    *_, answer = predictions(codes[: best + 1], measure.targets, held_out[1][: best + 1])
    return held_out[0].of_prediction(answer), best + 1
