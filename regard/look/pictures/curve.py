"""Gradients over time: how much of a loss comes back to what was k steps before, one line for each run."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from regard.look.pictures.style import DASHES, FAINT, as_image, line_colours, plain
from regard.look.pictures.view import Arrays, Cell, View, blank


@dataclass(frozen=True)
class Curve(View):
    """‖∂loss_t / ∂h_{t−k}‖ for k = 0, 1, …, by name."""

    curves: Mapping[str, NDArray[np.float32]]

    def figure(self, width: float | None = None) -> Figure:
        figure, colours = blank(3.7 if width is None else 0.55 * width + 0.8, self, width), line_colours()
        axes = figure.add_subplot()
        for number, (name, curve) in enumerate(self.curves.items()):
            there = curve > 0
            axes.plot(
                np.arange(len(curve))[there], curve[there], color=colours[number % len(colours)],
                linestyle=DASHES[number % len(DASHES)], linewidth=1.4, label=plain(name),
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("k: from the loss at t back to h at t − k", fontsize=8)
        axes.set_ylabel("‖∂ loss_t / ∂ h_(t−k)‖, log scale", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color="#e5e5e5", linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, frameon=False, labelcolor=FAINT, loc="best")
        return figure

    def body(self) -> str:
        head, *rows = self.table()
        names = "".join(f"<th>{escape(str(name))}</th>" for name in head)
        lines = (
            "<tr>" + "".join(f"<td>{c if isinstance(c, int | str) else f'{c:.3e}'}</td>" for c in row) + "</tr>"
            for row in rows
        )
        table = f"<table><tr>{names}</tr>{''.join(lines)}</table>"
        axis = '<p class="soft">k → from the loss at t back to h at t − k</p>'
        return f"{axis}{as_image(self.figure())}<details><summary>the numbers</summary>{table}</details>"

    def table(self) -> list[list[Cell]]:
        longest = max(map(len, self.curves.values()))
        rows: list[list[Cell]] = [["k", *self.curves]]
        for k in range(longest):
            rows.append([k, *(float(curve[k]) if k < len(curve) else "" for curve in self.curves.values())])
        return rows

    def numbers(self) -> Arrays:
        return dict(self.curves)
