"""A run folder is opened to train in: a new one is prepared, an old one must be the one that is meant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.config import Recipe, to_table
from regard.data.streams import forget_streams
from regard.errors import UserError
from regard.folder import Folder
from regard.training.allocator import hand_back_memory
from regard.training.prepare import prepare
from regard.training.report import Report


def open_folder(folder: Folder, recipe: Recipe | None, report: Report) -> None:
    """Prepares a new run, or checks that an old one is the one meant."""
    folder.sweep()
    forget_streams(folder.path)
    if not folder.config.exists():
        if recipe is None:
            folder.read_config()  # says that this is no run
            return
        report.say(
            f"preparing {recipe.data.train if isinstance(recipe.data.train, str) else ', '.join(recipe.data.train)}"
        )
        with report.meanwhile(lambda: f"still preparing: {folder.bytes_prepared() / 1e6:,.0f} MB written"):
            noticed = list(prepare(folder, recipe))
        for line in noticed:
            report.say(line)
        hand_back_memory()
    elif recipe is not None:
        there = folder.read_config()
        _same(to_table(there), to_table(recipe), folder.path)
        bounded = recipe.train.steps or recipe.train.epochs or recipe.train.minutes
        settings = recipe.train.filled(there.train.batch, there.train.smoothing)
        settings = settings if bounded else replace(settings, steps=there.train.steps)
        if there.train != settings:
            folder.write_config(replace(there, train=settings))


def _same(there: dict[str, Any], here: dict[str, Any], path: Path) -> None:
    """A run goes on only with its own data, text, model and optimiser; how else it trains may change."""
    remedy = "choose another with --run, or delete it"
    for name in ("optimiser", "lora", "last"):  # what one remembers means nothing to the other
        found, wanted = there["train"][name], here["train"][name]
        if found != wanted:
            raise UserError(f"{path} holds a run with another train.{name} ({found}, here {wanted}); {remedy}")
    if isinstance(here["model"], dict) and here["model"]["kind"] == "run":
        here = {**here, "text": there["text"], "model": {**there["model"], "start_from": here["model"]["start_from"]}}
    elif isinstance(here["model"], dict) and here["model"].get("start_from"):  # these two came from the run named there
        here = {**here, "text": there["text"], "model": {**here["model"], "encoder": there["model"].get("encoder")}}
    if here["data"]["kind"] == "auto":  # as it was found when the data was prepared
        here = {**here, "data": {**here["data"], "kind": there["data"]["kind"]}}
    for section in ("data", "text", "pictures", "model"):
        if there[section] == here[section]:
            continue
        if isinstance(here[section], str):  # a name for a kind of layer
            kind = next(there[section][part] for part in ("decoder", "layer", "encoder") if part in there[section])[
                "kind"
            ]
            if kind == here[section]:
                continue
            raise UserError(f"{path} holds a run with another {section} ({kind}, here {here[section]}); {remedy}")
        name = next(key for key, value in here[section].items() if there[section].get(key) != value)
        raise UserError(
            f"{path} holds a run with another {section}.{name} "
            f"({there[section].get(name)}, here {here[section][name]}); {remedy}"
        )
