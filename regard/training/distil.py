"""`regard distill`: a run whose training learns from what other runs, its teachers, find probable."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from shutil import copyfile
from typing import Any

import torch

from regard.config import ModelConfig, Recipe, to_table
from regard.data import store
from regard.data.batch import Batches, Buckets
from regard.data.examples import Pair
from regard.data.likely import BEST, Likely
from regard.disk import write_with
from regard.errors import UserError, counted
from regard.evaluate.loss import Objective
from regard.folder import Folder
from regard.progress import watched
from regard.runs import Run
from regard.tasks.sided import SIDES
from regard.text.files import save
from regard.training.lock import locked
from regard.training.report import Report

AT_ONCE = 1000  # pairs encoded together


def distil(teachers: Run, recipe: Recipe, path: Path, answered: Iterable[Pair], report: Report) -> None:
    """Makes the folder of a student, unless another process does.

    `answered` are further pairs to learn from: sources, and what the teachers wrote.
    """
    with locked(path):
        _distil(teachers, recipe, path, answered, report)


def _distil(teachers: Run, recipe: Recipe, path: Path, answered: Iterable[Pair], report: Report) -> None:
    """The teachers' data and tokens, and of every target token what they find likely.

    The configuration comes last: it says that all the rest is there.
    """
    task, folder, facts = teachers.task, Folder(path), teachers.folder.read_facts()
    if not task.has_source:
        raise UserError(
            f"{teachers.folder.path} is a {task.title}, distill wants runs that read a source; train the small one "
            "on the same text"
        )
    if isinstance(recipe.model, ModelConfig) and not task.fits(recipe.model):
        raise UserError(
            f"a {recipe.model.kind} does not learn from {task.name}; distill wants one of kind {task.wants}"
        )
    eyes = [None if isinstance(m, str) else to_table(m).get("encoder") for m in (recipe.model, teachers.model_config)]
    if "found" in facts and eyes[0] != eyes[1]:
        raise UserError("what frozen eyes find is kept, so a student has its teachers'; change [model.decoder] alone")
    for file in teachers.folder.tokens("").iterdir():
        if file.name != "facts.json":
            write_with(folder.tokens(file.name), partial(copyfile, file))
    save(teachers.tokenizer, folder.tokenizer)
    if teachers.source_tokenizer is not teachers.tokenizer:
        save(teachers.source_tokenizer, folder.source_tokenizer)
    if more := _join(folder, teachers, answered):
        report.say(f"{counted(more, 'pair')} more, answered by the teachers")
        facts["train_pairs"] += more
    material = task.open(folder, facts)
    if isinstance(recipe.model, str):
        recipe = replace(recipe, model=task.default_model(recipe.model, material.train_tokens))
    recipe = task.begin(folder, recipe)
    buckets = task.batches(material.train, recipe.train, carry=False)
    assert isinstance(buckets, Buckets)
    report.say(f"asking {counted(1 + len(teachers.others), 'teacher')} about {counted(len(buckets.target), 'answer')}")
    found = asked(teachers, buckets)
    found.write(folder.likely)
    folder.write_facts(facts)
    folder.write_config(recipe)


@torch.no_grad()
def asked(teachers: Run, buckets: Buckets) -> Likely:
    """What the teachers, together, find likely at every place of every target."""
    best = min(BEST, teachers.tokenizer.vocabulary)
    found = Likely.nothing(buckets.answer_lengths(), best)
    reading = Objective(teachers.model, 0.0, torch.float32).eval()
    for place in watched(range(buckets.per_epoch), "asking the teachers", buckets.per_epoch):
        chosen = buckets.in_order(place)
        scores, _ = reading.read(buckets.batch(chosen), None)
        found.note(buckets.targets_of(chosen), scores.log_softmax(-1))
    return found


def taught(batches: Batches, folder: Folder) -> Batches:
    """The same batches, with what teachers said of them where the folder has it."""
    if isinstance(batches, Buckets) and folder.likely.exists():
        batches.taught = Likely.read(folder.likely, batches.answer_lengths())
    return batches


def _join(folder: Folder, teachers: Run, answered: Iterable[Pair]) -> int:
    """Puts further pairs behind those that are there; how many they were."""
    pairs: list[tuple[Sequence[int], Sequence[int]]] = []
    longest, stream = teachers.recipe.data.longest, iter(answered)
    while some := list(islice(stream, AT_ONCE)):
        both: Any = [tok.encode_all([pair[side] for pair in some]) for side, tok in enumerate(teachers.tokenizers)]
        pairs += [(left, right) for left, right in zip(*both, strict=True) if max(len(left), len(right)) <= longest]
    for number, (side, tokenizer) in enumerate(zip(SIDES, teachers.tokenizers, strict=True)):
        if pairs:
            there = store.read(teachers.folder.tokens(f"train-{side}"))
            store.write(
                folder.tokens(f"train-{side}"), chain(_each(there), (p[number] for p in pairs)), tokenizer.vocabulary
            )
    return len(pairs)


def _each(there: store.Store) -> Iterator[Sequence[int]]:
    return (there[place].tolist() for place in range(len(there)))
