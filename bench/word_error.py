"""Word and phoneme error of runs that say how words are spoken, where a word may be spoken in more than one way.

    python -m bench.word_error valid runs/real-cmudict-transformer            the part that choices are made by
    python -m bench.word_error test runs/a runs/b runs/c                      several runs answer as one

`regard evaluate` counts lines, so a word with two pronunciations counts twice and is half wrong at best. Here, as is
usual, a word is right if it is spoken in any of its ways, and the nearest of them counts for phonemes.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence

import regard
from regard.metrics.text import edit_distance
from regard.tasks import TASKS

BEAM = 5


def main(part: str, path: str, others: Sequence[str]) -> None:
    run = regard.load(path, ensemble=others)
    ways: dict[str, list[list[str]]] = defaultdict(list)
    for pair in TASKS["pairs"].read(getattr(run.recipe.data, part), None):
        ways[pair.source].append(pair.target.split())
    said = [text.split() for text in run.translate(list(ways), beam=BEAM)]
    # for each word the number of changes to its nearest way, and the length of that
    nearest = [
        min((edit_distance(one, way), len(way)) for way in wanted)
        for one, wanted in zip(said, ways.values(), strict=True)
    ]
    wrong, changes, phonemes = sum(n > 0 for n, _ in nearest), sum(n for n, _ in nearest), sum(n for _, n in nearest)
    wer, per = 100 * wrong / len(ways), 100 * changes / phonemes
    print(f"{part}, {len(ways):,} words: WER {wer:.2f}, PER {per:.2f}, beam {BEAM}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
