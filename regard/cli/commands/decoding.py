"""`regard write`, `translate` and `score`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import STANDARD, group, option, place
from regard.cli.commands.shared import Answering, InBatches
from regard.config.decoding import Search, Writing
from regard.data.files import no_such_file
from regard.errors import UserError
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class WriteCommand(Answering):
    """A language model goes on with a text, shown as it is made."""

    examples = """
        regard write runs/mine --prompt "def "
        regard write runs/mine --prompt "The " --temperature 0.7 --top-p 0.9 --number 3 --seed 1
        head -5 story.txt | regard write runs/mine --stop 'The end'"""
    old = (("n", "number"),)

    prompt: str | None = None
    """What to go on from; - or, in a pipe, none: standard input (less its last line end)."""
    writing: Writing = group(Writing())


@dataclass(frozen=True, kw_only=True)
class TranslateCommand(InBatches):
    """Translate lines, one line of output for each line of input."""

    examples = """
        regard translate runs/fr input.en > output.fr
        echo 'we are eating bread' | regard translate runs/fr --alignments pharaoh
        regard translate runs/fr input.en --out output.fr --processes 8
        regard translate runs/fr input.en --terms glossary.tsv --report terms.tsv
        regard translate runs/fr input.en --n-best 5 --must 'le chat' --must vélo --ensemble runs/fr2"""
    old = (*InBatches.old, ("output", "out"), ("save", "out"))
    in_one_piece = ("report",)

    file: str = place("FILE", STANDARD)
    """Lines to translate; -: standard input, where a terminal is answered line by line."""
    search: Search = group(Search())
    terms: str = option("", "FILE")
    """A glossary, source term<TAB>target term: a line with the one is translated with the other."""
    report: Path | None = None
    """Write there what became of each term: line from 1, source term, target term, met or not met."""
    ensemble: tuple[Path, ...] = option((), "RUN")
    """Runs that join in."""
    scores: bool = False
    """Print text ||| score."""
    alignments: Literal["", "pharaoh", "json"] = ""
    """Where it looked: text ||| source-target word pairs from 0, or a JSON object with all weights."""
    json: bool = False
    """Print a JSON object for each translation: its line from 0, text and score."""

    def check(self) -> None:
        super().check()
        if self.terms == self.file == STANDARD:
            raise UserError("standard input can be read once, found - for FILE and for --terms; name a file for one")
        if self.terms == STANDARD and self.in_shards:
            raise UserError("several processes cannot read --terms from standard input; name a file")
        if self.report and self.report == self.out:
            raise UserError(f"--out and --report both name {self.out}; choose another file for one of them")
        if self.report and not self.terms:
            raise UserError("--report says what became of terms; add --terms FILE")

    def relies_on(self) -> tuple[Path, ...]:
        terms = (Path(self.terms),) if self.terms else ()
        return (*super().relies_on(), *(Folder(run).weights for run in self.ensemble), *terms)

    def ready(self) -> None:
        super().ready()
        if self.terms not in ("", STANDARD) and not os.path.exists(self.terms):
            raise no_such_file(Path(self.terms))

    @classmethod
    def more(cls) -> str:
        return "With --n-best as Moses and Marian write: line from 0 ||| text ||| logprob= sum of log p ||| score."


@dataclass(frozen=True, kw_only=True)
class ScoreCommand(InBatches):
    """How probable each line is: log p, bits per byte, line, with tabs between them."""

    examples = """
        regard score runs/mine lines.txt | sort -n
        paste test.en test.fr | regard score runs/fr              (log p of the target, given the source)
        regard score runs/mine lines.txt --tokens                 (JSON, token by token)"""

    file: str = place("FILE", STANDARD)
    """Lines to score, for a translator source<TAB>target; -: standard input."""
    json: bool = False
    """Print a JSON object for each line."""
    tokens: bool = False
    """The same with log p of each token."""
