"""`regard find`."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

from regard.cli.command import files, group, option, place
from regard.cli.commands.shared import AboutRun
from regard.config.looking import Effort, PaperWishes, kind_of_picture
from regard.errors import UserError

TERMINAL = "terminal"


@dataclass(frozen=True, kw_only=True)
class FindCommand(AboutRun):
    """Which cells and heads follow a property of the text, beyond chance, architecture and echo."""

    examples = """
        regard find runs/mine --property quotes
        regard find runs/mine --property quotes --property depth --data other.c --evidence found.html
        regard find runs/mine --property my.py:vowels                    (a function of your own)
        regard find runs/mine --property 'regex:[0-9]+'                  (an expression)
        regard find runs/fr --side source --property capitals            (a translator's encoder, over what it reads)
        regard find runs/mine --units '*.cells' --number 3 --save found.json"""
    old = (("top", "number"),)

    run: Path = place("RUN")
    """The folder of a run."""
    property: tuple[str, ...] = option((), "NAME")
    """What to look for: a name below, regex:EXPRESSION, or FILE.py:FUNCTION, which runs that file; none: all below that
    occur in the text."""
    data: tuple[str, ...] = files()
    """What to read, as for evaluate; none: what the run held out."""
    effort: Effort = group(Effort(), "units", "side", "number", "shifts", "seed")
    json: bool = False
    """Print every figure as JSON instead, a line for each unit."""
    save: Path | None = None
    """Write every figure there: json; or a picture of them, svg, png, pdf, html, csv or npz."""
    paper: PaperWishes = group(PaperWishes())
    evidence: str | None = option(None, "FILE.html")
    """Text coloured by the best unit of each property; terminal: print it."""

    def check(self) -> None:
        if self.evidence and self.evidence != TERMINAL and Path(self.evidence).suffix != ".html":
            raise UserError(f"--evidence wants a name that ends in .html, or {TERMINAL}, found '{self.evidence}'")
        if self.save is not None:
            kind_of_picture(self.save)
        _own().check_names(self.property)

    def ready(self) -> None:
        super().ready()
        for file in self.own_files():
            if not file.is_file():
                raise UserError(f"--property names {file}, which is no file; check its path")

    @cached_property  # `property` is a field here
    def where(self) -> str | tuple[str, ...]:
        return self.data if len(self.data) > 1 else next(iter(self.data), "")

    def own_files(self) -> tuple[Path, ...]:
        """The files that have to be run to know what to look for; `property` is a field here."""
        return tuple(dict.fromkeys(filter(None, map(_own().own_file, self.property))))

    @classmethod
    def more(cls) -> str:
        known = {name: _properties().description(one) for name, one in _properties().PROPERTIES.items()}
        return "properties:\n" + "\n".join(f"  {name:<{max(map(len, known))}}  {said}" for name, said in known.items())


def _properties() -> ModuleType:
    """They want numpy, for which the other commands shall not wait."""
    return import_module("regard.look.find.properties")


def _own() -> ModuleType:
    return import_module("regard.look.find.own")
