"""How wide what is printed may be: as the terminal is, or as COLUMNS says; elsewhere as it likes."""

import os
import sys
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.measure import Measurement
from rich.table import Table

WIDE = 1000  # columns where nobody says how many: a line stays a line


def is_bounded() -> bool:
    """Whether somebody says how wide: a terminal, or COLUMNS."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()


def console(usual: int) -> Console:
    """So many columns wide where nobody says how wide."""
    return Console(width=None if is_bounded() else usual, highlight=False)


def whole(table: Table) -> "Whole":
    """The same, of which no digit is cut off however narrow it is."""
    return Whole(table)


@dataclass(frozen=True)
class Whole:
    """A table whose cells go on below where it is narrow; where words would be torn, every cell has its own line."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wanted = Measurement.get(console, options.update_width(WIDE), self.table)
        if wanted.minimum > options.max_width:
            yield _stacked(self.table)
            return
        for column in self.table.columns:
            column.overflow = "fold"
        yield self.table


def _stacked(table: Table) -> Group:
    """Its rows one below the other, each as lines: a column's name, and what stands there."""
    made = Table.grid(padding=(0, 2))
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row, cells in zip(table.rows, rows, strict=True):
        for column, cell in zip(table.columns, cells, strict=True):
            made.add_row(column.header, cell, style=row.style)
        made.add_row()
    for column in made.columns:
        column.overflow = "fold"
    return Group(*(part for part in (table.title, made, table.caption) if part))
