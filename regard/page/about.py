"""What a run's task is, as data for the page: no line of its JavaScript asks for a task by its name."""

from typing import Any

from regard.config.decoding import Search
from regard.special import NAMES, STOP, UNKNOWN
from regard.tasks import Task

SPECIAL = {"count": len(NAMES), "stop": STOP, "unknown": UNKNOWN}
"""Tokens that stand for no text have the numbers below `count`; `stop` ends one, `unknown` is any word."""


def about(task: Task) -> dict[str, Any]:
    """The part of a run's description that does not depend on its weights."""
    continues = not task.has_source  # what it reads is then part of what is written
    return {
        "task": {
            "name": task.title,
            "verb": task.verb,
            "reads": task.reads,
            "continues": continues,
            "steps": task.writes,
            "labels": task.labels,
            "each": task.each,
            "beam": 1 if continues else Search.beam,
        },
        "special": SPECIAL,
    }
