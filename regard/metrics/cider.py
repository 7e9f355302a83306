"""CIDEr-D: does a caption say what people say of this picture, and of few others? (Vedantam et al. 2015)"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from regard.metrics.score import Score

LONGEST = 4  # words in the longest n-gram
SPREAD = 6.0  # σ of the Gaussian over differences in length
Grams = Counter[tuple[str, ...]]


def cider(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """10 · mean over captions, references and n = 1 … 4 of exp(−(l_c − l_r)² / 2σ²) · Σ_w min(c_w, r_w) r_w / ‖c‖‖r‖.

    c_w and r_w are how often the n-gram w stands in the caption and in the reference, times log(N / pictures of whose
    references one has w). The minimum is what makes it CIDEr-D: a word said twice where once is meant earns nothing.
    With one picture alone every n-gram is everywhere, so the score is 0. Drawn anew, pictures keep these weights.
    """
    said = [_grams(output) for output in outputs]
    wanted = [[_grams(reference) for reference in each] for each in references]
    pictures = Counter(gram for each in wanted for gram in {gram for grams in each for gram in grams})
    everywhere = math.log(max(len(wanted), 1))

    def vectors(grams: Grams) -> list[dict[tuple[str, ...], float]]:
        """TF–IDF, apart for each n."""
        found: list[dict[tuple[str, ...], float]] = [{} for _ in range(LONGEST)]
        for gram, number in grams.items():
            found[len(gram) - 1][gram] = number * (everywhere - math.log(max(pictures[gram], 1)))
        return found

    parts = []
    for caption, each in zip(said, wanted, strict=True):
        ours, length, total = vectors(caption), _length(caption), 0.0
        for reference in each:
            penalty = math.exp(-((length - _length(reference)) ** 2) / (2 * SPREAD**2))
            pairs = zip(ours, vectors(reference), strict=True)
            total += penalty * sum(_cosine(c, r) for c, r in pairs) / LONGEST / len(each)
        parts.append((total, 1))
    return Score(np.array(parts, float).reshape(-1, 2), lambda sums: 10 * sums[0] / max(sums[1], 1), SIGNATURE)


def _cosine(c: dict[tuple[str, ...], float], r: dict[tuple[str, ...], float]) -> float:
    sizes = math.hypot(*c.values()) * math.hypot(*r.values())
    return sum(min(value, r.get(gram, 0.0)) * r.get(gram, 0.0) for gram, value in c.items()) / sizes if sizes else 0.0


def _grams(text: str) -> Grams:
    words = _tokenizer()(text.lower()).split()
    return Counter(tuple(words[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(words) - n + 1))


def _length(grams: Grams) -> int:
    return sum(number for gram, number in grams.items() if len(gram) == 1)


@cache
def _tokenizer() -> Callable[[str], str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a  # whoever only answers need not wait for it

    tokenizer: Callable[[str], str] = Tokenizer13a()
    return tokenizer


SIGNATURE = f"CIDEr-D|n:{LONGEST}|sigma:{SPREAD:g}|case:lc|tok:13a|stem:no|idf:these references"
