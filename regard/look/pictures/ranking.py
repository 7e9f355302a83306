"""What was found for each property, ranked: a dot for each unit with its interval, beside what it is held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import blended_transform_factory

from regard.look.find.find import Finding
from regard.look.pictures.style import FAINT, GREY, INK, RULE, as_image, line_colours, plain, shorten
from regard.look.pictures.view import Arrays, Cell, View, blank

NOTE = "held-out scores with 95 % intervals; filled: passes every control, hollow: fails one"
TALL = 0.17  # inches of a line
COLUMNS = (
    "property",
    "side",
    "unit",
    "measure",
    "score",
    "low",
    "high",
    "null",
    "untrained",
    "last_characters",
    "failed",
)


@dataclass(frozen=True)
class Ranking(View):
    """Findings, best first within each property."""

    findings: Sequence[Finding]

    @classmethod
    def of(cls, title: str, findings: Sequence[Finding]) -> "Ranking":
        return cls(title, NOTE, findings)

    def figure(self, width: float | None = None) -> Figure:
        heads = [at for at, one in enumerate(self.findings) if not at or _group(self.findings[at - 1]) != _group(one)]
        lines = len(self.findings) + len(heads)
        figure = blank(TALL * lines + 1.25, self, width)
        axes, colours = figure.add_subplot(), line_colours()
        beside = blended_transform_factory(figure.transFigure, axes.transData)
        names: list[tuple[float, str]] = []
        place = 0
        for at, one in enumerate(self.findings):
            if at in heads:
                named = axes.text(0.01, place, plain(shorten(_group(one), int(18 * figure.get_figwidth()))), fontsize=7,
                                  color=INK, weight="bold", va="center", transform=beside)  # fmt: skip
                named.set_in_layout(False)  # it may run over the axes
                place += 1
            low, high = one.interval
            fill = "white" if one.failed else colours[0]
            axes.plot([low, high], [place, place], color=GREY if one.failed else colours[0], linewidth=1.2, zorder=2)
            axes.plot(
                one.score, place, "o", color=GREY if one.failed else colours[0], markerfacecolor=fill, markersize=4.5
            )
            axes.plot(one.null, place, "|", color=INK, markersize=7)
            axes.plot(one.last_characters, place, "x", color=colours[1], markersize=3.5)
            if one.untrained is not None:
                axes.plot(one.untrained, place, "^", color=colours[2], markerfacecolor="none", markersize=3.5)
            names.append((place, plain(("−" if one.sign < 0 else "") + _short(one.unit))))
            place += 1
        axes.set_ylim(lines - 0.4, -0.8)
        axes.set_yticks([at for at, _ in names], [name for _, name in names], fontsize=6.5)
        axes.tick_params(axis="x", labelsize=7)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(
            " or ".join(dict.fromkeys(one.measure for one in self.findings)), fontsize=7, color=FAINT, loc="right"
        )
        axes.grid(axis="x", color=RULE, linewidth=0.4)
        axes.spines[["top", "right", "left"]].set_visible(False)
        marks = [
            Line2D([], [], marker="o", color=colours[0], linestyle="", markersize=4.5, label="held out"),
            Line2D([], [], marker="|", color=INK, linestyle="", markersize=7, label="null 95 %"),
            Line2D(
                [],
                [],
                marker="^",
                color=colours[2],
                linestyle="",
                markerfacecolor="none",
                label="untrained",
                markersize=3.5,
            ),
            Line2D([], [], marker="x", color=colours[1], linestyle="", label="characters alone", markersize=3.5),
        ]
        columns = 4 if figure.get_figwidth() > 4.5 else 2
        above = blended_transform_factory(figure.transFigure, axes.transAxes)
        key = axes.legend(
            handles=marks, fontsize=7, frameon=False, ncols=columns, labelcolor=FAINT, loc="lower left",
            bbox_to_anchor=(0.0, 1.0), bbox_transform=above, borderaxespad=0.2, handletextpad=0.3,
        )  # fmt: skip
        key.set_in_layout(False)  # as wide as the figure, not as the axes; its lines are kept free by a title of blanks
        axes.set_title("\n".join(" " * (4 - columns // 2)), fontsize=7)
        return figure

    def body(self) -> str:
        head, *rows = self.table()
        cells = ("".join(f"<td>{escape(_said(cell))}</td>" for cell in row) for row in rows)
        names = "".join(f"<th>{escape(str(name))}</th>" for name in head)
        return f"{as_image(self.figure())}<table><tr>{names}</tr><tr>{'</tr><tr>'.join(cells)}</tr></table>"

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [[*COLUMNS]]
        for one in self.findings:
            untrained = "" if one.untrained is None else one.untrained
            figures = (one.score, *one.interval, one.null, untrained, one.last_characters)
            rows.append([one.property, one.side, one.unit, one.measure, *figures, ", ".join(one.failed)])
        return rows

    def numbers(self) -> Arrays:
        head, *rows = self.table()
        columns = dict(zip(map(str, head), zip(*rows, strict=True), strict=True))
        numbers = ("score", "low", "high", "null", "untrained", "last_characters")
        return {
            name: np.array([np.nan if one == "" else one for one in cells], float)
            if name in numbers
            else [*map(str, cells)]
            for name, cells in columns.items()
        }


def _group(one: Finding) -> str:
    return one.property if one.side == "text" else f"{one.property}, {one.side}"


def _short(unit: str) -> str:
    """The end of a path, where units differ."""
    path, bracket, rest = unit.rpartition("[")
    return f"{'.'.join(path.split('.')[-3:])}{bracket}{rest}"


def _said(cell: Cell) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
