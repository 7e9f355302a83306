"""`regard evaluate`: every figure of a run, on its own data or on other, and how far it may be off by chance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Int

from regard.config import Recipe, Where
from regard.config.decoding import Search
from regard.data.corpus import place_of
from regard.data.material import Material
from regard.data.streams import in_files
from regard.errors import UserError
from regard.evaluate.beginning import FIRST, draw_by_position, loss_by_position, passages
from regard.evaluate.figures import scores_of, sums_by_unit
from regard.evaluate.loss import Objective
from regard.folder import Folder
from regard.metrics.score import Score
from regard.models.model import Model
from regard.progress import watched
from regard.tasks import Given, Task, Tokenizers, held_in

ARGMAX = Search(beam=1)


class Judged(Protocol):
    """A run, as far as judging it goes."""

    @property
    def folder(self) -> Folder: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def task(self) -> Task: ...
    @property
    def material(self) -> Material: ...
    @property
    def model(self) -> Model: ...
    @property
    def answering(self) -> Model: ...
    @property
    def tokenizers(self) -> Tokenizers: ...


class Figures(dict[str, Any]):
    """Figures by name, with their signatures and, under `intervals`, their confidence intervals."""

    def __repr__(self) -> str:
        wide = max(16, *map(len, self))
        return "\n".join(f"{name:<{wide}} {self._shown(name)}" for name in self if name != "intervals")

    def _shown(self, name: str) -> str:
        value = self[name]
        if not isinstance(value, float):
            return str(value)
        low, high = self["intervals"].get(name, (None, None))
        return f"{value:,.4f}" + ("" if low is None else f"   ({low:,.4f} to {high:,.4f})")


@dataclass(frozen=True)
class Judgement:
    """A run held against some data: what each example adds to each figure."""

    data: str
    scores: dict[str, Score]
    units: str
    """How many examples there were, or stretches of a text."""
    wanted: Sequence[Any] = ()
    """What answers were held against."""
    facts: dict[str, Any] = field(default_factory=dict)
    further: dict[str, float] = field(default_factory=dict)

    @property
    def figures(self) -> Figures:
        """Figures by name, as they are printed."""
        found = Figures(data=self.data, **self.facts)
        for name, score in self.scores.items():
            found[name] = score.value
            if score.signature:
                found[f"{name}_signature"] = score.signature
        between = {name: score.interval() for name, score in self.scores.items()}
        found |= self.further
        found["intervals"] = {name: list(one) for name, one in between.items() if one is not None}
        if found["intervals"]:
            found["intervals_over"] = self.units
        return found


def judge(run: Judged, where: Where | None = None, search: Search = ARGMAX) -> Judgement:
    """Without data: on the run's test part, or else its held-out one."""
    split, part = None, "given data"
    if where is None:
        where, split = place_of(run.recipe.data, "test")
        part = "test"
    if not where:
        return judge_held_out(run, search)
    with in_files(where) as there:
        found = held_in(there, run.task, run.recipe.data.chosen_columns)
        if found is not run.task:
            name = where if isinstance(where, str) else ", ".join(where)
            ours = run.task
            raise UserError(f"{name} holds {found.name}, this run was trained on {ours.name}; give {ours.given_as}")
        given = run.task.given(run.tokenizers, run.recipe, there, split)
        further = run.task.further(run.model, run.tokenizers[1], run.recipe, there, split)
    return _judged(run, given, search, part, further)


def judge_held_out(run: Judged, search: Search = ARGMAX) -> Judgement:
    """On the part that was held out in training: a test part stays closed."""
    return _judged(run, Given(run.material), search, "held out", {})


def _judged(run: Judged, given: Given, search: Search, part: str, further: dict[str, float]) -> Judgement:
    """What one pass over the data says, and how answers are held against what was wanted."""
    task, held, (_, writer) = run.task, given.held, run.tokenizers
    length = run.recipe.train.length
    batches = watched(task.held_out_batches(held.valid, length), "reading")
    units = task.units(writer, held, length)
    sums = sums_by_unit(Objective(run.model, 0.0, torch.float32).eval(), batches, units)
    scores = scores_of(sums, task.tokens_in(held.valid), units.sizes)
    if not task.has_source:
        further = {**further, **_beginning(run, held.valid[0].tokens)}
    over, number = f"{len(units.sizes):,} {units.called}", task.asks(held.valid)
    if not number:
        return Judgement(part, scores, over, (), given.facts, further)
    answers = task.answers(run.answering, run.tokenizers, held.valid, range(number), search)
    said, wanted = zip(*watched(answers, "answering", number), strict=True)
    references = given.references or wanted
    task.draw(run.folder, said, references)
    scores |= task.scores(said, references, writer.cased)
    return Judgement(part, scores, over, references, given.facts, further)


def _beginning(run: Judged, tokens: Int[np.ndarray, " N"]) -> dict[str, float]:
    """How well a text is begun, drawn into the run's folder, and its loss over the first tokens."""
    losses = loss_by_position(run.model, passages(tokens, run.recipe.train.length))
    if len(losses) <= FIRST:
        return {}
    draw_by_position(run.folder.beginning, losses)
    return {"loss_at_start": losses[:FIRST].mean().item()}
