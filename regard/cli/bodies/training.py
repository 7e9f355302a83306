"""`regard train`, `evaluate` and `demo`."""

import json
import sys

from regard.cli.commands.training import DemoCommand, EvaluateCommand, TrainCommand
from regard.demo import demo as show
from regard.evaluate.judge import against_float32, judge
from regard.train.loop import Interrupted
from regard.train.loop import train as go


def train(asked: TrainCommand) -> int:
    try:
        go(asked.wanted, asked.kept_in)
    except Interrupted as stopped:
        print(f"regard: {stopped}", file=sys.stderr)
        return 130
    return 0


def evaluate(asked: EvaluateCommand) -> int:
    if asked.precision == "float32":
        columns = {"": judge(asked.run, asked.where, search=asked.search, ensemble=asked.ensemble)}
    else:
        columns = against_float32(asked.run, asked.where, asked.precision, search=asked.search, ensemble=asked.ensemble)
    if asked.json:
        print(json.dumps(columns.get("", columns)))
        return 0
    if len(columns) > 1:
        print(" " * 16 + "".join(f" {name:>12}" for name in columns))
    wide = 12 if len(columns) > 1 else 0
    for name, value in next(iter(columns.values())).items():
        if isinstance(value, float):
            print(f"{name:<16}" + "".join(f" {column[name]:>{wide},.4f}" for column in columns.values()))
        else:
            print(f"{name:<16} {value}")
    return 0


def demo(asked: DemoCommand) -> int:
    show(asked.run)
    return 0
