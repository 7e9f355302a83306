"""Text coloured by one number for each token: a cell, or the attention that each got."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from rich.text import Text

from regard.look.pictures.style import FAINT, WIDTH, blue, ink_on, painted, signed
from regard.look.pictures.view import Arrays, Cell, View, blank

ACROSS = 92  # characters of a line
SIZE = 8.0  # points
TALL = 0.19  # inches of a line


@dataclass(frozen=True)
class Coloured(View):
    """Each token as it is written, behind it its value: blue above 0, orange below."""

    pieces: Sequence[str]
    values: NDArray[np.float32]
    measure: str

    @property
    def _top(self) -> float:
        return float(max(np.abs(self.values).max(), 1e-9))

    def colour(self, value: float) -> str:
        """Over white; where nothing is negative, darker blues."""
        return signed(value / self._top) if self.values.min() < 0 else blue(value / self._top * 0.7)

    def _lines(self, across: int = ACROSS) -> list[list[tuple[int, str, float]]]:
        """(column, text, value) of what stands on each line of a picture."""
        lines: list[list[tuple[int, str, float]]] = [[]]
        column = 0
        for piece, value in zip(self.pieces, self.values.tolist(), strict=True):
            shown = piece.replace("\t", "    ")
            if column + len(shown) > across and column:
                lines.append([])
                column = 0
            lines[-1].append((column, shown.replace("\n", "⏎"), value))
            column += len(shown)
            if piece.endswith("\n"):
                lines.append([])
                column = 0
        return lines if lines[-1] else lines[:-1]

    def figure(self, width: float | None = None) -> Figure:
        across = round(ACROSS * (width or WIDTH) / WIDTH)
        lines = self._lines(across)
        figure = blank(TALL * len(lines) + 1.15, self, width)
        axes = figure.add_subplot()
        axes.set_xlim(0, across)
        axes.set_ylim(len(lines), 0)
        axes.axis("off")
        for row, line in enumerate(lines):
            for column, shown, value in line:
                axes.add_patch(Rectangle((column, row + 0.06), len(shown), 0.88, color=self.colour(value), linewidth=0))
                for place, character in enumerate(shown.rstrip(" ")):
                    if character != " ":
                        axes.text(column + place + 0.5, row + 0.52, character, family="DejaVu Sans Mono", fontsize=SIZE,
                                  ha="center", va="center", color=ink_on(self.colour(value)))  # fmt: skip
        self._scale(figure)
        return figure

    def _scale(self, figure: Figure) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, Normalize

        low = -self._top if self.values.min() < 0 else 0.0
        steps = np.linspace(low, self._top, 101)
        colours = ListedColormap([self.colour(float(step)) for step in steps])
        bar = figure.colorbar(
            ScalarMappable(Normalize(low, self._top), colours), ax=figure.axes, orientation="horizontal",
            shrink=0.35, aspect=30, anchor=(0, 0), pad=0.02,
        )  # fmt: skip
        bar.set_label(f"to: {self.measure}" if "weight" in self.measure else self.measure, fontsize=7, color=FAINT)
        bar.ax.tick_params(labelsize=6, length=2)

    def body(self) -> str:
        values = zip(self.pieces, self.values.tolist(), strict=True)
        spans = "".join(painted(piece, self.colour(value), f"{value:.4f}") for piece, value in values)
        return f'<p class="soft">{escape(self.measure)}</p><div class="text">{spans}</div>'

    def table(self) -> list[list[Cell]]:
        values = self.values.tolist()
        return [
            ["place", "token", "value"],
            *([i, p, v] for i, (p, v) in enumerate(zip(self.pieces, values, strict=True))),
        ]

    def numbers(self) -> Arrays:
        return {"values": self.values, "tokens": list(self.pieces)}

    def terminal(self, width: int) -> Text:
        """For a terminal that knows colours."""
        text = Text()
        for piece, value in zip(self.pieces, self.values.tolist(), strict=True):
            colour = self.colour(value)
            text.append(piece, style=f"{ink_on(colour)} on {colour}")
        return text
