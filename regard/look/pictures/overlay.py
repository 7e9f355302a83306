"""Where each word looked in a picture: the picture once for every word, lit where the weight was."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.figure import Figure
from torch import Tensor

from regard.look.pictures.paper import PLAIN, Paper
from regard.look.pictures.style import FAINT, WIDTH, as_image, drawing, plain, save_figure
from regard.look.pictures.view import Arrays, Cell, View, blank

ACROSS = 6  # pictures in a row


def lit(picture: UInt8[Tensor, "3 Y X"], weights: Float[Tensor, " S"], rows: int) -> Float[np.ndarray, "Y X 3"]:
    """The picture in grey and dark, and bright where it was looked at: x · (0.35 + 0.65 a_i / max a).

    The weight of region i lights the pixels of its cell; row by row, `rows` of them.
    """
    height, width = picture.shape[1:]
    columns = len(weights) // rows
    y, x = np.arange(height) * rows // height, np.arange(width) * columns // width
    light = (weights / weights.max().clamp(min=1e-9)).numpy().reshape(rows, columns)[np.ix_(y, x)]
    return picture.permute(1, 2, 0).numpy() / 255 * (0.35 + 0.65 * light[..., None])


@dataclass(frozen=True)
class Overlay(View):
    """From every word of a caption to the regions of its picture."""

    picture: UInt8[Tensor, "3 Y X"]
    words: Sequence[str]
    weights: Float[Tensor, "T S"]
    grid: int
    """How many regions stand below each other."""

    def figure(self, width: float | None = None) -> Figure:
        across = max(1, round(ACROSS * (width or WIDTH) / WIDTH))
        down = -(-(len(self.words) + 1) // across)
        figure = blank(1.34 * down + 0.7, self, width)
        whole, *each = figure.subplots(down, across, squeeze=False).flat
        for axes in (whole, *each):
            axes.axis("off")
        whole.imshow(self.picture.permute(1, 2, 0).numpy(), interpolation="nearest")
        whole.set_title("to: the picture", fontsize=7, color=FAINT, pad=3)
        for axes, word, row in zip(each, self.words, self.weights, strict=False):
            axes.imshow(lit(self.picture, row, self.grid), interpolation="nearest")
            axes.set_title(plain(f"{word}  {row.max():.2f}"), fontsize=8, pad=3)
        return figure

    def body(self) -> str:
        lines = []
        for word, row in zip(self.words, self.weights, strict=True):
            place, across = int(row.argmax()), len(row) // self.grid
            region = f"row {place // across + 1}, column {place % across + 1}"
            lines.append(f"<tr><td>{escape(word)}</td><td>{region}</td><td>{row[place]:.4f}</td></tr>")
        head = "<tr><th>from</th><th>to, most</th><th></th></tr>"
        return f"{as_image(self.figure())}<table>{head}{''.join(lines)}</table>"

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [["from \\ to", *range(self.weights.shape[1])]]
        return rows + [[word, *row] for word, row in zip(self.words, self.weights.tolist(), strict=True)]

    def numbers(self) -> Arrays:
        return {"weights": self.weights.numpy(), "from": list(self.words), "picture": self.picture.numpy()}


def draw_overlay(
    path: Path,
    picture: UInt8[Tensor, "3 Y X"],
    words: Sequence[str],
    weights: Float[Tensor, "T S"],
    paper: Paper = PLAIN,
) -> None:
    """Saved by the ending of the path (png, svg, pdf). A square picture has a square grid of regions."""
    note = "from each word; beside it the largest weight of one region"
    view = Overlay(" ".join(words), note, picture, words, weights, round(weights.shape[1] ** 0.5))
    with drawing(paper):
        save_figure(view.figure(paper.width), path, paper)
