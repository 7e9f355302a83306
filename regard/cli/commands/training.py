"""`regard train`, `distill`, `evaluate`, `compare` and `demo`."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.cli.command import Command, files, group, option, place, settings
from regard.cli.commands.shared import Answering, must_be_there
from regard.config import Recipe, recipe_from, to_table
from regard.config.decoding import Search
from regard.config.recipe import read_toml
from regard.config.settings import at_least
from regard.errors import UserError
from regard.folder import Folder, SeedSet, is_run, runs_in


@dataclass(frozen=True, kw_only=True)
class TrainCommand(Command):
    """Train a model by a recipe, or go on with a run that stopped."""

    examples = """
        regard train examples/lm-lstm.toml
        regard train examples/lm-lstm.toml --train.steps 500 --model.layer.width 256
        regard train --data.train my.txt --model lstm --run runs/mine
        regard train --data.train my.en my.fr --train.minutes 20 --run runs/fr
        regard train runs/mine                              (goes on where it stopped)
        regard train examples/lm-lstm.toml --seeds 5        (how much is chance?)
        torchrun --nproc-per-node 2 -m regard train examples/lm-lstm.toml --folder runs/two"""
    old = (("folder", "run"),)  # and torchrun takes --run for an option of its own
    own = ("data", "train", "model", "text", "pictures")

    recipe: Path | None = place("RECIPE", None, ending=".toml")
    """A recipe (TOML), or the folder of a run to go on with."""
    run: Path | None = option(None, "RUN")
    """Where to keep the run; none: runs/NAME."""
    seeds: int | None = option(None, "N")
    """Train so many times, with this seed and the next ones, and say how far they are apart."""
    changes: dict[str, Any] = settings(Recipe)

    def ready(self) -> None:
        if self.seeds is not None and self.seeds < 1:
            raise UserError(f"--seeds wants a whole number from 1 up, found {self.seeds}")
        if self.wanted is not None and not (self.kept_in / "config.toml").exists():
            data = self.wanted.data
            must_be_there(data.train, data.valid, data.test)

    @cached_property
    def wanted(self) -> Recipe | None:
        """The recipe with its changes; none: go on as the run has it."""
        if self.goes_on:
            if self.run not in (None, self.recipe):
                raise UserError(
                    f"{self.recipe} is a run already, so --run {self.run} has no meaning; "
                    "give a recipe, or leave --run out"
                )
            if SeedSet(self.kept_in).exists:
                return recipe_from(to_table(SeedSet(self.kept_in).read()[0]), self.changes)
            config = self.kept_in / "config.toml"
            return recipe_from(read_toml(config), self.changes) if self.changes and config.exists() else None
        if self.recipe is None and not self.changes:
            raise UserError("train wants a recipe or --data.train FILE, found neither; see regard train --help")
        return recipe_from({} if self.recipe is None else read_toml(self.recipe), self.changes)

    @property
    def goes_on(self) -> bool:
        return self.recipe is not None and self.recipe.is_dir()

    @property
    def kept_in(self) -> Path:
        if self.recipe is not None and self.goes_on:
            return self.recipe
        return self.run or Path("runs") / (self.recipe.stem if self.recipe is not None else "mine")

    @classmethod
    def more(cls) -> str:
        return "Any setting of a recipe is an option, --section.key VALUE; regard train --settings lists them."


@dataclass(frozen=True, kw_only=True)
class DistillCommand(Command):
    """Train a run that learns what other runs find probable: one that is small or quick from several that are good."""

    examples = """
        regard distill runs/fr-0 runs/fr-1 --run runs/small --model.encoder.layers 1 --model.decoder.layers 1
        regard distill runs/fr --run runs/gru --model gru --train.steps 4000
        regard distill runs/fr-0 runs/fr-1 --run runs/small --unlabelled more.en --processes 4"""
    own = ("model", "train")

    teachers: tuple[Path, ...] = place("RUN")
    """Its teachers, which answer together: runs of one kind with the same tokenizers, of any architecture."""
    run: Path | None = option(None, "RUN")
    """Where to keep the new run; where it is one already, its training goes on."""
    unlabelled: Path | None = None
    """Further sources, line by line: the teachers translate them, and it learns from that too."""
    search: Search = group(Search(), "beam", "length_penalty")
    processes: int = at_least(1, 1)
    """Processes that translate; what is done when they are stopped is not done again."""
    changes: dict[str, Any] = settings(Recipe)

    def check(self) -> None:
        if self.run is None:
            raise UserError("distill wants a folder for the new run, found none; add --run RUN")
        if kept := [name for name in self.changes if name.partition(".")[0] not in self.own]:
            raise UserError(f"a student has the data and tokens of its teachers, found --{kept[0]}; leave it out")

    def ready(self) -> None:
        for path in self.teachers:
            Folder(path).read_config()
        if self.unlabelled:
            must_be_there(str(self.unlabelled))

    @property
    def kept_in(self) -> Path:
        assert self.run is not None
        return self.run

    @property
    def goes_on(self) -> bool:
        return is_run(self.kept_in)

    @property
    def changed(self) -> Recipe | None:
        """The run's own recipe with what is typed now; none: as it is."""
        return recipe_from(to_table(Folder(self.kept_in).read_config()), self.changes) if self.changes else None

    @property
    def wanted(self) -> Recipe:
        """The first teacher's recipe with its changes, to begin from new weights."""
        there = to_table(Folder(self.teachers[0]).read_config())
        there["model"] = {**there["model"], "start_from": ""}
        there["train"] = {**there["train"], "teacher": 0.5, "lora": 0, "last": 0}
        return recipe_from(there, self.changes)

    @classmethod
    def more(cls) -> str:
        return (
            "Settings of [model] and [train] are options, which regard distill --settings lists; "
            "those left out are as the first teacher has them."
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateCommand(Answering):
    """How good a run is on text that it was not trained on."""

    examples = """
        regard evaluate runs/mine
        regard evaluate runs/mine --data test.en test.fr --beam 5 --json
        regard evaluate runs/mine --precision int8          (and the change against float32)"""
    old = (("data.columns", "columns"),)  # as it is called in a recipe

    data: tuple[str, ...] = files()
    """Other data than the run's own: a file, two files, or a corpus."""
    columns: tuple[str, ...] = files("NAME")
    """Its columns, if it is a table with other names than the run's: what is read, then what is answered."""
    search: Search = group(Search(beam=1), "beam", "length_penalty")
    ensemble: tuple[Path, ...] = option((), "RUN")
    """Runs that join in."""
    json: bool = False
    """Print JSON."""

    def ready(self) -> None:
        runs_in(self.run)

    @property
    def where(self) -> str | tuple[str, ...] | None:
        return one_or_more(self.data)


@dataclass(frozen=True, kw_only=True)
class CompareCommand(Command):
    """Is one run better than another on the same data, or is it chance?"""

    examples = """
        regard compare runs/lstm runs/transformer
        regard compare runs/a runs/b --data test.en test.fr --beam 5 --json"""

    run: Path = place("RUN_A")
    """The folder of a run, or of its seeds."""
    other: Path = place("RUN_B")
    """Of another: figures are the second less the first."""
    data: tuple[str, ...] = files("FILE")
    """Other data than their own: a file, two files, or a corpus."""
    search: Search = group(Search(beam=1), "beam", "length_penalty")
    json: bool = False
    """Print JSON."""

    def ready(self) -> None:
        for path in (self.run, self.other):
            runs_in(path)

    @property
    def where(self) -> str | tuple[str, ...] | None:
        return one_or_more(self.data)


@dataclass(frozen=True, kw_only=True)
class DemoCommand(Command):
    """Train a small translator in about 90 seconds and see where it looks."""

    examples = """
        regard demo"""
    old = (("folder", "run"),)

    run: Path = option(Path("runs/demo"), "RUN")
    """Where to keep the run."""


def one_or_more(data: tuple[str, ...]) -> str | tuple[str, ...] | None:
    """Where the data is that was named, if any was."""
    return data if len(data) > 1 else next(iter(data), None)
