"""What several commands have."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from regard.cli.command import STANDARD, Command, place
from regard.cli.lines import at_terminal
from regard.config import Where
from regard.config.decoding import BATCH
from regard.config.settings import at_least
from regard.data.files import no_such_file
from regard.errors import UserError
from regard.folder import Folder, is_run


def must_be_there(*places: Where) -> None:
    """Files and corpora to learn from are looked for before anything that takes long to load."""
    from regard.data.corpus import find  # itself not for those who ask for help

    for where in filter(None, places):
        if names := tuple(name for name in ((where,) if isinstance(where, str) else where) if name != STANDARD):
            find(names)


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
class Answering(OnRun):
    """Has a run answer."""

    engine: Literal["auto", "native", "torch"] = "auto"
    """What computes the answers; auto: native where it knows the model (regard doctor RUN says whether)."""
    threads: int = at_least(0, 0)
    """Processors to use at most; 0: as many as there are."""


@dataclass(frozen=True, kw_only=True)
class OnLines(OnRun):
    """Asks a run about every line of a file."""

    piped: ClassVar[str] = ""
    """What a text that is piped must look like, where it is more than a sentence."""

    file: str = place("FILE", STANDARD)
    """Lines to read; -: standard input."""

    def ready(self) -> None:
        if not is_run(self.run) and is_run(Path(self.file)):
            right = shlex.join(["regard", self.called(), self.file, str(self.run)])
            raise UserError(f"{self.run} is not a run, {self.file} is one; write the run first: {right}")
        super().ready()
        if self.file != STANDARD and not os.path.exists(self.file):  # Path.exists fails on the name of a long sentence
            is_name = not any(map(str.isspace, self.file)) and ("/" in self.file or Path(self.file).suffix)
            remedy = "check the path" if is_name else self.instead([str(self.run), self.file])
            raise no_such_file(Path(self.file), remedy)

    @classmethod
    def instead(cls, words: Sequence[str]) -> str:
        run, *others = words
        if all(map(os.path.exists, others)):
            return f"join files in a pipe: cat {shlex.join(others)} | {shlex.join(['regard', cls.called(), run])}"
        text = cls.piped or " ".join(others)
        return f"to {cls.called()} a text, pipe it: echo {shlex.quote(text)} | regard {cls.called()} {shlex.quote(run)}"


@dataclass(frozen=True, kw_only=True)
class InBatches(OnLines, Answering):
    """Asks about several lines at a time."""

    batch: int = at_least(1, BATCH)
    """Lines computed together; 1: answer each line as soon as it is read."""

    @property
    def together(self) -> int:
        """Lines computed together: somebody at a terminal is answered line by line."""
        return 1 if self.file == STANDARD and at_terminal() else self.batch
