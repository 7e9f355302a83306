"""`regard.train`: training from Python, with data that is a name or in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.config import ModelConfig, Recipe, recipe_from, to_table
from regard.config.recipe import read_toml
from regard.errors import UserError
from regard.notebook import in_notebook
from regard.runs import Run
from regard.training.loop import train as go
from regard.training.memory import on_disk
from regard.training.notebook import NotebookReport
from regard.training.report import Report
from regard.training.seeds import train_set
from regard.training.stopping import Interrupted


def train(
    data: Any = None,
    model: str | ModelConfig | None = None,
    run: str | Path = "runs/mine",
    *,
    recipe: str | Path | Recipe | None = None,
    valid: Any = None,
    settings: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Run:
    """Trains a run and gives it back; called again, it goes on where it stopped.

    `data` is what `--data.train` takes: the name of a file, a folder or a built-in corpus, or a tuple of two parallel
    files. Or it is a list of examples: texts; pairs (source, target); pairs (label, text) with the setting
    `data.kind = "labels"`; dictionaries with these names; or a pandas table with such columns. `valid` is the same for
    what is held out. `settings` has the recipe's own names: `{"train.steps": 500, "text.kind": "words"}`.
    With `run` alone a run that was stopped goes on.
    """
    path = Path(run)
    wanted = recipe_for(path, data, model, recipe, valid, settings)
    try:
        return go(wanted, path, report or reporter())
    except Interrupted as stopped:
        raise KeyboardInterrupt(f"{stopped}, or from Python: regard.train(run='{path}')") from None


def train_seeds(
    seeds: int,
    data: Any = None,
    model: str | ModelConfig | None = None,
    run: str | Path = "runs/mine",
    *,
    recipe: str | Path | Recipe | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Run]:
    """The same training with several seeds, each in a folder of its own below `run`: how much is chance?"""
    return train_set(recipe_for(Path(run), data, model, recipe, None, settings), Path(run), seeds, reporter())


def recipe_for(
    path: Path, data: Any, model: Any, recipe: Any, valid: Any, settings: Mapping[str, Any] | None
) -> Recipe | None:
    """All that was asked for as a recipe; None: nothing was, but a run."""
    changes = dict(settings or {})
    kind = str(changes.get("data.kind", "labels" if getattr(model, "kind", "") == "classifier" else "pairs"))
    if data is not None:
        changes["data.train"] = on_disk(data, path / "data" / "train.jsonl", kind)
    if valid is not None:
        changes["data.valid"] = on_disk(valid, path / "data" / "valid.jsonl", kind)
    if model is not None:
        changes["model"] = model if isinstance(model, str) else to_table(model)
    if recipe is None and not changes:
        return None
    if recipe is None and "data.train" not in changes:
        if not (path / "config.toml").exists():
            raise UserError(f"train wants data, found none, and {path} is no run; give data=…, or the run of one")
        return recipe_from(read_toml(path / "config.toml"), changes)
    table = to_table(recipe) if isinstance(recipe, Recipe) else read_toml(Path(recipe)) if recipe else {}
    return recipe_from(table, changes)


def reporter() -> Report:
    """Who tells how far it has come: in a notebook one line that changes."""
    return NotebookReport() if in_notebook() else Report()
