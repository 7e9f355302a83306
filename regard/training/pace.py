"""How long updates and looks took so far, and so how long the rest will take."""

from dataclasses import dataclass, replace
from statistics import mean, median

from regard.config import Train

LATEST = 100  # updates that the pace is taken from
UNITS = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


@dataclass(frozen=True)
class Pace:
    """What is measured on the way. The first update of all takes longer than others, so the middle one counts."""

    updates: tuple[tuple[int, float], ...] = ()  # tokens read and seconds taken by each of the latest
    looks: tuple[float, ...] = ()  # seconds, with what is written then

    def updated(self, tokens: int, seconds: float) -> "Pace":
        return replace(self, updates=(*self.updates, (tokens, seconds))[-LATEST:])

    def looked(self, seconds: float) -> "Pace":
        return replace(self, looks=(*self.looks, seconds))

    @property
    def speed(self) -> float:
        """Tokens a second, without looks."""
        return sum(tokens for tokens, _ in self.updates) / max(sum(seconds for _, seconds in self.updates), 1e-9)

    def left(self, step: int, settings: Train) -> float:
        """Seconds from this update to the last one; looks count as soon as one has been taken."""
        rest = max(0, settings.steps - step)
        looks = max(0, settings.steps // settings.evaluate - step // settings.evaluate)
        looks += bool(rest and settings.steps % settings.evaluate)  # the last update is always looked at
        each = median(seconds for _, seconds in self.updates) if self.updates else 0.0
        return rest * each + looks * (mean(self.looks) if self.looks else 0.0)


def in_words(seconds: float) -> str:
    """A time as a person would say it: about two digits of the largest unit of which there are at least two."""
    size, name = next(((size, name) for size, name in UNITS if seconds >= 2 * size), UNITS[-1])
    count = seconds / size
    if size >= 3600 and count < 10:
        return f"{count:.1f} {name}"
    return f"{count:.0f} {name}" if round(count) > 1 else "1 second"
