"""BLEU against the length of the source, for several runs on the first one's test part: Bahdanau's figure 2, real text.

    python -m bench.by_length docs/bleu-by-length.png runs/real-multi30k-rnn runs/real-multi30k-transformer …

Sentences are put into as many groups as there are edges, by the words of the source. The band is the middle 95 % of
1,000 draws of a group's sentences with replacement (Koehn 2004).
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import sacrebleu

import regard
from regard.tasks import TASKS

EDGES = (0, 8, 11, 14, 18, 100)
DRAWS = 1000
COLOURS = ("#56B4E9", "#009E73", "#D55E00", "#0072B2", "#CC79A7")
MARKERS = "ovsD^"


def bleu(statistics: Sequence[Sequence[float]]) -> float:
    """Corpus BLEU out of sentences' counts: lengths, then n-grams shared and said."""
    total = [sum(column) for column in zip(*statistics, strict=True)]
    shared, said = total[2:6], total[6:10]
    return float(sacrebleu.BLEU.compute_bleu(shared, said, int(total[0]), int(total[1]), "exp").score)


def counts(said: str, wanted: str) -> list[float]:
    """What BLEU adds up over sentences, in lower case."""
    score = sacrebleu.BLEU(lowercase=True, force=True).corpus_score([said], [[wanted]])
    return [score.sys_len, score.ref_len, *score.counts, *score.totals]


def curve(run: regard.Run, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float]]:
    """For each group: BLEU, and the ends of its interval."""
    said = run.translate([source for source, _ in pairs], beam=1)
    found = [counts(one, wanted) for one, (_, wanted) in zip(said, pairs, strict=True)]
    lengths = [len(source.split()) for source, _ in pairs]
    points = []
    for low, high in pairwise(EDGES):
        group = [each for each, length in zip(found, lengths, strict=True) if low < length <= high]
        random = Random(0)
        drawn = sorted(bleu(random.choices(group, k=len(group))) for _ in range(DRAWS))
        points.append((bleu(group), drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS)]))
    return points


def main(picture: Path, paths: Sequence[Path]) -> None:
    from matplotlib import pyplot

    runs = {path.name: regard.load(path) for path in paths}
    where = next(iter(runs.values())).recipe.data.test
    pairs = [(pair.source, pair.target) for pair in TASKS["pairs"].read(where, None)]
    names = [f"{low + 1}–{high}" for low, high in pairwise(EDGES)]
    names[0], names[-1] = f"up to {EDGES[1]}", f"{EDGES[-2] + 1} and more"
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, run), colour, marker in zip(runs.items(), COLOURS, MARKERS, strict=False):
        points = curve(run, pairs)
        middle, low, high = zip(*points, strict=True)
        axes.plot(names, middle, color=colour, marker=marker, label=name)
        axes.fill_between(names, low, high, color=colour, alpha=0.15, linewidth=0)
        print(
            name, *(f"{group}: {bleu:.1f} ({a:.1f}–{b:.1f})" for group, (bleu, a, b) in zip(names, points, strict=True))
        )
    axes.set(xlabel="words in the source", ylabel="BLEU of argmax, lower case", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
