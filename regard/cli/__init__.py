"""The command line. Thin: each command calls the library, and says what went wrong in one line."""

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from regard.cli import captions, labels
from regard.cli.command import no_settings
from regard.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    try:
        words, settings = apart(sys.argv[1:] if arguments is None else arguments)
        known = _parser().parse_args(words)
        return int(known.run(known, settings) or 0)
    except UserError as error:
        print(f"regard: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="regard",
        description="Train sequence models on your own data, decode with them, and see what they look at.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog="examples:\n" + example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

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
        "  regard evaluate runs/mine\n  regard evaluate runs/mine --data test.en test.fr --json",
    )
    evaluate.add_argument("path", type=Path, metavar="RUN", help="the folder of a run")
    evaluate.add_argument("--data", nargs="+", help="other data than the run's own: a file, two files, or a corpus")
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")

    command("corpora", _corpora, "the built-in corpora, which need no download", "  regard corpora")
    labels.add(command)
    captions.add(command)
    demo = command(
        "demo", _demo, "train a small translator in about 90 seconds and see where it looks", "  regard demo"
    )
    demo.add_argument("--run", dest="folder", type=Path, default=Path("runs/demo"), help="folder to keep the run in")
    return parser


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
    from regard.train.judge import judge

    no_settings(settings)
    where = tuple(known.data) if known.data and len(known.data) > 1 else known.data[0] if known.data else None
    figures = judge(known.path, where)
    if known.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:<16} {value:,.4f}" if isinstance(value, float) else f"{name:<16} {value}")
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


def apart(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The words of a command, and the settings `--section.key value …` among them, read as TOML where they can be."""
    others: list[str] = []
    found: dict[str, Any] = {}
    while words:
        word, *words = words
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not ("." in name or name == "model"):
            others.append(word)
            continue
        values = [value] if equals else []
        while not equals and words and not words[0].startswith("--"):
            word, *words = words
            values.append(word)
        if not values:
            raise UserError(f"--{name} wants a value, found none; write --{name} VALUE")
        read = [_value(word) for word in values]
        found[name] = read[0] if len(read) == 1 else read
    return others, found


def _value(word: str) -> Any:
    try:
        return tomllib.loads(f"x = {word}")["x"]
    except tomllib.TOMLDecodeError:
        return word
