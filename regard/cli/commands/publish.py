"""`regard publish`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import Command, option, place
from regard.errors import UserError
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class PublishCommand(Command):
    """Makes a page about runs that needs no Python: files for any web server, or for a double click."""

    examples = """
        regard publish runs/fr --to site                      (then open site/index.html)
        regard publish runs/rnn runs/lstm runs/fr --to site   (several, to choose from and to compare)
        regard publish runs/mine --to site --find quotes      (a search for cells that follow quotes, too)
        regard publish runs/fr --to site --story mine.toml    (a guided walk of one's own)"""

    runs: tuple[Path, ...] = place("RUN …")
    """Folders of runs."""
    to: Path | None = option(None, "FOLDER")
    """The folder that is made."""
    bits: Literal["auto", "8", "16", "32"] = "auto"
    """Of each weight; auto: 16, or 8 for a model of a million parameters and more."""
    find: tuple[str, ...] = option((), "PROPERTY")
    """Searches to be done now, for the page cannot: what each cell and head has to do with a property."""
    story: tuple[str, ...] = option((), "STORY")
    """Guided walks before ours: files of steps."""

    def check(self) -> None:
        if self.to is None:
            raise UserError("publish wants a folder to make, found none; add --to site")

    def ready(self) -> None:
        for path in self.runs:
            Folder(path).read_config()
        if self.to is not None and self.to.exists():
            raise UserError(f"{self.to} is there already; name another place, or remove it first")
