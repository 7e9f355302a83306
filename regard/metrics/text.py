"""How close a text is to what was wanted, in numbers that others can compare: each says exactly which one it is."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from regard.metrics.score import Score, share_right

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric  # whoever only answers need not wait for it


def perplexity(nats_per_token: float) -> float:
    """exp(loss): among how many equally likely tokens the model still hesitates."""
    return math.exp(min(nats_per_token, 700.0))


def bits_per_byte(nats: float, size: float) -> float:
    """Σ −log₂ p over the bytes of the text: the same scale whatever a token is."""
    return nats / math.log(2) / max(size, 1)


def bleu(outputs: Sequence[str], references: Sequence[str], cased: bool = True) -> Score:
    """BLEU by sacrebleu with its defaults, or all of it in lower case."""
    return bleu_of_several(outputs, [[reference] for reference in references], cased=cased)


def chrf(outputs: Sequence[str], references: Sequence[str], cased: bool = True) -> Score:
    """chrF2 by sacrebleu with its defaults, or all of it in lower case."""
    return chrf_of_several(outputs, [[reference] for reference in references], cased)


def bleu_of_several(
    outputs: Sequence[str], references: Sequence[Sequence[str]], order: int = 4, cased: bool = True
) -> Score:
    """BLEU-n, of n-grams of up to `order` words, where each output may be like any of several references."""
    from sacrebleu import BLEU

    # force: spaces around marks are nothing unusual
    return _by_sacrebleu(BLEU(lowercase=not cased, max_ngram_order=order, force=True), outputs, references)


def chrf_of_several(outputs: Sequence[str], references: Sequence[Sequence[str]], cased: bool = True) -> Score:
    """chrF2, of each output the best over its references."""
    from sacrebleu import CHRF

    return _by_sacrebleu(CHRF(lowercase=not cased), outputs, references)


def _by_sacrebleu(metric: "Metric", outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Its `corpus_score`, which also counts for each line by itself and sums: with these counts at hand."""
    parts = metric._extract_corpus_statistics(list(outputs), _streams(references))
    signature = str(metric.get_signature())
    return Score(np.array(parts, float), lambda sums: metric._compute_score_from_stats(sums.tolist()).score, signature)


def _streams(references: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """sacrebleu's shape: all first references, all second ones, and so on; None where there is none."""
    return [list(each) for each in zip_longest(*references)]


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Which share, in per cent, is right as a whole."""
    right = np.array([output == reference for output, reference in zip(outputs, references, strict=True)], float)
    return share_right(right, np.ones_like(right), 100)


def error_rate(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Word (or phoneme) errors: the fewest changes, insertions and deletions over the number of words wanted."""
    pairs = [(output.split(), reference.split()) for output, reference in zip(outputs, references, strict=True)]
    parts = [(edit_distance(output, reference), len(reference)) for output, reference in pairs]
    return Score(np.array(parts, float).reshape(-1, 2), lambda sums: 100 * sums[0] / max(sums[1], 1))


def edit_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The fewest single changes, insertions and deletions that make `a` into `b`. (Levenshtein 1966)"""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]
