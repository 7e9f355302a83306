"""A claim of the notes: what it says, how it is measured, and the rule that judges it, fixed before it is run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from regard.errors import unknown

if TYPE_CHECKING:
    from regard.lab.room import Room

Numbers: TypeAlias = dict[str, Any]
"""What one run of a claim measured: names with numbers, or lists of numbers for its figure. It is kept as JSON."""
Verdict = Literal["held", "did not hold", "too noisy to say"]


@dataclass(frozen=True)
class Mark:
    """A number and the mark that it must pass."""

    number: str
    """Its name among the numbers measured."""
    above: float | None = None
    below: float | None = None

    def passed(self, numbers: Numbers) -> bool:
        if self.number not in numbers:
            raise unknown("a mark asks for a number that was not measured:", self.number, numbers)
        value = numbers[self.number]
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)

    def __str__(self) -> str:
        bounds = [f"{sign} {mark:g}" for sign, mark in ((">", self.above), ("<", self.below)) if mark is not None]
        return f"{self.number} {' and '.join(bounds)}"


@dataclass(frozen=True)
class Claim:
    """One sentence of the notes, made so that it can fail."""

    name: str
    says: str
    equation: str
    paper: str
    setup: str
    """What is trained or computed, on which data, at which size; quick and full."""
    marks: tuple[Mark, ...]
    """All of them must be passed."""
    measure: Callable[["Room"], Numbers]
    draw: Callable[[Any, Sequence[Numbers]], None]
    """Draws the numbers of all seeds on a matplotlib figure."""
    next: str
    """What to try from here."""
    changed: str = ""
    """What of the set-up or the rule was changed after a first run, and why; empty: nothing."""
    code: str = ""
    """The checksum of its file, where it is the user's own: what changes there is measured again."""


def judge(claim: Claim, seeds: Sequence[Numbers]) -> Verdict:
    """Held: every seed passes every mark. Did not hold: no seed does. Otherwise: too noisy to say."""
    passed = [all(mark.passed(numbers) for mark in claim.marks) for numbers in seeds]
    return "held" if all(passed) else "too noisy to say" if any(passed) else "did not hold"
