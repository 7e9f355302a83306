"""From the words that were typed to a command: options stand anywhere, before, between and behind the other words."""

import os
import shlex
import tomllib
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from regard.cli.command import Command, Option, group_default, options_of, places_of, setting_kind, settings_of
from regard.errors import UserError, unknown

C = TypeVar("C", bound=Command)
WANTED = {int: "a whole number", float: "a number"}


@dataclass
class _Given:
    """An option as it was typed, with what it was given."""

    name: str
    option: Option
    values: list[tuple[int, str]]


@dataclass
class _Typed:
    """What stands where: words by their number, and what each option was given."""

    words: list[tuple[int, str]] = field(default_factory=list)
    options: list[_Given] = field(default_factory=list)


TYPED: ContextVar[str] = ContextVar("typed", default="")
"""The command as a shell takes it, for whatever it makes to carry along."""


def parse(kind: type[C], words: Sequence[str]) -> C:
    """The command that was typed, checked; what is wrong with it is said before anything is computed."""
    TYPED.set(shlex.join(["regard", kind.called(), *words]))
    typed = _sorted(kind, words)
    _give_back(kind, typed)
    values = _in_places(kind, typed)
    grouped: dict[str, dict[str, Any]] = {}
    changes: dict[str, Any] = {}
    for name, option, given in ((one.name, one.option, one.values) for one in _joined(kind, typed.options)):
        if _is_setting(kind, name):
            found = [_toml(word) for _, word in given]
            changes[name.removeprefix("--")] = found[0] if len(found) == 1 else found
            continue
        into = grouped.setdefault(option.group, {}) if option.group else values
        read = tuple(_value(option, word) for _, word in given)
        into[option.field] = read if option.several else True if option.switch else read[0]
    for one in fields(kind):
        if one.name in grouped:
            values[one.name] = replace(group_default(kind, one), **grouped[one.name])
        if "settings" in one.metadata:
            values[one.name] = changes
    return kind(**values)


def _sorted(kind: type[Command], words: Sequence[str]) -> _Typed:
    typed, at = _Typed(), 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            typed.words += enumerate(words[at:], at + 1)
            break
        if not word.startswith("--"):
            typed.words.append((at, word))
            continue
        name, equals, given = word.partition("=")
        option = _named(kind, name)
        found = [(at, given)] if equals else []
        in_a_row = option.in_a_row and not equals
        while not option.switch and at < len(words) and not words[at].startswith("--") and (in_a_row or not found):
            found.append((at + 1, words[at]))
            at += 1
        if option.switch and equals:
            raise UserError(f"{name} is on or off and takes no value, found '{given}'; write {name}")
        if not option.switch and not found:
            raise UserError(f"{name} wants a value, found none; write {name} {option.shown or 'VALUE'}")
        typed.options.append(_Given(name, option, found))
    return typed


def _joined(kind: type[Command], options: Sequence[_Given]) -> list[_Given]:
    """Each option once: typed again it holds one value more, or is refused if it can hold but one."""
    found: dict[str, _Given] = {}
    for one in options:
        name = one.name if _is_setting(kind, one.name) else one.option.name  # however it was spelled
        first = found.setdefault(name, replace(one, values=[]))
        first.values += one.values
        if len(first.values) > 1 and not one.option.several:
            (_, before), (_, now) = first.values
            raise UserError(f"{name} holds one value, found '{before}' and '{now}'; type it once")
    return list(found.values())


def _named(kind: type[Command], name: str) -> Option:
    """The option of this name; its beginning is enough where no other begins so."""
    if _is_setting(kind, name):
        recipe = setting_kind(kind)
        if recipe is None:
            raise UserError(f"{name} is a setting of a recipe and means nothing here; see --help")
        unheard = Option(name, "", (str,))  # refused, with the others, when the recipe is made
        return settings_of(recipe).get(name.removeprefix("--"), unheard)
    known = options_of(kind)
    name = {f"--{before}": f"--{now}" for before, now in kind.old}.get(name, name)
    begun = [other for other in known if other.startswith(name)]
    if name not in known and len(begun) != 1:
        raise unknown("option", name, known)
    return known[name] if name in known else known[begun[0]]


def _is_setting(kind: type[Command], name: str) -> bool:
    """`--section.key`, unless a command that takes no recipe has an option for it."""
    own = any(name == f"--{before}" for before, _ in kind.old)
    return ("." in name and not own) or (name == "--model" and name not in options_of(kind))


def _give_back(kind: type[Command], typed: _Typed) -> None:
    """Files in a row end where a word is missed elsewhere, or can only be meant for another place."""
    places = places_of(kind)
    needed, endings = sum(one.needed for one in places), tuple(one.ending for one in places if one.ending)
    for one in reversed(typed.options):
        while len(one.values) > 1 and (
            len(typed.words) < needed or (len(typed.words) < len(places) and one.values[-1][1].endswith(endings))
        ):
            typed.words.append(one.values.pop())
    typed.words.sort()


def _in_places(kind: type[Command], typed: _Typed) -> dict[str, Any]:
    values, places, words = {}, places_of(kind), typed.words
    for one in places:
        taken, words = (words, []) if one.several else (words[:1], words[1:])
        if taken:
            read = tuple(_value(one, word) for _, word in taken)
            values[one.field] = read if one.several else read[0]
        elif one.needed:
            raise UserError(f"{kind.called()} wants {one.shown}, found none; see regard {kind.called()} --help")
    _once_for_each(typed, typed.words[sum(one.needed for one in places) :], words)
    if words:
        wanted = " ".join(one.shown for one in places) or "no words"
        remedy = kind.instead([word for _, word in typed.words])
        raise UserError(f"{kind.called()} wants {wanted}, found also '{words[0][1]}'; {remedy}")
    return values


def _once_for_each(typed: _Typed, optional: list[tuple[int, str]], left: list[tuple[int, str]]) -> None:
    """What stands behind the value of an option for several, and is no word of the command, wants that option again."""
    behind = {one.values[-1][0] + 1: one for one in typed.options if one.option.several and not one.option.in_a_row}
    for at, word in optional:
        is_folder, is_file = os.path.isdir(word), os.path.isfile(word)
        if at in behind and ((left and not is_file) or (Path in behind[at].option.kinds and is_folder)):
            name, (_, first), shown = behind[at].name, behind[at].values[-1], behind[at].option.shown
            again = shlex.join([name, first, name, word])
            raise UserError(f"{name} takes one {shown} each time it is typed, found also '{word}'; write {again}")


def _value(option: Option, word: str) -> Any:
    """A word as what it stands for; a choice is checked with the other settings."""
    for kind in option.kinds if word not in option.choices else ():
        try:
            return kind(word)
        except ValueError:
            continue
    if word in option.choices or not option.kinds:
        return word
    name = option.shown if option.needed else option.name
    wanted = [*(WANTED[kind] for kind in option.kinds), *(f"'{choice}'" for choice in option.choices)]
    raise UserError(f"{name} wants {' or '.join(wanted)}, found '{word}'")


def _toml(word: str) -> Any:
    try:
        return tomllib.loads(f"x = {word}")["x"]
    except tomllib.TOMLDecodeError:
        return word
