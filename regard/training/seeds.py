"""`regard train --seeds N`: one recipe trained several times, to know what chance alone does."""

import json
from dataclasses import replace
from pathlib import Path

from regard.config import Recipe
from regard.disk import write_text
from regard.errors import UserError, counted
from regard.evaluate.judge import judge_held_out
from regard.evaluate.seeds import SeedFigures
from regard.folder import SeedSet, is_run
from regard.runs import Run
from regard.training.loop import train
from regard.training.report import Report
from regard.training.stopping import Interrupted


def train_set(recipe: Recipe | None, path: Path, number: int = 0, report: Report | None = None) -> list[Run]:
    """Trains a run for each seed, one after the other, or goes on with them; says at the end how far they are apart."""
    report, plan = report or Report(), SeedSet(path)
    if is_run(path):
        raise UserError(f"{path} is one run already, not a set of seeds; choose another --run")
    if plan.exists:
        there, planned = plan.read()
        if number and number < planned:
            raise UserError(
                f"{path} has {counted(planned, 'seed')}, found --seeds {number}; leave it out, or choose another --run"
            )
        recipe, number = recipe or there, number or planned
    if recipe is None:
        raise UserError(f"{path} is not a set of seeds (it has no seeds.toml); give a recipe and --seeds N")
    plan.figures.unlink(missing_ok=True)  # until all are trained
    plan.write(recipe, number)
    runs = []
    for folder, seed in zip(plan.folders(), range(recipe.train.seed, recipe.train.seed + number), strict=True):
        report.say(f"seed {seed}: {folder.path}")
        try:
            runs.append(train(replace(recipe, train=replace(recipe.train, seed=seed)), folder.path, report))
        except Interrupted as stopped:
            told = f"stopped in {folder.path}; go on with all seeds: regard train {path}"
            raise Interrupted(told, stopped.code - 128) from None
    found = SeedFigures({run.folder.path.name: judge_held_out(run).figures for run in runs})
    write_text(plan.figures, json.dumps(found.to_json()) + "\n")
    report.say(repr(found))
    return runs
