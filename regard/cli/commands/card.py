"""`regard card`."""

from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import option
from regard.cli.commands.shared import AboutRun
from regard.errors import UserError


@dataclass(frozen=True, kw_only=True)
class CardCommand(AboutRun):
    """Writes a model card: what a run is, from what data, how good, and how it is used."""

    examples = """
        regard card runs/fr                                   (on the screen)
        regard card runs/fr --save runs/fr/README.md          (where others look for it)"""

    save: Path | None = option(None, "FILE")
    """A file that is made; none: it is printed."""

    def ready(self) -> None:
        super().ready()
        if self.save is not None and self.save.exists():
            raise UserError(f"{self.save} is there already; name another file, or remove it first")
