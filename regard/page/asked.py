"""What the page may ask for, as a value that is checked when it is made."""

import math
from dataclasses import dataclass
from typing import Any

from regard.config.settings import Settings, at_least, from_table
from regard.errors import UserError

LONGEST = 4000
"""Characters of a text: what a browser can show of a model's inside."""
MOST = 512
"""Tokens to be written."""


@dataclass(frozen=True)
class Question(Settings):
    """One question about one run."""

    run: int = at_least(0, 0)
    """Which of the runs."""
    text: str = ""
    """What is read: the source of a translator or classifier, the beginning for a language model."""
    picture: str = ""
    """For a captioner, what is read: `scene:NUMBER`, or the bytes of a file in base 64."""
    answer: tuple[int, ...] = ()
    """Tokens that the answer begins with, to go on from an alternative or a branch."""
    said: tuple[int, ...] = ()
    """The whole answer, which is known already: whatever is asked about it is about these tokens, and no others."""
    wording: str = ""
    """The whole answer as text: what another run said, to be judged by this one."""
    length: int = at_least(0, 0)
    """For a language model: tokens to be written behind the text."""
    beam: int = at_least(1, 1)
    """Hypotheses that are followed at once; 1: always the most probable token."""
    off: tuple[str, ...] = ()
    """Heads that add nothing, by name: path[number]."""
    held: tuple[tuple[str, float], ...] = ()
    """Cells that always say a value: (path[number], value)."""
    temperature: float = 0.0
    """For a language model: 0 takes the most probable token, above 0 draws one."""
    seed: int = at_least(0, 0)
    """The same seed, the same draw."""
    head: str = ""
    """For the workbench: the head whose queries, keys and values are wanted."""
    property: str = ""
    """For the finder: what to look for."""

    def check(self) -> None:
        if len(self.text) > LONGEST:
            raise UserError(f"a text has at most {LONGEST:,} characters here, found {len(self.text):,}; shorten it")
        if self.length > MOST:
            raise UserError(f"at most {MOST} tokens are written here, found {self.length}; ask for fewer")
        if self.beam > 16:
            raise UserError(f"beam must be at most 16 here, found {self.beam}")
        if len(self.wording) > LONGEST:
            raise UserError(
                f"an answer has at most {LONGEST:,} characters here, found {len(self.wording):,}; shorten it"
            )
        for name, tokens in (("answer", self.answer), ("said", self.said)):
            if not all(isinstance(token, int) and not isinstance(token, bool) and token >= 0 for token in tokens):
                raise UserError(f"{name} must be tokens by their number, found {list(tokens)[:8]}")
            if len(tokens) > LONGEST:
                raise UserError(f"an answer has at most {LONGEST:,} tokens here, found {len(tokens):,}")
        if not (isinstance(self.temperature, float) and math.isfinite(self.temperature) and self.temperature >= 0):
            raise UserError(f"temperature must be a number from 0 up, found {self.temperature}")
        if not all(isinstance(name, str) for name in self.off):
            raise UserError("off must be names of heads, path[number]")
        for pair in self.held:
            if not (
                isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) and _number(pair[1])
            ):
                raise UserError("held must be pairs of a cell's name and a number")


def question(found: Any) -> Question:
    """A question out of what came in."""
    if not isinstance(found, dict):
        raise UserError(f"a question is an object with fields, found {type(found).__name__}")
    try:
        return from_table(Question, found)
    except UserError as error:
        raise UserError(str(error).replace("setting", "field").replace("the recipe", "a question")) from None


def _number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
