"""How far a long piece of work has come, shown on a terminal and nowhere else."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def watched(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """The same items; on a terminal, how many have been taken so far and how long the rest will take."""
    if not sys.stderr.isatty():  # whoever reads a file need not wait for what draws bars
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(file=sys.stderr)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield from bar.track(items, total=total)
