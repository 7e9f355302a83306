"""The command line. Thin: each command calls the library, and says what went wrong in one line."""

import argparse
import sys
import tomllib
import warnings
from typing import Any

from regard.cli import align, decoding, find, heads, lab, look, patterns, training
from regard.cli.command import Run
from regard.cli.lines import let_go
from regard.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    try:
        words, settings = apart(sys.argv[1:] if arguments is None else arguments)
        known = _parser().parse_args(words)
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"regard: {message}", file=sys.stderr)
            code = int(known.run(known, settings) or 0)
            sys.stdout.flush()
        return code
    except UserError as error:
        print(f"regard: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read has what they wanted, such as head -1
        let_go()
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="regard",
        description="Train sequence models on your own data, decode with them, and see what they look at.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Run, text: str, example: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog="examples:\n" + example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    training.add(command)
    decoding.add(command)
    patterns.add(command)
    align.add(command)
    heads.add(command)
    find.add(command)
    look.add(command)
    lab.add(command)
    return parser


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
