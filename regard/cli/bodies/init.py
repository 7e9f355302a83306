"""`regard init`: three questions, some updates measured, and a recipe."""

import shlex
import sys

from regard.cli.commands.init import InitCommand
from regard.cli.lines import at_terminal
from regard.config import Data
from regard.disk import write_text
from regard.errors import UserError
from regard.tasks import TASKS, proposed
from regard.training.plan import Draft, as_toml, plan


def init(asked: InitCommand) -> int:
    asking = at_terminal() and not asked.yes
    data = asked.data or tuple(shlex.split(_answer("What to learn from (a file, a folder, two parallel files)?", "")))
    if not data:
        raise UserError("init wants files to look at, found none; name one")
    path = asked.free(data)
    wanted = proposed(data[0] if len(data) == 1 else data, asked.kind, asked.columns)
    if asking and asked.kind == "auto":
        wanted = _kind(wanted)
    print(f"looking at {', '.join(data)}, and trying some updates …", file=sys.stderr)
    found = plan(wanted, asked.model)
    _show(found)
    minutes = asked.minutes
    if asking and minutes is None:
        print(f"It takes {found.estimate}.")
        minutes = _minutes(_answer("How many minutes may it take?", "as many as it takes"))
    found = found.within(minutes) if minutes else found
    kept = f" --run {shlex.quote(str(asked.run))}" if asked.run else ""
    command = f"regard train {shlex.quote(str(path))}{kept}"
    write_text(asked.free(data), as_toml(found, command))
    print(f"{path} is written: {found.estimate}\nnext: {command}")
    return 0


def _show(found: Draft) -> None:
    held = f", {found.held_out:,} more held out" if found.held_out else ", its end held out"
    print(f"{found.recipe.data.kind}: {found.examples:,} to learn from{held}")
    for line in found.noticed:
        print(line)


def _kind(data: Data) -> Data:
    """As the files look, unless somebody says otherwise."""
    named = ", ".join(TASKS)
    said = _answer(f"It looks like {data.kind}. What is it ({named})?", data.kind)
    return data if said == data.kind else proposed(data.train, said, ())


def _minutes(said: str) -> float | None:
    try:
        return float(said)
    except ValueError:
        return None


def _answer(question: str, otherwise: str) -> str:
    try:
        return input(f"{question} [{otherwise}] " if otherwise else f"{question} ").strip() or otherwise
    except EOFError:
        print()
        return otherwise
