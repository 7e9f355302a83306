"""Trainings that say nothing, trainings that are stopped, and what their logs tell."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from tiny import log_of

from regard.config import LanguageModel, Recipe, Seq2Seq
from regard.training.loop import Training, train
from regard.training.report import Report
from regard.training.stopping import Interrupted

FAMILIES = [name for name in tiny.MODELS if "gru" not in name]


class Killed(BaseException):
    """Nothing in the loop is ready for this one."""


def quietly(plan: Recipe | None, path: Path):
    return train(plan, path, Report(quiet=True))


def looks_of(path: Path) -> list[dict]:
    return [entry for entry in log_of(path) if "held_out" in entry]


def held_out_losses(path: Path) -> list[float]:
    return [entry["held_out"]["loss"] for entry in looks_of(path)]


def killed_after(steps: int, plan: Recipe | None, path: Path) -> None:
    """Trains so many steps and falls over, before whatever would have been written then."""
    left = [steps]
    update = Training.update

    def counted(self: Training) -> float:
        if not left[0]:
            raise Killed
        left[0] -= 1
        return update(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "update", counted)
        with pytest.raises(Killed):
            quietly(plan, path)


def without_dropout(plan: Recipe) -> Recipe:
    model = plan.model
    if isinstance(model, LanguageModel):
        return replace(plan, model=replace(model, layer=replace(model.layer, dropout=0.0)))
    assert isinstance(model, Seq2Seq)
    sides = {side: replace(getattr(model, side), dropout=0.0) for side in ("encoder", "decoder")}
    return replace(plan, model=replace(model, **sides))


def stopped_after(steps: int, plan: Recipe | None, path: Path) -> None:
    """Trains up to this step, where somebody presses Ctrl-C."""
    update = Training.update

    def counted(self: Training) -> float:
        if self.progress.step == steps - 1:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "update", counted)
        with pytest.raises(Interrupted):
            quietly(plan, path)
