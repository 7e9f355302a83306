"""`regard find`."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from regard.cli.command import group, option, place
from regard.cli.commands.shared import AboutRun
from regard.config.looking import Effort
from regard.errors import UserError

TERMINAL = "terminal"


@dataclass(frozen=True, kw_only=True)
class FindCommand(AboutRun):
    """Which cells and heads follow a property of the text, beyond chance, architecture and echo."""

    examples = """
        regard find runs/mine --property quotes
        regard find runs/mine --property quotes depth --data other.c --evidence found.html
        regard find runs/mine --units '*.cells' --number 3 --save found.json"""
    old = (("top", "number"),)

    run: Path = place("RUN")
    """The folder of a language model's run."""
    property: tuple[str, ...] = option((), "NAME")
    """What to look for; none: all that occur in the text."""
    data: str = option("", "FILE")
    """Text to read; none: what the run held out."""
    effort: Effort = group(Effort(), "units", "number", "shifts", "seed")
    json: bool = False
    """Print every figure as JSON instead, a line for each unit."""
    save: Path | None = None
    """Write every figure there, as JSON."""
    evidence: str | None = option(None, "FILE.html")
    """Text coloured by the best unit of each property; terminal: print it."""

    def check(self) -> None:
        if self.evidence and self.evidence != TERMINAL and Path(self.evidence).suffix != ".html":
            raise UserError(f"--evidence wants a name that ends in .html, or {TERMINAL}, found '{self.evidence}'")
        _properties().properties_named(self.property)

    @classmethod
    def more(cls) -> str:
        known = {name: _properties().description(one) for name, one in _properties().PROPERTIES.items()}
        return "properties:\n" + "\n".join(f"  {name:<{max(map(len, known))}}  {said}" for name, said in known.items())


def _properties() -> ModuleType:
    """They want numpy, for which the other commands shall not wait."""
    return import_module("regard.look.find.properties")
