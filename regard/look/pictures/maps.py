"""Maps: from every token, how much to every other; alone, or a small one for every head."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Polygon
from numpy.typing import NDArray
from rich.text import Text

from regard.decode.translate import Alignment
from regard.look.pictures.style import (
    FAINT,
    HONEST,
    RULE,
    WIDTH,
    as_image,
    blue,
    figure,
    plain,
    save_figure,
    shorten,
    signed,
)
from regard.look.pictures.view import SMALL, Arrays, Cell, View, blank

Matrix = NDArray[np.float32]
OUTLIERS = 0.998  # of many weights: those above this quantile have one colour
MASKED = "#f2f2f2"
SHADES = " ·░▒▓█"  # on a terminal
SIGNED = [signed(step / 10) for step in range(-10, 11)]
BLUES = colormaps["Blues"].with_extremes(bad=MASKED)
BOTH = LinearSegmentedColormap.from_list("orange, white, blue", SIGNED).with_extremes(bad=MASKED)


@dataclass(frozen=True)
class Map(View):
    """One matrix. `weights` are NaN where they were masked."""

    weights: Matrix
    rows: Sequence[str]
    columns: Sequence[str]
    measure: str = "attention weight"
    from_name: str = "from"
    to_name: str = "to"

    def figure(self, width: float | None = None) -> Figure:
        down, across = self.weights.shape
        named = max(down, across) <= SMALL
        left = 0.07 * max(map(len, self.rows)) if named else 0.3
        cell = max(min(((width or WIDTH) - 1.5 - left) / across, 0.34), 0.02)
        size = min(8.0, 0.85 * 72 * cell)
        above = size / 72 * 0.62 * max(map(len, self.columns)) if named else 0.3
        width = width or min(WIDTH, max(cell * across + left + 1.5, 4.4))
        figure = blank(cell * down + above + 1.0, self, width)
        axes = figure.add_subplot()
        image = self.draw(axes, norm_of(self.weights, named), size)
        scale = "" if named or has_signs(self.weights) else ", root scale"
        bar = figure.colorbar(image, ax=axes, shrink=0.6, pad=0.02, aspect=30, extend="neither" if named else "max")
        bar.set_label(f"{self.measure}{scale}", fontsize=8, color=FAINT)
        bar.ax.tick_params(labelsize=7, length=2)
        return figure

    def draw(self, axes: Axes, norm: Normalize, size: float) -> AxesImage:
        """With the names of its rows and columns, where there are few, in letters of that size."""
        down, across = self.weights.shape
        named = max(down, across) <= SMALL
        image = drawn(axes, self.weights, norm)
        by = "" if named else ", by place"
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(f"to: {self.to_name}{by} →", fontsize=8, loc="left", color=FAINT)
        axes.set_ylabel(f"← from: {self.from_name}{by}", fontsize=8, loc="top", color=FAINT)
        if named:
            axes.set_xticks(range(across), [*map(plain, self.columns)], rotation=90, fontsize=size)
            axes.set_yticks(range(down), [*map(plain, self.rows)], fontsize=size)
            axes.tick_params(length=0, pad=2)
        else:
            axes.tick_params(labelsize=7, length=2)
        return image

    def body(self) -> str:
        axis = (
            f'<p class="soft">from ↓ {escape(self.from_name)}, to → {escape(self.to_name)}; {escape(self.measure)}</p>'
        )
        if max(self.weights.shape) > SMALL:
            return axis + as_image(self.figure()) + self._strongest()
        top = largest(self.weights)
        head = "".join(f'<th scope="col">{escape(word)}</th>' for word in self.columns)
        lines = []
        for word, row in zip(self.rows, self.weights.tolist(), strict=True):
            cells = "".join(self._cell(word, to, weight, top) for to, weight in zip(self.columns, row, strict=True))
            lines.append(f'<tr><th scope="row">{escape(word)}</th>{cells}</tr>')
        return (
            f'{axis}<table class="map"><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
        )

    def _cell(self, row: str, column: str, weight: float, top: float) -> str:
        where = f"from {escape(row)} to {escape(column)}"
        if weight != weight:
            return f'<td class="masked" title="{where}: masked"></td>'
        colour = signed(weight / top) if has_signs(self.weights) else blue(weight / top)
        return f'<td style="background:{colour}" title="{where}: {weight:.4f}"></td>'

    def _strongest(self) -> str:
        """A line for each row: where its largest weight went."""
        lines = []
        for place, (word, row) in enumerate(zip(self.rows, self.weights, strict=True)):
            best = int(np.nanargmax(row))
            cells = f"<td>{place}</td><td>{escape(word)}</td><td>{best}</td><td>{escape(self.columns[best])}</td>"
            lines.append(f"<tr>{cells}<td>{row[best]:.4f}</td></tr>")
        head = "<tr><th></th><th>from</th><th></th><th>to, most</th><th></th></tr>"
        return f"<details><summary>the largest of each row</summary><table>{head}{''.join(lines)}</table></details>"

    def terminal(self, width: int) -> Text:
        """Columns that do not fit beside the others go on below, in as many bands as it takes."""
        if self.weights.shape[1] > SMALL:
            return super().terminal(width)
        rows, columns = ([shorten(word, max(width // 2 - 3, 2)) for word in side] for side in (self.rows, self.columns))
        margin, widths = max(map(len, rows)) + 2, [max(len(word), 2) for word in columns]
        shares = (np.nan_to_num(self.weights) / largest(self.weights)).tolist()
        text = Text("", no_wrap=True)
        for band in _bands(widths, width - margin):
            text.append("\n\n" if text else "").append(" " * margin)
            for place in band:
                text.append(f"{columns[place]:<{widths[place]}} ", style="bold")
            for word, row in zip(rows, shares, strict=True):
                text.append(f"\n{word:>{margin - 2}}  ", style="bold")
                for place in band:
                    text.append(shade(row[place]) * widths[place] + " ", style="blue")
        return text

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [["from \\ to", *self.columns]]
        for word, row in zip(self.rows, self.weights.tolist(), strict=True):
            rows.append([word, *("" if weight != weight else weight for weight in row)])
        return rows

    def numbers(self) -> Arrays:
        return {"weights": self.weights, "from": list(self.rows), "to": list(self.columns)}


def alignment_map(alignment: Alignment) -> Map:
    """From the words of a translation to those of its source."""
    weights = alignment.weights.numpy()
    return Map("", "", weights, alignment.target, alignment.source, from_name="the translation", to_name="the source")


def save_beside(maps: Sequence[Map], path: Path) -> None:
    """Small maps beside each other on one scale, saved by the ending of the path (png, svg, pdf)."""
    widths = [len(one.columns) + 4 for one in maps]
    picture = figure(0.42 * sum(widths), 0.42 * max(len(one.rows) for one in maps) + 1.9)
    places = picture.subplots(1, len(maps), width_ratios=widths, squeeze=False)[0]
    for axes, one in zip(places, maps, strict=True):
        image = one.draw(axes, Normalize(0, 1), 10.0)
        axes.set_anchor("N")
    picture.colorbar(image, ax=places[-1], label=maps[0].measure, shrink=0.6)
    picture.supxlabel(HONEST, fontsize="small", color=FAINT)
    save_figure(picture, path)


def _bands(widths: Sequence[int], room: int) -> list[list[int]]:
    """Places in order, as many together as there is room for with a blank behind each, and at least one."""
    bands: list[list[int]] = []
    for place, width in enumerate(widths):
        if not bands or sum(widths[one] + 1 for one in bands[-1]) + width + 1 > room:
            bands.append([])
        bands[-1].append(place)
    return bands


def shade(weight: float) -> str:
    """Nothing, then ever darker, for a weight from 0 to 1."""
    return SHADES[min(int(weight * len(SHADES) + 0.35), len(SHADES) - 1)]


@dataclass(frozen=True)
class HeadMaps(View):
    """A small map for every head of every layer, all on one scale."""

    maps: Sequence[Matrix]
    """One for each layer, (H, T, S); NaN where masked."""
    layers: Sequence[str]
    """The path of each."""
    rows: Sequence[str]
    columns: Sequence[str]
    numbered: tuple[int, ...]
    """Which layers these are."""

    def figure(self, width: float | None = None) -> Figure:
        across = max(len(layer) for layer in self.maps)
        down, shape = len(self.maps), self.maps[0].shape[1:]
        side = ((width or WIDTH) - 1.0) / across
        tall = min(max(shape[0] / shape[1], 0.3), 2.0)
        side = min(side, 1.6)
        figure = blank(down * (side * tall + 0.22) + 1.0, self, width)
        grid = figure.subplots(down, across, squeeze=False)
        norm = norm_of(np.concatenate([layer.ravel() for layer in self.maps]), False)
        for number, layer, line in zip(self.numbered, self.maps, grid, strict=True):
            for head, axes in enumerate(line):
                axes.set_xticks([])
                axes.set_yticks([])
                if head >= len(layer):
                    axes.axis("off")
                    continue
                image = drawn(axes, layer[head], norm, hatch=shape[1] <= SMALL, aspect="auto")
                axes.set_title(
                    f"layer {number} head {head}" if side > 0.8 else f"{number}.{head}", fontsize=6, pad=2, color=FAINT
                )
        grid[0, 0].set_ylabel("from ↓", fontsize=6, color=FAINT, labelpad=1)
        grid[0, 0].set_xlabel("to →", fontsize=6, color=FAINT, labelpad=1)
        bar = figure.colorbar(
            image, ax=grid, shrink=min(1.0, 2.2 / figure.get_figheight()), pad=0.01, aspect=30, extend="max"
        )
        bar.set_label("attention weight, root scale", fontsize=7, color=FAINT)
        bar.ax.tick_params(labelsize=6, length=2)
        return figure

    def body(self) -> str:
        lines = []
        for number, path, layer in zip(self.numbered, self.layers, self.maps, strict=True):
            for head, weights in enumerate(layer):
                sure = np.nanmax(weights, axis=1).mean()
                cells = f"<td>{number}</td><td>{head}</td><td>{sure:.3f}</td><td>{escape(path)}</td>"
                lines.append(f"<tr>{cells}</tr>")
        head_line = "<tr><th>layer</th><th>head</th><th>mean of the largest weight</th><th>path</th></tr>"
        axis = '<p class="soft">in each map from ↓, to →</p>'
        return f"{axis}{as_image(self.figure())}<table>{head_line}{''.join(lines)}</table>"

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [["layer", "head", "from place", "from", *self.columns]]
        for number, layer in zip(self.numbered, self.maps, strict=True):
            for head, weights in enumerate(layer.tolist()):
                for place, (word, row) in enumerate(zip(self.rows, weights, strict=True)):
                    rows.append([number, head, place, word, *("" if weight != weight else weight for weight in row)])
        return rows

    def numbers(self) -> Arrays:
        return {**dict(zip(self.layers, self.maps, strict=True)), "from": list(self.rows), "to": list(self.columns)}


def largest(weights: NDArray[np.float32]) -> float:
    """In size; never 0."""
    return max(float(np.nanmax(np.abs(weights))), 1e-9)


def has_signs(weights: NDArray[np.float32]) -> bool:
    return float(np.nanmin(weights)) < 0


def norm_of(weights: NDArray[np.float32], few: bool) -> Normalize:
    """From 0 to the largest. Of many, where most are small: by their roots, and the largest few alike."""
    if has_signs(weights):
        return Normalize(-largest(weights), largest(weights))
    if few:
        return Normalize(0, largest(weights))
    return PowerNorm(0.5, 0, max(float(np.nanquantile(weights, OUTLIERS)), 1e-9))


def drawn(
    axes: Axes, weights: Matrix, norm: Normalize, hatch: bool = True, aspect: Literal["equal", "auto"] = "equal"
) -> AxesImage:
    """Blue where it looked, orange below 0; hatched where it could not."""
    shown = np.ma.masked_invalid(weights)
    image = axes.imshow(shown, cmap=BOTH if norm.vmin else BLUES, norm=norm, aspect=aspect, interpolation="nearest")
    axes.spines[:].set_color(RULE)
    if hatch and np.isnan(weights).any():
        axes.add_patch(_staircase(np.isnan(weights)))
    return image


def _staircase(masked: NDArray[np.bool_]) -> Polygon:
    """The outline of what lies behind the last column that each row may see."""
    down, across = masked.shape
    points: list[tuple[float, float]] = []
    for row, seen in enumerate((~masked).sum(1).tolist()):
        points += [(seen - 0.5, row - 0.5), (seen - 0.5, row + 0.5)]
    corner = (across - 0.5, -0.5)
    return Polygon(
        [*points, (across - 0.5, down - 0.5), corner], hatch="//////", fill=False, linewidth=0, edgecolor=RULE
    )
