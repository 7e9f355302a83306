"""`regard init`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import Command, files, option, place
from regard.cli.commands.shared import must_be_there
from regard.cli.lines import at_terminal
from regard.errors import UserError


@dataclass(frozen=True, kw_only=True)
class InitCommand(Command):
    """Look at files, and write a recipe for them with an estimate of minutes."""

    examples = """
        regard init                                         (asks three questions)
        regard init my.en my.fr --minutes 20
        regard init reviews.csv --columns review stars --model lstm --yes"""
    old = (("data.columns", "columns"),)  # as it is called in a recipe

    data: tuple[str, ...] = place("FILE", ())
    """What to learn from: a file, a folder, two parallel files, or a built-in corpus."""
    run: Path | None = option(None, "RUN")
    """Where the run is to be kept; none: runs/NAME."""
    kind: str = "auto"
    """What to make of it: text, pairs, labels, tags, captions; auto: as the files look."""
    columns: tuple[str, ...] = files("NAME")
    """Columns of a table: what is read, then what is answered."""
    model: Literal["rnn", "lstm", "gru", "transformer"] = "gru"
    """Kind of layer."""
    minutes: float | None = option(None, "N")
    """How long it may take; none: as long as that amount of data wants."""
    yes: bool = False
    """Ask nothing."""
    save: Path | None = option(None, "FILE")
    """The recipe to write; none: NAME.toml."""

    def ready(self) -> None:
        if not (self.data or at_terminal()):
            raise UserError("init wants files to look at, found none; write regard init FILE --yes")
        if not (self.yes or self.minutes is not None or at_terminal()):
            raise UserError("init asks how long it may take, and nobody is there to answer; add --minutes N, or --yes")
        if self.minutes is not None and self.minutes <= 0:
            raise UserError(f"--minutes must be above 0, found {self.minutes}")
        if self.data:
            self.free(self.data)
            must_be_there(self.data)

    def free(self, data: tuple[str, ...]) -> Path:
        """Where the recipe goes: never over a file that is there."""
        stem = self.run.name if self.run else Path(data[0]).name.partition(".")[0] or "mine"
        path = self.save or Path(f"{stem.replace(':', '-')}.toml")
        if path.exists():
            raise UserError(f"{path} is there already and stays as it is; choose another with --save FILE.toml")
        return path
