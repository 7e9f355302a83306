"""`regard evaluate`: every figure of a run, on its own held-out data or on other data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from regard.config import Where
from regard.config.decoding import Search
from regard.data.corpus import place_of
from regard.errors import UserError
from regard.evaluate.figures import figures, held_out_sums
from regard.evaluate.loss import Objective
from regard.progress import watched
from regard.runs import Run, load_run
from regard.tasks import Given, held_in

ARGMAX = Search(beam=1)


def judge(
    path: Path,
    where: Where | None = None,
    *,
    precision: str = "float32",
    search: Search = ARGMAX,
    ensemble: Sequence[str | Path] = (),
) -> dict[str, Any]:
    """Figures by name, with their signatures. Without data: on the run's test part, or else its held-out one."""
    run = load_run(path, precision=precision, ensemble=ensemble)
    split = None
    part = "given data"
    if where is None:
        where, split = place_of(run.recipe.data, "test")
        part = "test"
    if not where:
        return {"data": "held out", **_figures(run, Given(run.material), search)}
    found = held_in(where, run.task)
    if found is not run.task:
        name = where if isinstance(where, str) else ", ".join(where)
        raise UserError(f"{name} holds {found.name}, this run was trained on {run.task.name}")
    given = run.task.given(run.tokenizers, run.recipe, where, split)
    further = run.task.further(run.model, run.tokenizer, run.recipe, where, split)
    return {"data": part, **given.facts, **_figures(run, given, search), **further}


def against_float32(
    path: Path, where: Where | None, precision: str, *, search: Search = ARGMAX, ensemble: Sequence[str | Path] = ()
) -> dict[str, dict[str, Any]]:
    """The figures in that precision, those in float32, and how much they changed."""
    here, there = (
        judge(path, where, precision=one, search=search, ensemble=ensemble) for one in (precision, "float32")
    )
    change = {name: here[name] - there[name] for name in here if isinstance(here[name], float)}
    return {precision: here, "float32": there, "change": change}


def _figures(run: Run, given: Given, search: Search) -> dict[str, Any]:
    """What one pass over the data says, and how answers are held against what was wanted."""
    task, held = run.task, given.held
    batches = watched(task.held_out_batches(held.valid, run.recipe.train.length), "reading")
    sums = held_out_sums(Objective(run.model, 0.0, torch.float32).eval(), batches)
    found: dict[str, Any] = dict(figures(sums, task.tokens_in(held.valid), held.valid_bytes))
    number = task.asks(held.valid)
    if not number:
        return found
    answers = task.answers(run.model, run.tokenizers, held.valid, range(number), search)
    said, wanted = zip(*watched(answers, "answering", number), strict=True)
    references = given.references or wanted
    task.draw(run.folder, said, references)
    for name, score in task.scores(said, references, run.tokenizer.cased).items():
        found[name] = score.value
        if score.signature:
            found[f"{name}_signature"] = score.signature
    return found
