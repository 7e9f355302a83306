"""The command line. Thin: each command calls the library, and says what went wrong in one line."""

import sys
import warnings
from importlib import import_module

import regard
from regard.cli.command import Command, setting_kind
from regard.cli.commands import COMMANDS
from regard.cli.help import help_for, overview, settings_for
from regard.cli.lines import let_go
from regard.cli.words import parse
from regard.errors import UserError, unknown
from regard.process import INTERRUPTED, interruptible


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"regard: {message}", file=sys.stderr)
            code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except UserError as error:
        print(f"regard: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read has what they wanted, such as head -1
        let_go()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: list[str]) -> int:
    name, *others = words or [""]
    if name in ("-h", "--help", "--version"):
        print(f"regard {regard.__version__}\n" if name == "--version" else overview(), end="")
        return 0
    if name not in COMMANDS:
        raise (
            unknown("command", name, [*COMMANDS, "--help", "--version"])
            if name
            else UserError("a command is wanted; see regard --help")
        )
    kind = COMMANDS[name]
    options = {*(others[: others.index("--")] if "--" in others else others)}
    if {"-h", "--help"} & options:
        print(help_for(kind), end="")
        return 0
    if "--settings" in options and setting_kind(kind):
        print(settings_for(kind), end="")
        return 0
    asked = parse(kind, others)
    asked.ready()
    return _do(asked)


def _do(asked: Command) -> int:
    """What a command computes is imported only here, when nothing typed can be wrong any more."""
    module, name = asked.body()
    body = getattr(import_module(module), name)
    with interruptible():
        return int(body(asked))
