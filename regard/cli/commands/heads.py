"""`regard heads`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from regard.cli.command import files, group
from regard.cli.commands.shared import OnRun
from regard.config.looking import PaperWishes, kind_of_picture
from regard.config.settings import at_least

Share = Literal["first", "stop", "rare", "digits", "dates"]
SHARES: tuple[Share, ...] = get_args(Share)


@dataclass(frozen=True, kw_only=True)
class HeadsCommand(OnRun):
    """What each head of self-attention looks at, beside what weights without a choice would give."""

    examples = """
        regard heads runs/mine
        regard heads runs/mine --sort induction --show 12 --save heads.png
        regard heads runs/mine --data other.txt --conllu en_ewt-ud-dev.conllu --save heads.json"""
    old = (("texts", "number"),)

    data: tuple[str, ...] = files()
    """What to read, as for evaluate; none: the held-out part."""
    number: int = at_least(1, 100)
    """How many stretches of it."""
    conllu: Path | None = None
    """Parsed sentences: measures grammatical relations."""
    sentences: int = at_least(1, 2000)
    """Parsed sentences at most."""
    sort: Literal["head", "confidence", "entropy", Share, "offset", "induction", "relation", "loss"] = "head"
    """Largest first."""
    show: int = at_least(0, 0)
    """Heads in the table and the picture, by what they are sorted by; 0: all."""
    json: bool = False
    """Print all figures as JSON instead, offset by offset."""
    save: Path | None = None
    """Write all figures there: json; or a picture of them, svg, png, pdf, html, csv or npz."""
    paper: PaperWishes = group(PaperWishes())

    def check(self) -> None:
        if self.save is not None:
            kind_of_picture(self.save)

    @property
    def where(self) -> str | tuple[str, ...] | None:
        return self.data if len(self.data) > 1 else next(iter(self.data), None)
