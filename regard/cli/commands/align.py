"""`regard align`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.command import STANDARD, option, place
from regard.cli.commands.shared import OnLines
from regard.config.settings import at_least
from regard.data.files import no_such_file
from regard.errors import UserError
from regard.folder import Folder, is_run


@dataclass(frozen=True, kw_only=True)
class AlignCommand(OnLines):
    """A word alignment of given pairs, by attention or by counting: Pharaoh lines source-target, or how good it is
    against gold."""

    examples = """
        paste test.en test.fr | regard align runs/fr
        regard align runs/fr pairs.txt --gold links.txt              (error rates, beside baselines)
        regard align runs/fr hansards.txt --gold hansards.gold --from-one
        regard align runs/fr --gold phrases-short:french             (built-in pairs with their own gold)
        regard align runs/en-fr pairs.txt --back runs/fr-en          (both directions as one)
        regard align pairs.txt --method counts                       (no run: by counting in these pairs)
        regard align many.tsv pairs.txt --method counts --gold links.txt"""
    piped = "source ||| target"

    run: Path = place("RUN")
    """The folder of a run; with --method counts the pairs to count in."""
    file: str = place("FILE", STANDARD)
    """Lines source<TAB>target or source ||| target; words are what blanks separate; -: standard input, or with
    --method counts the same pairs as are counted in."""
    method: Literal["attention", "counts"] = "attention"
    """Where links come from: what a run looks at, or IBM Model 2 learnt in seconds from the pairs themselves, those of
    FILE included, both directions as one."""
    back: Path | None = option(None, "RUN")
    """A run that translates the other way: its links and RUN's become one alignment."""
    symmetrise: Literal["grow-diag-final-and", "intersection", "union"] = "grow-diag-final-and"
    """How two directions become one."""
    head: str = option("", "NAME")
    """A head as --gold names it; none: the mean of all heads."""
    back_head: str = option("", "NAME")
    """The same for the run given by --back."""
    fed: bool = False
    """Read a word where it is fed to the decoder, not where it is predicted."""
    glued: str = option("", "MARKS")
    """Marks that are words by themselves in FILE, but that the model reads right behind a word, such as ',.'."""
    gold: str | None = option(None, "FILE")
    """Score all heads against these links instead: 0-0 sure, 0?0 or 0p0 possible, the source's word first; or
    phrases:french and the like."""
    from_one: bool = False
    """Gold counts words from 1, as the Hansards do."""
    target_first: bool = False
    """Gold has the target's word first."""
    number: int = at_least(1, 200)
    """How many built-in pairs."""
    json: bool = False
    """Print all weights of each line, or all scores, as JSON."""

    def ready(self) -> None:
        if self.method == "counts":
            for name in (str(self.run), self.file):
                if name != STANDARD and not Path(name).is_file():
                    raise no_such_file(
                        Path(name), "with --method counts give files of pairs, the one to count in first"
                    )
            if self.back is not None or self.head or self.back_head or self.fed or (self.json and not self.gold):
                raise UserError(
                    "--back, --head, --fed and weights as --json are of attention; leave out --method counts"
                )
            return
        if self.run.is_file() and not is_run(self.run):
            raise UserError(f"{self.run} is a file, wanted the folder of a run; to align by counting: --method counts")
        super().ready()
        if self.back is not None:
            Folder(self.back).read_config()
