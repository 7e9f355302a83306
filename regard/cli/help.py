"""Help, from the same declarations that a command is read by."""

import inspect
import shutil
import textwrap
from collections.abc import Iterable

from regard.cli.command import Command, Option, options_of, places_of, setting_kind, settings_of
from regard.cli.commands import COMMANDS

COLUMN = 26  # where what an option means begins
LITTLE = 6  # the same where that leaves too little room
ROOM, LEAST = 30, 30  # columns for what an option means, and for all


def overview() -> str:
    """All commands, a line for each."""
    rows = [(name, inspect.getdoc(kind) or "") for name, kind in COMMANDS.items()]
    return (
        "usage: regard COMMAND … [--help]\n\n"
        "Train sequence models on your own data, decode with them, and see what they look at.\n\n"
        f"{_table(rows, 14)}\n\n"
        "regard COMMAND --help says more; regard --version says which regard this is.\n"
    )


def help_for(kind: type[Command]) -> str:
    """All that can be typed behind a command."""
    places = places_of(kind)
    typed = [f"{one.shown}{' …' if one.several else ''}" for one in places]
    usage = [word if one.needed else f"[{word}]" for one, word in zip(places, typed, strict=True)]
    rows = [
        *((one.shown, one.meaning) for one in places),
        *((f"{name} {_values(one)}".rstrip(), _said(one)) for name, one in options_of(kind).items()),
        ("--help", "This text"),
    ]
    parts = [
        " ".join(["usage: regard", kind.called(), *usage, "[--option …]"]),
        inspect.getdoc(kind) or "",
        _table(rows, COLUMN),
        "examples:\n" + textwrap.indent(inspect.cleandoc(kind.examples), "  "),
        kind.more(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def settings_for(kind: type[Command]) -> str:
    """Every setting of a recipe that the command takes, by section; what several sections have alike stands once."""
    sections: dict[str, dict[str, Option]] = {}
    for name, one in settings_of(setting_kind(kind) or Command).items():
        if one.meaning and name.partition(".")[0] in kind.own:
            sections.setdefault(name.rpartition(".")[0] or name, {})[name] = one
    parts, told = [], dict[tuple[str, str], str]()
    for section in sorted(sections, key=lambda name: (kind.own.index(name.partition(".")[0]), name.count("."))):
        keys = {name: (one.field, one.meaning) for name, one in sections[section].items()}
        new = [(name, sections[section][name]) for name, key in keys.items() if key not in told]
        rows = [(f"--{name} {_values(one)}", _said(one)) for name, one in new]
        alike = sorted({told[key] for key in keys.values() if key in told})
        title = f"[{section}]" + (f", as [{alike[0]}]" if alike else "")
        parts.append(f"{title}\n{_table(rows, COLUMN)}".rstrip())
        told = dict.fromkeys(keys.values(), section) | told
    return "\n\n".join(parts) + "\n"


def _values(one: Option) -> str:
    shown = one.shown or "|".join(one.choices)
    return "" if one.switch else f"{shown} …" if one.in_a_row else shown


def _said(one: Option) -> str:
    plain = one.default is None or one.default is False or one.default in ("", ())
    meaning = f"{one.meaning}; {one.name} once for each" if one.several and not one.in_a_row else one.meaning
    return meaning if plain else f"{meaning} (default: {one.default})"


def _table(rows: Iterable[tuple[str, str]], column: int) -> str:
    wide = min(max(shutil.get_terminal_size((100, 24)).columns, LEAST), 120)
    column = column if wide >= ROOM + column else LITTLE
    lines = []
    for name, said in rows:
        first, *others = textwrap.wrap(said, wide - column) or [""]
        short = len(name) < column - 3
        lines += [f"  {name:<{column - 2}}{first}".rstrip()] if short else [f"  {name}", " " * column + first]
        lines += [" " * column + other for other in others]
    return "\n".join(lines)
