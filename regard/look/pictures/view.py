"""What every view can do: be drawn, be read as a page, be taken along as numbers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure
from rich.text import Text

from regard.look.pictures.render import HONEST

Cell: TypeAlias = str | int | float
Numbers: TypeAlias = Mapping[str, np.ndarray | list[str]]

WIDTH = 7.1  # inches: A4 less its margins
INK, FAINT = "#222222", "#666666"
BLUE, ORANGE = "#2166ac", "#b35806"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by everybody, with the dashes below. (Okabe and Ito 2008)"""
DASHES = ("-", "--", "-.", ":")
SMALL = 64  # tokens: up to here each has its name beside the map


@dataclass(frozen=True)
class View(ABC):
    """One picture of a record. `title` says what it is of, `note` what else to know."""

    title: str
    note: str

    @abstractmethod
    def figure(self) -> Figure:
        """Drawn, for paper."""

    @abstractmethod
    def body(self) -> str:
        """As HTML that needs no script: what stands between the title and the note."""

    @abstractmethod
    def table(self) -> list[list[Cell]]:
        """As rows of cells, the first row their names; an empty cell is one that was masked."""

    @abstractmethod
    def numbers(self) -> Numbers:
        """As arrays by name, masked cells NaN; and the names of what they run over."""

    def terminal(self) -> Text:
        """For a terminal, where it fits."""
        return Text(f"{self.title}: too much for a terminal; save it: --save picture.png")

    @property
    def said(self) -> str:
        """Under every picture."""
        return f"{HONEST}; {self.note}" if self.note else HONEST

    def page(self) -> str:
        """One file that opens by itself: no network, no script."""
        return PAGE.format(title=escape(self.title), body=self.body(), said=escape(self.said))


def blank(height: float, view: View, width: float = WIDTH) -> Figure:
    """A figure with the title above and the honest sentence below."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(plain(view.title), fontsize=9, color=INK, x=0.01, ha="left")
    figure.supxlabel(plain(view.said), fontsize=7, color=FAINT, x=0.01, ha="left")
    return figure


def plain(text: str) -> str:
    """For a figure, where $…$ would be read as mathematics."""
    return text.replace("$", r"\$")


def blue(share: float) -> str:
    """White to dark blue for 0 to 1, as CSS."""
    return _between((255, 255, 255), (8, 48, 107), min(max(share, 0.0), 1.0) ** 0.8)


def signed(share: float) -> str:
    """Orange below 0, blue above, for −1 to 1."""
    end = (33, 102, 172) if share >= 0 else (230, 97, 1)
    return _between((255, 255, 255), end, min(abs(share), 1.0))


def _between(first: tuple[int, int, int], last: tuple[int, int, int], share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, last, strict=True))


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; margin: 2em auto; max-width: 70em; padding: 0 1em }}
h1 {{ font-size: 1.15em; font-weight: 600 }}
footer, .axis {{ color: #666; font-size: .9em }}
table {{ border-collapse: collapse; margin: .8em 0 }}
td, th {{ font-weight: normal; padding: .15em .45em; text-align: right; white-space: nowrap }}
table.map td {{ min-width: 1.5em; height: 1.4em; padding: 0; border: 1px solid #eee; text-align: center; font-size: .7em }}
table.map thead th {{ writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .3em 0 }}
td.masked {{ background: repeating-linear-gradient(45deg, #fff 0 3px, #ddd 3px 4px) }}
.text {{ font: 14px/1.7 ui-monospace, monospace; white-space: pre-wrap }}
ul.tree {{ font-family: ui-monospace, monospace; font-size: 13px }}
ul.tree ul {{ padding-left: 1.3em; border-left: 1px solid #ddd }}
ul.tree li {{ list-style: none }}
.pruned {{ color: #888 }} .finished {{ color: #b35806; font-weight: 600 }} .kept {{ color: #2166ac }}
img, svg {{ max-width: 100%; height: auto }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
<footer>{said}</footer>
</body>
</html>
"""  # noqa: E501
