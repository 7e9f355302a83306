"""`regard import`."""

from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import Command, option, place
from regard.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ImportCommand(Command):
    """Make a run of a model that another program trained. Nothing in its files is executed."""

    examples = """
        regard import models/SmolLM2-135M --run runs/smol       (a folder of Hugging Face, or a file)
        regard write runs/smol --prompt "The capital of France is" """

    source: Path = place("SOURCE")
    """A file or folder of another program; docs/hub.md lists what can be read."""
    run: Path | None = option(None, "RUN")
    """Where to keep the run; none: runs/NAME."""

    @property
    def kept_in(self) -> Path:
        return self.run or Path("runs") / self.source.resolve().stem

    def ready(self) -> None:
        if self.kept_in.exists():
            raise UserError(f"{self.kept_in} is there already; choose another folder with --run, or delete it")
        if not self.source.exists():
            raise UserError(f"{self.source} does not exist; give a file or a folder of weights")
