"""Options that several commands have."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from regard.cli.lines import STANDARD, at_terminal
from regard.config.decoding import Search, Writing
from regard.decode.batches import BATCH
from regard.errors import UserError

Wishes = TypeVar("Wishes", Search, Writing)

SEARCH = {
    "beam": "hypotheses followed at once; 1: always the most probable token",
    "n_best": "so many translations of each line, as Moses and Marian write them: "
    "line from 0 ||| text ||| logprob= sum of log p ||| score",
    "min_length": "tokens at least",
    "max_length": "tokens at most; 0: twice the source's and 20 more",
    "no_repeat": "no N tokens in a row come twice; 0: they may",
    "prefix": "how every translation begins",
    "must": "words, or phrases in quotes, that must appear",
    "never": "words, or phrases in quotes, that must not",
}


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--precision", default="float32", help="float32 or int8: what weights are kept in")


def add_file(parser: argparse.ArgumentParser, text: str) -> None:
    """Lines to read; `batch_of` says how many of them together."""
    parser.add_argument("file", nargs="?", default=STANDARD, metavar="FILE", help=text)
    parser.add_argument(
        "--batch", type=int, default=BATCH, metavar="N",
        help="lines computed together (default: %(default)s); 1: answer each line as soon as it is read",
    )  # fmt: skip


def batch_of(known: argparse.Namespace) -> int:
    if known.batch < 1:
        raise UserError(f"batch must be a whole number from 1 up, found {known.batch}")
    return 1 if known.file == STANDARD and at_terminal() else int(known.batch)


def add_search(parser: argparse.ArgumentParser, texts: dict[str, str]) -> None:
    """How to look for an answer, and who joins in; `texts` beside those in `SEARCH`."""
    add_settings(parser, Search, SEARCH | texts)
    add_length_penalty(parser)
    parser.add_argument("--ensemble", nargs="+", type=Path, default=[], metavar="RUN", help="runs that join in")


def add_length_penalty(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--length-penalty", type=_penalty, default=Search.length_penalty, metavar="A",
        help="divide the sum of log p by ((5 + n) / 6)^A, or by n: average (default: %(default)s)",
    )  # fmt: skip


def add_settings(parser: argparse.ArgumentParser, kind: type[Search] | type[Writing], texts: dict[str, str]) -> None:
    """An option for each of these settings; `wishes` reads them."""
    for name, text in texts.items():
        default = getattr(kind, name)
        option = f"--{name.replace('_', '-')}"
        if isinstance(default, tuple):
            parser.add_argument(option, nargs="+", default=default, metavar="WORD", help=text)
        else:
            shown = "" if default == "" else " (default: %(default)s)"
            sort = "TEXT" if isinstance(default, str) else "N" if isinstance(default, int) else "X"
            parser.add_argument(option, type=type(default), default=default, metavar=sort, help=text + shown)


def wishes(kind: type[Wishes], known: argparse.Namespace) -> Wishes:
    """The settings that were chosen."""
    values: dict[str, Any] = {setting.name: getattr(known, setting.name) for setting in fields(kind)}
    return kind(**values | {name: tuple(value) for name, value in values.items() if isinstance(value, list)})


def _penalty(word: str) -> float | str:
    try:
        return word if word == "average" else float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"wants a number from 0 up or 'average', found '{word}'") from None
