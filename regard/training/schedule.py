"""How long a run trains and how its rate goes: a plan in updates, in epochs or in minutes."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.config import Train
from regard.training.pace import Pace
from regard.training.progress import Progress

FALL = 0.2  # of a plan with a cool-down, the share in which the rate falls
BOUNDS = ("steps", "epochs", "minutes")
NO_END = 2**62


def updates(settings: Train, per_epoch: int) -> int:
    """How many updates there are at most; where only the clock knows: more than anybody makes."""
    bounds = (settings.steps, math.ceil(settings.epochs * per_epoch - 1e-9))
    return min((bound for bound in bounds if bound), default=NO_END)


def rate_at(step: int, settings: Train, progress: Progress | None = None) -> float:
    """The learning rate of an update, counted from 0: up along a line, then down along the schedule.

    A cool-down stays at the top until `progress` says that it falls: η (1 − √(n/N)) at the nth of N updates. (Hägele et
    al. 2024)
    """
    if step < settings.warmup:
        return settings.rate * (step + 1) / settings.warmup
    if settings.falls == "inverse-square-root":
        return settings.rate * math.sqrt(max(settings.warmup, 1) / (step + 1))
    if settings.falls == "cosine":
        done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
        return settings.rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    if settings.falls == "cooldown" and progress is not None and progress.end > progress.fall <= step:
        done = (step - progress.fall) / (progress.end - progress.fall)
        return settings.rate * (1 - math.sqrt(min(done, 1.0)))
    return settings.rate


def left(progress: Progress, pace: Pace, settings: Train) -> float:
    """Seconds to the last update: as many as the updates take, or what is left of the minutes."""
    if progress.end or not settings.minutes:
        return pace.left(progress.step, replace(settings, steps=progress.end or settings.steps))
    by_clock = max(0.0, 60 * settings.minutes - progress.seconds)
    return min(by_clock, pace.left(progress.step, settings)) if settings.steps < NO_END else by_clock


def expected_end(progress: Progress, pace: Pace, settings: Train) -> int:
    """The last update, or by the pace so far where the minutes will be over."""
    if progress.end or settings.steps < NO_END:
        return progress.end or settings.steps
    if not pace.updates:
        return progress.step + 1
    return progress.step + round(left(progress, pace, settings) / max(_each(pace, settings), 1e-9))


def decided(progress: Progress, pace: Pace, settings: Train) -> Progress:
    """With the last update fixed, if now is the time for it: where a cool-down begins, or where the minutes are over.

    From there on everything follows from the number of the update alone, so going on is exact.
    """
    if progress.end:
        return progress
    share = FALL if settings.falls == "cooldown" else 0.0
    step, end = progress.step, settings.steps
    if settings.minutes and pace.updates:
        seconds = 60 * settings.minutes - progress.seconds - (pace.looks[-1] if pace.looks else 0.0)
        if seconds <= share * 60 * settings.minutes:
            end = min(end, step + max(1, int(seconds / max(_each(pace, settings), 1e-9))))
            return replace(progress, fall=step, end=end)
    if share and end < NO_END and step >= end - max(1, round(share * end)):
        return replace(progress, fall=step, end=max(end, step + 1))
    return progress


def _each(pace: Pace, settings: Train) -> float:
    """Seconds of an update with its part of a look."""
    return pace.left(0, replace(settings, steps=settings.evaluate)) / settings.evaluate


def prolonged(then: Mapping[str, Any], now: Train) -> bool:
    """Whether a plan goes further than the one that a checkpoint was made by; 0 is no bound."""
    return any((getattr(now, name) or math.inf) > (then.get(name) or math.inf) for name in BOUNDS)
