"""Which labels are taken for which, as a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.look.pictures.style import INK, RULE, figure, save_figure


def draw_confusion(path: Path, said: Sequence[str], wanted: Sequence[str]) -> None:
    """How often each label (a row) was called what (a column): numbers in the cells, shades by the share of the row."""
    names = sorted({*said, *wanted})
    table = np.zeros((len(names), len(names)), int)
    for ours, true in zip(said, wanted, strict=True):
        table[names.index(true), names.index(ours)] += 1
    shares = table / table.sum(1, keepdims=True).clip(min=1)
    side = 0.5 * len(names)
    drawn = figure(side + 2.2, side + 1.8)
    axes = drawn.add_subplot()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), number in np.ndenumerate(table):
        if number:
            colour = "white" if shares[row, column] > 0.55 else INK
            axes.text(column, row, f"{number}", ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("said", loc="left")
    axes.set_ylabel("wanted", loc="top")
    axes.spines[:].set_color(RULE)
    save_figure(drawn, path)
