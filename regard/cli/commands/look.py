"""`regard look`."""

import os
from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import group, option, place
from regard.cli.commands.shared import OnRun
from regard.config.looking import Choice, PaperWishes, Recording, kind_of_picture
from regard.config.settings import at_least
from regard.errors import UserError

TRACE = ".trace"


@dataclass(frozen=True, kw_only=True)
class LookCommand(OnRun):
    """Where a run looked, and what its cells said, while it read a text and answered it."""

    examples = """
        regard look runs/fr                                                  (the page, in a browser)
        regard look runs/rnn runs/attention                                  (two runs to compare)
        regard look runs/rnn "we are eating bread" --also runs/attention     (the same, with a text)
        regard look runs/fr --story attention                                (a guided walk; or mine.toml)
        regard look runs/fr "we are eating bread" --view map                 (on the terminal)
        regard look runs/fr "we are eating bread" --save map.svg             (png, pdf, html, csv, json, npz)
        regard look runs/mine - --view heads --save heads.png < part.txt
        regard look runs/fr "we are eating bread" --save map.pdf --width 8.5cm --style mine.mplstyle
        regard look runs/mine "it's" --view text --unit 'layer.layers.0.cells[7]' --save cell.html
        regard look runs/rnn "a long text" --view gradients --also runs/lstm --save memory.svg
        regard look runs/fr "we are eating bread" --view beam --save tree.png
        regard look runs/photos dog.jpg --save looks.png                     (a captioner reads a picture)
        regard look runs/fr "we are eating bread" --save all.trace           (everything, to look at later)
        regard look all.trace --view heads                                   (later; without --view on the page)"""

    run: Path = place("RUN")
    """The folder of a run, or a file that --save wrote as trace."""
    text: str | None = place("TEXT", None)
    """What to read, for a captioner a picture; -: standard input."""
    save: Path | None = None
    """As svg, png, pdf, html, csv, json, npz or trace."""
    choice: Choice | None = group(None)
    recording: Recording | None = group(None, "beam", "length", "answer")
    paper: PaperWishes = group(PaperWishes())
    also: tuple[Path, ...] = option((), "RUN")
    """Runs beside, on the page or for gradients."""
    story: str = ""
    """On the page, a guided walk: one of ours by its name, or a file of steps."""
    port: int = at_least(0, 0)
    """Of the page; 0: any that is free."""
    no_open: bool = False
    """Serve the page, and let me open it."""
    exact: bool = False
    """For a trace: attention in float32, four times the size."""

    def check(self) -> None:
        if self.saved and (self.text is not None or self.recording is not None or self.also):
            raise UserError(f"{self.run} holds what was read and answered; leave out what to read, or look at its run")
        if self.saved and self.save is not None and self.save.suffix == TRACE:
            raise UserError(f"{self.run} is a trace already; copy it, or save a picture of it: --save map.svg")
        if self.second and not self.on_page:
            raise UserError(f"{self.text} is a run, and no text to read; name it with --also, or write a text")
        if self.story and not self.on_page:
            raise UserError("a story is told on the page; leave out --save and what is said of a picture")
        if self.save is not None and self.save.suffix != TRACE:
            kind_of_picture(self.save)
        if self.port >= 2**16:
            raise UserError(f"--port wants a number from 0 to 65535, found {self.port}")
        if self.also and not self.on_page and (self.choice is None or self.choice.view != "gradients"):
            raise UserError("--also lays the gradients of several runs over each other; add --view gradients")

    def ready(self) -> None:
        if self.run.suffix != TRACE:
            super().ready()

    @property
    def saved(self) -> bool:
        """What is looked at is a record in a file, without its run."""
        return self.run.suffix == TRACE and not self.run.is_dir()

    @property
    def second(self) -> tuple[Path, ...]:
        """A second run, where a text may stand."""
        named = self.text and os.path.isfile(os.path.join(self.text, "config.toml"))  # Path fails on a long sentence
        return (Path(self.text),) if self.text and named else ()

    @property
    def on_page(self) -> bool:
        """Nothing was said of a picture: the page shows them all."""
        return self.save is None and self.choice is None and self.recording is None
