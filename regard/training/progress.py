"""How far a run has come, as a value: what an update, an evaluation or an entry of the log makes of it."""

import json
from dataclasses import dataclass, replace

from regard.config import Train

SMALLER_IS_BETTER = ("loss",)


@dataclass(frozen=True)
class Progress:
    """Learning rate, batches and random numbers all follow from `step`."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    without_better: int = 0
    tokens: int = 0
    seconds: float = 0.0
    snapshots: tuple[tuple[int, float], ...] = ()  # steps whose weights are kept for a mean, and their metric
    loss: float = 0.0  # sum and number of training losses since the log's last entry
    losses: int = 0
    fall: int = 0  # the update from which on the rate falls in a cool-down, and the last one of all;
    end: int = 0  # 0: not decided yet, or by the settings alone

    @classmethod
    def from_json(cls, text: str) -> "Progress":
        values = json.loads(text)
        snapshots = values.pop("snapshots", None) or values.pop("looks", ())  # as they were called before
        return cls(**{**values, "snapshots": tuple(map(tuple, snapshots))})

    def updated(self, tokens: int, loss: float) -> "Progress":
        """One update further."""
        counted = replace(self, loss=self.loss + loss, losses=self.losses + 1)
        return replace(counted, step=self.step + 1, tokens=self.tokens + tokens)

    def logged(self) -> "Progress":
        """Behind an entry of the log."""
        return replace(self, loss=0.0, losses=0)

    def evaluated(self, value: float, settings: Train) -> "Progress":
        """Behind a look at the held-out part that found this value of the metric."""
        seen = replace(self, snapshots=self._kept((self.step, value), settings))
        if better(settings.metric, value, self.best):
            return replace(seen, best=value, best_step=self.step, without_better=0)
        return replace(seen, without_better=self.without_better + 1)

    def out_of_patience(self, settings: Train) -> bool:
        """Early stopping."""
        return 0 < settings.patience <= self.without_better

    def _kept(self, new: tuple[int, float], settings: Train) -> tuple[tuple[int, float], ...]:
        """The snapshots whose mean would be handed on now."""
        every = (*self.snapshots, new)
        if settings.average_of == "last":
            return every[-settings.average :]
        smallest_first = sorted(every, key=lambda snapshot: snapshot[1])
        best_first = smallest_first if settings.metric in SMALLER_IS_BETTER else smallest_first[::-1]
        return tuple(best_first[: settings.average])


def better(metric: str, new: float, old: float | None) -> bool:
    return old is None or (new < old if metric in SMALLER_IS_BETTER else new > old)
