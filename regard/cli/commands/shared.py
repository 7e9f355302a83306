"""What several commands have."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, Self

from regard.cli.command import STANDARD, Command, option, place, untyped
from regard.cli.lines import at_terminal, count_lines, read_lines
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
class InShards(Answering):
    """Has a run answer one thing after the other, so that the work can be shared out (`bodies/shards.py`)."""

    in_one_piece: ClassVar[tuple[str, ...]] = ()
    """Fields that want all answers in one process."""

    out: Path | None = None
    """Write the answers there instead, as they are made; in shards, whole when all are there."""
    processes: int = at_least(1, 1)
    """Processes that share the work; what is done when they are stopped is not done again."""
    shard: str = option("", "K/N")
    """Only the K-th of N parts, for N machines: written to OUT.K-of-N; all of them in a row are the whole."""
    ray: str = option("", "ADDRESS")
    """Have a Ray cluster do it (regard[ray]), which must see the run's folder; auto: the one of this machine."""
    first: int | None = untyped(None)
    """Of a piece of the work: how many lines stand before it. None: this is no piece."""

    def check(self) -> None:
        if not self.in_shards:
            return
        if self.out is None or str(self.out) == STANDARD:
            raise UserError("answers in shards are kept on the disk; name a file for them: --out FILE")
        if self.shard:
            self.part()
        for name in self.in_one_piece:
            if getattr(self, name):
                raise UserError(f"--{name} wants all answers at once; leave out --processes, --shard and --ray")

    def body(self) -> tuple[str, str]:
        return ("regard.cli.bodies.shards", "in_shards") if self.in_shards else super().body()

    @property
    def in_shards(self) -> bool:
        return self.processes > 1 or bool(self.shard or self.ray)

    @property
    def at_once(self) -> int:
        """How many are computed together."""
        return BATCH

    def part(self) -> tuple[int, int]:
        """Which part of how many."""
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", self.shard)
        part, parts = map(int, found.groups()) if found else (0, 0)
        if not 1 <= part <= parts:
            raise UserError(f"--shard wants a part and how many there are, such as 3/16, found '{self.shard}'")
        return part, parts

    def relies_on(self) -> tuple[Path, ...]:
        """The files that answers depend on, beside what is asked about."""
        return (Folder(self.run).weights,)

    def items(self) -> Iterable[str]:
        """What is asked about, one by one."""
        raise NotImplementedError

    def count(self) -> int | None:
        """How many they are, where that can be known before they are read."""
        raise NotImplementedError

    def about(self, items: Sequence[str], folder: Path) -> Self:
        """The same command about these alone; the folder is there for a file of them."""
        raise NotImplementedError


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
class InBatches(OnLines, InShards):
    """Asks about several lines at a time."""

    old: ClassVar[tuple[tuple[str, str], ...]] = (("batch", "together"),)  # in a recipe, a batch is so many tokens

    together: int = at_least(1, BATCH)
    """Lines computed together; 1: answer each line as soon as it is read."""

    @property
    def at_once(self) -> int:
        """Lines computed together: somebody at a terminal is answered line by line."""
        return 1 if self.file == STANDARD and at_terminal() else self.together

    def check(self) -> None:
        super().check()
        if self.out and self.out.exists() and Path(self.file).exists() and self.out.samefile(self.file):
            raise UserError(f"{self.out} is also what is to be read; choose another file for --out")

    def items(self) -> Iterable[str]:
        return read_lines(self.file)

    def count(self) -> int | None:
        return count_lines(self.file)

    def about(self, items: Sequence[str], folder: Path) -> Self:
        file = folder / "lines"
        # A mark at the beginning and a \r before each end are taken off again when it is read, and nothing else is.
        file.write_text("\ufeff" + "".join(f"{line}\r\n" for line in items), encoding="utf-8", newline="")
        return replace(self, file=str(file))
