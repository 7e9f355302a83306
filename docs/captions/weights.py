"""Where a captioner looked, without the pictures, which may not be ours to show: weights alone, a row for each picture.

python docs/captions/weights.py runs/photos one.jpg two.jpg three.jpg
"""

import sys
from pathlib import Path

import matplotlib
import torch

from regard.data.images import read_picture
from regard.look.align.words import looks
from regard.look.pictures.style import HONEST
from regard.runs import load_run

matplotlib.use("Agg")
from matplotlib import pyplot as plt

DARKEST = 0.08


def main(path: str, *files: str) -> None:
    run = load_run(path)
    pictures = [torch.from_numpy(read_picture(Path(file), run.recipe.pictures.side)) for file in files]
    said = [best for best, *_ in run.caption(pictures)]
    seen = [looks(run.model, run.tokenizer, picture, one) for picture, one in zip(pictures, said, strict=True)]
    most = max(len(words) for words, _ in seen)
    figure, rows = plt.subplots(len(seen), most, figsize=(0.66 * most, 1.43 * len(seen)), layout="constrained")
    for axes in rows.flat:
        axes.axis("off")
    for line, (words, weights) in zip(rows, seen, strict=True):
        side = round(weights.shape[1] ** 0.5)
        for axes, word, row in zip(line, words, weights, strict=False):
            if word:
                axes.imshow(row.reshape(side, side), cmap="Blues", vmin=0, vmax=DARKEST)
                axes.set_title(word, fontsize=9)
    even = 1 / weights.shape[1]
    figure.supxlabel(f"{HONEST}; darkest: a weight of {DARKEST}, even: {even:.3f}", fontsize=8, color="#666666")
    figure.savefig(Path(__file__).parent / "flickr-weights.png", dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
