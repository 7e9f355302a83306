"""The profiles of all heads as a grid: a line for each head, a column for each figure, shaded by what choice adds."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from regard.look.heads.profile import Profile
from regard.look.pictures.style import INK, RULE, WIDTH, ink_on, plain, signed
from regard.look.pictures.view import Arrays, Cell, View, blank

NOTE = "blue: more than weights without a choice (the last line) would give, orange: less; shades by column"
TALL = 0.2  # inches of a line


@dataclass(frozen=True)
class ProfileGrid(View):
    """Heads, and uniform weights behind the last of them."""

    heads: Sequence[str]
    columns: Sequence[str]
    values: NDArray[np.float64]
    """NaN where a figure means nothing."""

    @classmethod
    def of(cls, title: str, profiles: Sequence[Profile]) -> "ProfileGrid":
        columns = ["confidence", "entropy", *profiles[0].shares, "induction", "Δ loss"]
        rows = []
        for one in profiles:
            loss = None if one.loss is None else one.loss[0]
            figures = (one.confidence, one.entropy, *one.shares.values(), one.induction, loss)
            rows.append([np.nan if figure is None else figure for figure in figures])
        values = np.array(rows, float)
        there = ~np.isnan(values).all(0)
        kept = [name for name, is_there in zip(columns, there, strict=True) if is_there]
        return cls(title, NOTE, [one.name for one in profiles], kept, values[:, there])

    def shades(self) -> NDArray[np.float64]:
        """−1 to 1: how far each figure is from that of uniform weights, against the furthest of its column."""
        beyond = self.values - np.nan_to_num(self.values[-1])
        return np.nan_to_num(beyond / np.maximum(np.nanmax(np.abs(beyond), 0), 1e-9))

    def figure(self, width: float | None = None) -> Figure:
        wide = width or WIDTH
        figure = blank(TALL * len(self.heads) + 1.2, self, width)
        axes = figure.add_subplot()
        down, across = self.values.shape
        size = min(7.0, 12.5 * wide / across)
        for (row, column), shade in np.ndenumerate(self.shades()):
            colour = signed(float(shade) * 0.8)
            axes.fill_between([column, column + 1], row, row + 1, color=colour, linewidth=0)
            value = float(self.values[row, column])
            if not np.isnan(value):
                axes.text(
                    column + 0.5, row + 0.5, _said(value), fontsize=size, ha="center", va="center", color=ink_on(colour)
                )
        axes.axhline(down - 1, color=INK, linewidth=0.6)
        axes.set_xlim(0, across)
        axes.set_ylim(down, 0)
        axes.xaxis.tick_top()
        axes.set_xticks(
            np.arange(across) + 0.5,
            self.columns,
            fontsize=7,
            rotation=0 if wide > 5 else 45,
            ha="center" if wide > 5 else "left",
        )
        axes.set_yticks(np.arange(down) + 0.5, [plain(_short(name, wide)) for name in self.heads], fontsize=6.5)
        axes.tick_params(length=0)
        axes.spines[:].set_color(RULE)
        return figure

    def body(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        lines = []
        for name, row, shades in zip(self.heads, self.values, self.shades(), strict=True):
            colours = [signed(shade * 0.8) for shade in shades.tolist()]
            cells = "".join(
                f'<td style="background:{colour};color:{ink_on(colour)}">{_said(value)}</td>'
                for value, colour in zip(row.tolist(), colours, strict=True)
            )
            lines.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
        return f"<table><tr><th></th>{head}</tr>{''.join(lines)}</table>"

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [["head", *self.columns]]
        for name, row in zip(self.heads, self.values.tolist(), strict=True):
            rows.append([name, *("" if value != value else value for value in row)])
        return rows

    def numbers(self) -> Arrays:
        return {"values": self.values, "heads": list(self.heads), "columns": list(self.columns)}


def _short(name: str, width: float) -> str:
    """A path as far as there is room."""
    parts = name.split(".")
    return name if width > 5 else ".".join(parts[-2:])


def _said(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}" if abs(value) >= 0.095 or not value else f"{value:.3f}"
