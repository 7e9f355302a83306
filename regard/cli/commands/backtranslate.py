"""`regard backtranslate`."""

from dataclasses import dataclass
from pathlib import Path

from regard.cli.command import Command, files, group, option, place
from regard.cli.commands.shared import must_be_there
from regard.config.decoding import Search
from regard.config.settings import at_least
from regard.errors import UserError
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class BacktranslateCommand(Command):
    """Make pairs from text in one language: a run of the other direction says what each line may have been."""

    examples = """
        regard backtranslate runs/fr-en more.fr --out more.tsv
        regard backtranslate runs/fr-en more.fr --real my.en my.fr --times 2 --out both.tsv --processes 4
        regard train --data.train both.tsv --data.valid dev.en dev.fr --model transformer --run runs/en-fr"""

    run: Path = place("RUN")
    """A translator of the other direction: from the language of FILE."""
    file: Path = place("FILE")
    """Text in the language that is to be written better, line by line."""
    out: Path | None = option(None, "FILE")
    """Where the pairs go, source<TAB>target: what the run made of a line, and the line."""
    real: tuple[str, ...] = files()
    """Pairs that people made, to stand in front of them: a file, two files, or a corpus."""
    times: int = at_least(1, 1)
    """How often those stand there, so that those made outweigh them less."""
    tag: str = "⟲"
    """A mark before each source that was made; one character, so every kind of token has it whole."""
    search: Search = group(Search(), "beam", "length_penalty")
    ensemble: tuple[Path, ...] = option((), "RUN")
    """Runs that join in."""
    processes: int = at_least(1, 1)
    """Processes that share the work; what is done when they are stopped is not done again."""

    def check(self) -> None:
        if self.out is None:
            raise UserError("backtranslate wants a file for the pairs, found none; add --out FILE")
        if "\t" in self.tag or "\n" in self.tag:
            raise UserError("--tag stands in a line of source<TAB>target, found a tab or a line end in it")

    def ready(self) -> None:
        Folder(self.run).read_config()
        must_be_there((str(self.file),), self.real)
        if self.pairs.exists():
            raise UserError(f"{self.pairs} is there already; remove it, or name another --out")

    @property
    def pairs(self) -> Path:
        assert self.out is not None
        return self.out
