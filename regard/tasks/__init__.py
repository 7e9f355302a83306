"""What there is to learn from: one value for each kind of data, all that differs between them.

A new kind is a file here and a line in `TASKS`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from regard.config import Data, ModelConfig, Recipe, Where
from regard.data.columns import known, unknown_columns
from regard.data.corpora.registry import BuiltIn
from regard.data.corpus import find
from regard.data.files import ending
from regard.data.formats import is_table, lines_of
from regard.data.tables import from_keys, names_in
from regard.errors import UserError, unknown
from regard.tasks.captions import CaptionsTask
from regard.tasks.labels import LabelsTask
from regard.tasks.pairs import PairsTask
from regard.tasks.tags import TagsTask
from regard.tasks.task import ANY, Given, Task, Tokenizers, reasons, spread, spread_share
from regard.tasks.text import TextTask
from regard.tasks.vectors import VectorsTask

__all__ = [
    "TASKS",
    "TEXT",
    "Given",
    "Task",
    "Tokenizers",
    "held_in",
    "proposed",
    "reasons",
    "spread",
    "spread_share",
    "task_fitting",
    "task_for",
    "task_of",
]

LOOKED_AT = 500  # rows by which one guesses what columns hold
TEXT = TextTask()
ALL = (TEXT, PairsTask(), LabelsTask(), TagsTask(), CaptionsTask(), VectorsTask())
TASKS: dict[str, Task] = {task.name: task for task in ALL}
"""By the name of their data, the likeliest to be in a file first."""


def task_named(name: str) -> Task:
    if name not in TASKS:
        raise unknown("data.kind", name, ("auto", *TASKS))
    return TASKS[name]


def task_of(recipe: Recipe) -> Task:
    """What a run learns or learnt, by what its recipe says of its data, or else of its model."""
    if recipe.data.kind != "auto":
        return task_named(recipe.data.kind)
    assert isinstance(recipe.model, ModelConfig)
    return task_fitting(recipe.model)


def task_for(recipe: Recipe) -> Task:
    """What can be learnt from a recipe's data: as it says itself, or as its model wants, or by the data's name."""
    where, said, columns = recipe.data.train, recipe.data.kind, recipe.data.chosen_columns
    if said == "auto":
        told = task_fitting(recipe.model) if isinstance(recipe.model, ModelConfig) else None
        return held_in(where, told, columns)
    task = task_named(said)
    found = held_in(where, task, columns)
    if found is not task:
        raise UserError(f"data.kind says {said}, but {where} holds {found.name}; change one of them")
    return task


def task_fitting(model: ModelConfig) -> Task:
    """What such a model learns."""
    return next(task for task in TASKS.values() if task.fits(model))


def held_in(where: Where, told: Task | None = None, columns: Sequence[str] = ()) -> Task:
    """Whose examples a corpus holds: the task's that one is told, if it can be so, and else the likeliest's."""
    possible = _possible(where, columns)
    return told if told is not None and told in possible else possible[0]


def _possible(where: Where, columns: Sequence[str]) -> list[Task]:
    """All tasks that a corpus can be for by its name, or by its columns; the likeliest first."""
    found = find(where)
    if isinstance(found, BuiltIn):
        return [TASKS[found.kind]]
    named = {name for task in TASKS.values() for name in task.endings} - {ANY}
    possible = [task for task in TASKS.values() if task.can_be_in(found, named)]
    path = found[0]
    if path.is_dir() or len(found) == 2 or not (columns or is_table(path) or ending(path) == ".tsv"):
        return possible
    names = names_in(path, columns) or ("text",) * is_table(path)  # only blank lines: the reader says so
    under = [task for task in TASKS.values() if task.can_be_under(names, columns)]
    if not under and is_table(path):
        wanted = ", or ".join(" and ".join(task.keys) for task in TASKS.values() if task.keys)
        raise UserError(unknown_columns(names, wanted, f"line {next(lines_of(path)).named_at} of {path}"))
    if columns:
        return sorted(under, key=lambda task: not _likely(task, path, columns))
    most = sorted(under, key=lambda task: -len(task.keys))  # whose keys say most
    return [*most, *(task for task in possible if task not in most and not is_table(path))]


def proposed(where: Where, kind: str = "auto", columns: Sequence[str] = ()) -> Data:
    """Data as its files look: two columns without a headline are labels where one has the same few answers."""
    data = Data(where, kind, columns=tuple(columns))
    data = replace(data, kind=task_for(Recipe(data)).name)
    found = find(where)
    if isinstance(found, BuiltIn) or len(found) == 2 or kind != "auto" or columns or ending(found[0]) != ".tsv":
        return data
    if not names_in(found[0]):
        numbers = ("1", "2")
        rows = [row.fields for row in islice(from_keys(found[0], numbers, numbers), LOOKED_AT)]
        for task in TASKS.values():
            if task.looks_like(rows):
                return replace(data, kind=task.name, columns=numbers)
            if task.looks_like([row[::-1] for row in rows]):
                return replace(data, kind=task.name, columns=numbers[::-1])
    return data


def _likely(task: Task, path: Path, columns: Sequence[str]) -> bool:
    """Whether chosen columns are called as a task's often are, or else look like its examples."""
    if known(columns, task.keys) == list(columns):
        return True
    rows = islice(from_keys(path, columns, columns), LOOKED_AT)
    return not any(known(columns, other.keys) for other in TASKS.values()) and task.looks_like([r.fields for r in rows])
