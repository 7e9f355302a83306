"""`regard train`, `distill`, `evaluate`, `compare` and `demo`."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from regard.cli.bodies.answering import opened
from regard.cli.bodies.shards import answered_once
from regard.cli.commands.decoding import TranslateCommand
from regard.cli.commands.training import CompareCommand, DemoCommand, DistillCommand, EvaluateCommand, TrainCommand
from regard.cli.lines import read_lines
from regard.data.examples import Pair
from regard.data.streams import in_files
from regard.demo import demo as show
from regard.evaluate.compare import compare as held_against
from regard.evaluate.judge import Figures
from regard.evaluate.seeds import SeedFigures
from regard.folder import SeedSet, runs_in
from regard.runs import load_run
from regard.training.distil import distil
from regard.training.loop import train as go
from regard.training.report import Report
from regard.training.seeds import train_set
from regard.training.stopping import Interrupted


def train(asked: TrainCommand) -> int:
    try:
        if asked.seeds or SeedSet(asked.kept_in).exists:
            train_set(asked.wanted, asked.kept_in, asked.seeds or 0)
        else:
            go(asked.wanted, asked.kept_in)
    except Interrupted as stopped:
        print(f"regard: {stopped}", file=sys.stderr)
        return stopped.code
    return 0


def distill(asked: DistillCommand) -> int:
    try:
        if asked.goes_on:
            go(asked.changed, asked.kept_in)
        else:
            first, *others = asked.teachers
            distil(load_run(first, ensemble=others), asked.wanted, asked.kept_in, _answered(asked), Report())
            go(None, asked.kept_in)
    except Interrupted as stopped:
        print(f"regard: {stopped}", file=sys.stderr)
        return stopped.code
    return 0


def _answered(asked: DistillCommand) -> Iterator[Pair]:
    """What the teachers answer to the sources that have no target."""
    if asked.unlabelled is None:
        return
    first, *others = asked.teachers
    translate = TranslateCommand(
        run=first,
        ensemble=tuple(others),
        file=str(asked.unlabelled),
        out=asked.kept_in / "answers",
        search=asked.search,
        processes=asked.processes,
    )
    both = zip(read_lines(translate.file), read_lines(str(answered_once(translate))), strict=True)
    yield from (Pair(source, target) for source, target in both if source.strip() and target.strip())


def evaluate(asked: EvaluateCommand) -> int:
    with in_files(asked.where or "") as there:  # a pipe is read once
        return _evaluated(replace(asked, data=(there,) if isinstance(there, str) and there else tuple(there)))


def _evaluated(asked: EvaluateCommand) -> int:
    runs = runs_in(asked.run)
    if len(runs) > 1:
        return _of_seeds(asked, runs)
    columns = {precision: _figures(asked, precision) for precision in dict.fromkeys((str(asked.precision), "float32"))}
    if len(columns) == 1:
        (found,) = columns.values()
        print(json.dumps(found) if asked.json else found)
        return 0
    here, there = columns.values()
    columns["change"] = Figures({name: here[name] - there[name] for name in here if isinstance(here[name], float)})
    if asked.json:
        print(json.dumps(columns))
        return 0
    print(" " * 16 + "".join(f" {name:>12}" for name in columns))
    for name, value in here.items():
        if isinstance(value, float):
            print(f"{name:<16}" + "".join(f" {column[name]:>12,.4f}" for column in columns.values()))
        elif name != "intervals":
            print(f"{name:<16} {value}")
    return 0


def _of_seeds(asked: EvaluateCommand, runs: list[Path]) -> int:
    found = SeedFigures({path.name: _figures(replace(asked, run=path), asked.precision) for path in runs})
    print(json.dumps(found.to_json()) if asked.json else found)
    return 0


def _figures(asked: EvaluateCommand, precision: str) -> Figures:
    run = opened(asked, asked.ensemble, precision)
    if asked.columns:  # of the data, where they are not called as those that the run was trained on
        run = replace(run, recipe=replace(run.recipe, data=replace(run.recipe.data, columns=asked.columns)))
    return run.judged(asked.where, asked.search).figures


def compare(asked: CompareCommand) -> int:
    ours, theirs = ([load_run(path) for path in runs_in(side)] for side in (asked.run, asked.other))
    found = held_against(ours, theirs, asked.where, asked.search)
    print(json.dumps(found.to_json()) if asked.json else found)
    return 0


def demo(asked: DemoCommand) -> int:
    show(asked.run)
    return 0
