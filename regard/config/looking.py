"""What can be wished of looking inside (its options)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.config.settings import Settings, at_least
from regard.errors import UserError

PICTURES = ("svg", "png", "pdf", "html", "json", "csv", "npz")
"""Kinds of files that a view can be saved as."""
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
NARROWEST, WIDEST = 1.0, 40.0  # inches of a picture
ALL = -1
"""Every layer, or every head."""


@dataclass(frozen=True)
class Recording(Settings):
    """What to record."""

    beam: int = at_least(1, 5)
    """Hypotheses that are followed at once; 1: always the most probable token, and no tree."""
    length: int = at_least(0, 0)
    """For a language model: how many tokens it goes on for; 0: it only reads."""
    answer: str = ""
    """What it is made to say, in place of what it would."""
    said: tuple[int, ...] = ()
    """The same as tokens, a stop included where it ends: an answer that is known already, and is not searched for."""
    begin: tuple[int, ...] = ()
    """Tokens that the answer begins with, to go on from another one than the model chose."""
    top: int = at_least(1, 5)
    """How many of the most probable tokens at each step."""
    paths: tuple[str, ...] = ()
    """Taps besides attention weights, hidden states, cells and gates, by role, path or pattern of paths."""


@dataclass(frozen=True)
class Choice(Settings):
    """What to draw."""

    view: Literal["", "map", "heads", "text", "gradients", "beam"] = ""
    """Which picture; none: a map where there is attention, else coloured text."""
    attention: Literal["", "cross", "self", "encoder"] = ""
    """Of what is written to what was read; within what is written; within what was read; none: the first one."""
    layer: int = at_least(ALL, ALL)
    """Of that attention, from 0; -1: all, a map shows their mean."""
    head: int = at_least(ALL, ALL)
    """From 0; -1: all, a map shows their mean."""
    unit: str = ""
    """For text: a cell as path[number]; none: of the last layer the one that varies most."""
    measure: Literal["attention", "norms", "rollout", "gradient", "off"] = "attention"
    """For a map: the weights; times the length of the values; rolled out (an approximation); gradient × input; Δ log p
    without the token."""
    reading: Literal["", "fed", "predicted"] = ""
    """Whose row it is: the token fed or the token predicted; none: as is the habit for that attention."""


@dataclass(frozen=True)
class Effort(Settings):
    """How hard to look for units."""

    units: tuple[str, ...] = ()
    """Where: cells, hidden, units, weights (heads), a pattern of paths, or one path[number]; none: all of them."""
    side: Literal["", "source", "target"] = ""
    """Of a run with a source: what it reads, or what it is made to answer; none: both, as far as they are text."""
    number: int = at_least(1, 5)
    """Units listed for each property."""
    shifts: int = at_least(20, 200)
    """Shifts of the label, for the null."""
    controls: int = at_least(1, 10)
    """Units that are clamped for comparison with each one listed."""
    seed: int = 0
    """Of shifts, intervals and new weights."""


@dataclass(frozen=True)
class PaperWishes(Settings):
    """How a saved picture shall look."""

    width: str = ""
    """How wide: 8.5cm, 85mm, 3.35in, 240pt; none: at most as A4 less its margins. Letters keep their size."""
    style: Path | None = None
    """A style of your own: a matplotlib style sheet, read as data."""

    def check(self) -> None:
        _ = self.inches

    @property
    def inches(self) -> float | None:
        """The width in inches, if one was wished for."""
        if not self.width:
            return None
        match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(in|cm|mm|pt)", self.width.strip())
        found = float(match[1]) * INCHES[match[2]] if match else 0.0
        if not NARROWEST <= found <= WIDEST:
            wanted = f"from {NARROWEST:g}in to {WIDEST:g}in, such as 8.5cm, 85mm, 3.35in or 240pt"
            raise UserError(f"--width wants a length {wanted}, found '{self.width}'")
        return found


def kind_of_picture(path: Path) -> str:
    """The kind of file that a name asks for."""
    kind = path.suffix[1:].lower()
    if kind not in PICTURES:
        raise UserError(f"--save wants a name that ends in {', '.join(PICTURES)} or trace, found '{path}'")
    return kind
