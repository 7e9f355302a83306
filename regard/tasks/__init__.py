"""What there is to learn from: one value for each kind of data, all that differs between them.

A new kind is a file here and a line in `TASKS`.
"""

from regard.config import ModelConfig, Recipe, Where
from regard.data.corpora.registry import BuiltIn
from regard.data.corpus import find
from regard.data.tables import KEYED, ending, objects, short
from regard.errors import UserError, unknown
from regard.tasks.captions import CaptionsTask
from regard.tasks.labels import LabelsTask
from regard.tasks.pairs import PairsTask
from regard.tasks.tags import TagsTask
from regard.tasks.task import ANY, Given, Task, Tokenizers, reasons, spread
from regard.tasks.text import TextTask

__all__ = ["TASKS", "TEXT", "Given", "Task", "Tokenizers", "held_in", "reasons", "spread", "task_for", "task_of"]

TEXT = TextTask()
TASKS: dict[str, Task] = {task.name: task for task in (TEXT, PairsTask(), LabelsTask(), TagsTask(), CaptionsTask())}
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
    return _wanting(recipe.model)


def task_for(recipe: Recipe) -> Task:
    """What can be learnt from a recipe's data: as it says itself, or as its model wants, or by the data's name."""
    where, said = recipe.data.train, recipe.data.kind
    if said == "auto":
        return held_in(where, None if isinstance(recipe.model, str) else _wanting(recipe.model))
    task = task_named(said)
    if held_in(where, task) is not task:
        raise UserError(f"data.kind says {said}, but {where} holds {held_in(where, task).name}; change one of them")
    return task


def _wanting(model: ModelConfig) -> Task:
    return next(task for task in TASKS.values() if task.fits(model))


def held_in(where: Where, told: Task | None = None) -> Task:
    """Whose examples a corpus holds: the task's that one is told, if it can be so, and else the likeliest's."""
    possible = _possible(where)
    return told if told is not None and told in possible else possible[0]


def _possible(where: Where) -> list[Task]:
    """All tasks that a corpus can be for by its name, or by its first keys; the likeliest first."""
    found = find(where)
    if isinstance(found, BuiltIn):
        return [TASKS[found.kind]]
    named = {name for task in TASKS.values() for name in task.endings} - {ANY}
    possible = [task for task in TASKS.values() if task.can_be_in(found, named)]
    if found[0].is_dir() or ending(found[0]) not in KEYED or len(found) == 2:
        return possible
    if not possible:
        number, first = next(objects(found[0]))
        wanted = ", or ".join(" and ".join(task.keys) for task in TASKS.values() if task.keys)
        raise UserError(f"line {number} of {found[0]} has the keys {short(', '.join(first))}; wanted are {wanted}")
    return sorted(possible, key=lambda task: -len(task.keys))  # whose keys say most
