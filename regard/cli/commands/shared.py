"""What several commands have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import STANDARD, Command, place
from regard.cli.lines import at_terminal
from regard.config.decoding import BATCH
from regard.config.settings import at_least
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class AboutRun(Command):
    """Is about a run."""

    run: Path = place("RUN")
    """The folder of a run."""

    def ready(self) -> None:
        Folder(self.run).read_config()


@dataclass(frozen=True, kw_only=True)
class OnRun(AboutRun):
    """Asks a run."""

    precision: Literal["float32", "int8"] = "float32"
    """What weights are kept in."""


@dataclass(frozen=True, kw_only=True)
class OnLines(OnRun):
    """Asks a run about every line of a file."""

    file: str = place("FILE", STANDARD)
    """Lines to read; -: standard input."""
    batch: int = at_least(1, BATCH)
    """Lines computed together; 1: answer each line as soon as it is read."""

    @property
    def together(self) -> int:
        """Lines computed together: somebody at a terminal is answered line by line."""
        return 1 if self.file == STANDARD and at_terminal() else self.batch
