"""From files to a recipe for them: what they hold, how long it takes on this machine, and a file that says so."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w
import torch

from regard.config import Data, Recipe
from regard.errors import counted
from regard.folder import Folder
from regard.runs import Run, load_run
from regard.tasks import reasons, task_of
from regard.training.loop import Training
from regard.training.pace import Pace, in_words
from regard.training.parallel import World
from regard.training.prepare import prepare
from regard.training.report import Report

MEASURED = 10  # updates at most, behind one that warms up
SECONDS = 8.0  # after which no further update is measured
LOOKS = 8  # at the held-out part, where a training is short


@dataclass(frozen=True)
class Draft:
    """A recipe with what is known of its data and of the machine."""

    recipe: Recipe
    """With every choice made."""
    layer: str
    noticed: list[str]
    examples: int
    held_out: int
    parameters: int
    pace: Pace
    """As it was measured: updates that were really made, and a look."""
    on: str

    @property
    def estimate(self) -> str:
        train, (each, look) = self.recipe.train, (self._after(1), self.pace.looks[-1])
        return (
            f"about {in_words(self.pace.left(0, train))}: {counted(train.steps, 'update')} of {each:.2f} s and "
            f"looks of {look:.1f} s, measured over {counted(len(self.pace.updates), 'update')} on {self.on}; "
            "longer on a busier machine"
        )

    def _after(self, steps: int) -> float:
        """Seconds that so many updates take, without looks."""
        return replace(self.pace, looks=()).left(0, replace(self.recipe.train, steps=steps))

    def within(self, minutes: float) -> "Draft":
        """The same with no more updates than those minutes allow."""
        allowed = self.recipe.train.steps
        while allowed > 1 and self.pace.left(0, _with_steps(self.recipe, allowed).train) > 60 * minutes:
            allowed = max(1, allowed * 9 // 10)
        return replace(self, recipe=_with_steps(self.recipe, allowed))


def plan(data: Data, layer: str) -> Draft:
    """Prepares the data in a folder that is gone afterwards, and makes some updates of the model on it."""
    with TemporaryDirectory() as kept:
        folder = Folder(Path(kept) / "run")
        noticed = list(prepare(folder, Recipe(data, model=layer)))
        run = load_run(folder.path)
        facts = run.material.facts
        if left_out := reasons(Counter(facts["skipped"])):
            noticed.append(f"left out {left_out}")
        counts = facts["noticed"]["examples"], facts["noticed"]["held_out"]
        recipe = _with_steps(run.recipe, run.recipe.train.steps)
        parameters = sum(weights.numel() for weights in run.new_model().parameters())
        return Draft(recipe, layer, noticed, *counts, parameters, *measured(run))


def measured(run: Run) -> tuple[Pace, str]:
    """Some updates and one look of a run that is prepared, and what they were computed on."""
    training, pace = Training(run, World(), Report(quiet=True)), Pace()
    training.update()  # takes longer than those behind it
    began = time.monotonic()
    while len(pace.updates) < MEASURED and (len(pace.updates) < 2 or time.monotonic() - began < SECONDS):
        before = time.monotonic()
        training.update()
        pace = pace.updated(0, time.monotonic() - before)
    before = time.monotonic()
    training.evaluate()
    threads = torch.get_num_threads()
    on = f"{training.device} with {counted(threads, 'thread')}"
    return pace.looked(time.monotonic() - before), on


def _with_steps(recipe: Recipe, steps: int) -> Recipe:
    """So many updates, and looks enough among them."""
    every = max(1, min(recipe.train.evaluate, steps // LOOKS))
    warmup = min(recipe.train.warmup, max(1, steps // 5))
    return replace(recipe, train=replace(recipe.train, steps=steps, evaluate=every, warmup=warmup))


def as_toml(found: Draft, command: str) -> str:
    """A recipe that a person can read and change: every setting with a comment."""
    data, train, task = found.recipe.data, found.recipe.train, task_of(found.recipe)
    count = f"here {counted(found.held_out, 'example')} beside {found.examples:,}" if found.held_out else "here its end"
    sections: dict[str, list[tuple[str, Any, str]]] = {
        "": [("model", found.layer, f"rnn, lstm, gru or transformer; here {counted(found.parameters, 'parameter')}")],
        "data": [
            ("train", list(data.train) if isinstance(data.train, tuple) else data.train, "what is learnt from"),
            ("kind", data.kind, f"so a {task.title} comes out of it"),
            *([("columns", list(data.chosen_columns), f"{', then '.join(task.shown_as)}")] if data.columns else []),
            ("share", data.share, f"how much is held out to judge by; {count}"),
        ],
        "text": [("kind", found.recipe.text.kind, "what a token is: bpe, words, characters or bytes")],
        "train": [
            ("steps", train.steps, "updates at most"),
            ("batch", train.batch, "tokens in one update; small data wants small ones"),
            ("smoothing", train.smoothing, "do not be too sure of the one answer that is given"),
            ("evaluate", train.evaluate, "look at the held-out part every so many; the best look's weights are kept"),
            ("warmup", train.warmup, "updates over which the learning rate rises"),
            ("patience", LOOKS, "stop after so many looks without a better one"),
        ],
    }
    lines = [f"# {task.title.capitalize()}, written by regard init. docs/training.md has all settings.",
             f"# It takes {found.estimate}.", "#", f"#   {command}", ""]  # fmt: skip
    for section, settings in sections.items():
        lines += [f"[{section}]"] if section else []
        written = [(f"{name} = {_value(value)}", said) for name, value, said in settings]
        wide = min(40, max(len(line) for line, _ in written))
        lines += [f"{line:<{wide}}  # {said}" for line, said in written]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _value(value: Any) -> str:
    """As TOML writes it, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
