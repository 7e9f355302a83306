"""How wide what is printed may be: as the terminal is, or as COLUMNS says; elsewhere as it likes."""

import os
import sys

from rich.console import Console
from rich.table import Table

WIDE = 1000  # columns where nobody says how many: a line stays a line


def is_bounded() -> bool:
    """Whether somebody says how wide: a terminal, or COLUMNS."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()


def console(usual: int) -> Console:
    """So many columns wide where nobody says how wide."""
    return Console(width=None if is_bounded() else usual, highlight=False)


def whole(table: Table) -> Table:
    """The same where it is narrow: a cell goes on below, and no digit is cut off."""
    for column in table.columns:
        column.overflow = "fold"
    return table
