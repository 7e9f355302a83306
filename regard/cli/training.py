"""`regard train`, `evaluate`, `corpora` and `demo`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from regard.cli.command import Command, no_settings
from regard.cli.options import add_length_penalty, add_run
from regard.config.decoding import Search
from regard.errors import UserError


def add(command: Command) -> None:
    """The commands that make a run and judge it."""
    train = command(
        "train",
        _train,
        "train a model by a recipe, or go on with a run that stopped",
        "  regard train examples/lm-lstm.toml\n"
        "  regard train examples/lm-lstm.toml --train.steps 500 --model.layer.width 256\n"
        "  regard train --data.train my.txt --model lstm --run runs/mine\n"
        "  regard train runs/mine                              (goes on where it stopped)\n"
        "  torchrun --nproc-per-node 2 -m regard.cli train examples/lm-lstm.toml --folder runs/two",
    )
    train.add_argument("recipe", nargs="?", type=Path, help="a recipe (TOML), or the folder of a run to go on with")
    # torchrun takes --run for an option of its own, so there is a second name
    train.add_argument(
        "--run", "--folder", dest="folder", type=Path, help="folder to keep the run in (default: runs/NAME)"
    )

    evaluate = command(
        "evaluate",
        _evaluate,
        "how good a run is on text that it was not trained on",
        "  regard evaluate runs/mine\n"
        "  regard evaluate runs/mine --data test.en test.fr --beam 5 --json\n"
        "  regard evaluate runs/mine --precision int8          (and the change against float32)",
    )
    add_run(evaluate)
    evaluate.add_argument("--data", nargs="+", help="other data than the run's own: a file, two files, or a corpus")
    evaluate.add_argument("--beam", type=int, default=1, metavar="N", help="width of the search (default: 1, argmax)")
    add_length_penalty(evaluate)
    evaluate.add_argument("--ensemble", nargs="+", type=Path, default=[], metavar="RUN", help="runs that join in")
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")

    command("corpora", _corpora, "the built-in corpora, which need no download", "  regard corpora")
    demo = command(
        "demo", _demo, "train a small translator in about 90 seconds and see where it looks", "  regard demo"
    )
    demo.add_argument("--run", dest="folder", type=Path, default=Path("runs/demo"), help="folder to keep the run in")


def _train(known: argparse.Namespace, changes: dict[str, Any]) -> int:
    from regard.config import recipe_from
    from regard.config.recipe import read_toml
    from regard.train.loop import Interrupted, train

    path: Path | None = known.recipe
    folder: Path | None = known.folder
    if path is not None and path.is_dir():
        if folder is not None and folder != path:
            raise UserError(
                f"{path} is a run already, so --run {folder} has no meaning; give a recipe, or leave --run out"
            )
        folder = path
        config = path / "config.toml"
        recipe = recipe_from(read_toml(config), changes) if changes and config.exists() else None
    else:
        if path is None and not changes:
            raise UserError("train wants a recipe or --data.train FILE, found neither; see regard train --help")
        recipe = recipe_from(read_toml(path) if path is not None else {}, changes)
    if folder is None:
        folder = Path("runs") / (path.stem if path is not None else "mine")
    try:
        train(recipe, folder)
    except Interrupted as stopped:
        print(f"regard: {stopped}", file=sys.stderr)
        return 130
    return 0


def _evaluate(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.evaluate.judge import against_float32, judge

    no_settings(settings)
    where = tuple(known.data) if known.data and len(known.data) > 1 else known.data[0] if known.data else None
    search = Search(beam=known.beam, length_penalty=known.length_penalty)
    if known.precision == "float32":
        columns = {"": judge(known.path, where, search=search, ensemble=known.ensemble)}
    else:
        columns = against_float32(known.path, where, known.precision, search=search, ensemble=known.ensemble)
    if known.json:
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


def _corpora(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.data.corpora.registry import CORPORA

    no_settings(settings)
    wide = max(map(len, CORPORA))
    for name, corpus in CORPORA.items():
        print(f"{name:<{wide}}  {corpus.kind:<5}  {corpus.size:<19}  {corpus.description}")
    return 0


def _demo(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.demo import demo

    no_settings(settings)
    demo(known.folder)
    return 0
