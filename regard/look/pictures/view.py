"""What every view can do: be drawn, be read as a page, be taken along as numbers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from io import BytesIO
from textwrap import wrap
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure
from rich.text import Text

from regard.look.pictures.style import FAINT, GREY, HONEST, INK, LINES, WIDTH, figure, page, plain, write_figure

Cell: TypeAlias = str | int | float
Arrays: TypeAlias = Mapping[str, np.ndarray | list[str]]

SMALL = 64  # tokens: up to here each has its name beside the map


@dataclass(frozen=True)
class View(ABC):
    """One picture of a record. `title` says what it is of, `note` what else to know."""

    title: str
    note: str

    @abstractmethod
    def figure(self, width: float | None = None) -> Figure:
        """Drawn, for paper, so many inches wide; None: as it wants to be, A4 less its margins at most."""

    @abstractmethod
    def body(self) -> str:
        """As HTML that needs no script: what stands between the title and the note."""

    @abstractmethod
    def table(self) -> list[list[Cell]]:
        """As rows of cells, the first row their names; an empty cell is one that was masked."""

    @abstractmethod
    def numbers(self) -> Arrays:
        """As arrays by name, masked cells NaN; and the names of what they run over."""

    def terminal(self, width: int) -> Text:
        """For a terminal of so many columns, where it fits."""
        return Text(f"{self.title}: too much for a terminal; save it: --save picture.png")

    @property
    def said(self) -> str:
        """Under every picture."""
        return f"{HONEST}; {self.note}" if self.note else HONEST

    def _repr_png_(self) -> bytes:
        """In a notebook."""
        made = BytesIO()
        write_figure(self.figure(), made, "png")
        return made.getvalue()

    def page(self, made_by: str = "") -> str:
        """One file that opens by itself."""
        return page(self.title, f"{self.body()}\n<footer>{escape(self.said)}</footer>", STYLE, made_by)


def blank(height: float, view: View, width: float | None = None) -> Figure:
    """A figure with the title above and the honest sentence below, on as many lines as they need."""
    wide = width or WIDTH
    title, said = (wrap(text, int(wide * letters)) or [""] for text, letters in ((view.title, 15), (view.said, 20)))
    drawn = figure(wide, height + 0.14 * (len(title) - 1) + 0.11 * (len(said) - 1))
    drawn.suptitle(plain("\n".join(title)), fontsize=9, color=INK, x=0.01, ha="left")
    drawn.supxlabel(plain("\n".join(said)), fontsize=7, color=FAINT, x=0.01, ha="left")
    return drawn


STYLE = f"""
table.map td {{ min-width: 1.5em; height: 1.4em; padding: 0; border: 1px solid var(--line) }}
table.map th {{ padding: .15em .45em; text-align: right; white-space: nowrap }}
table.map thead th {{ writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .3em 0 }}
td.masked {{ background: repeating-linear-gradient(45deg, var(--ground) 0 3px, var(--line) 3px 4px) }}
ul.tree {{ font-family: ui-monospace, monospace; font-size: 13px }}
ul.tree ul {{ padding-left: 1.3em; border-left: 1px solid var(--line) }} ul.tree li {{ list-style: none }}
.pruned {{ color: {GREY} }} .finished {{ color: {LINES[1]}; font-weight: 600 }} .kept {{ color: {LINES[0]} }}
"""
