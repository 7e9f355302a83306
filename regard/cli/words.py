"""From the words that were typed to a command: options stand anywhere, before, between and behind the other words."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from regard.cli.command import Command, Option, group_default, options_of, places_of, setting_kind, settings_of
from regard.errors import UserError, unknown

C = TypeVar("C", bound=Command)
WANTED = {int: "a whole number", float: "a number"}


@dataclass
class _Typed:
    """What stands where: words by their number, and what each option was given."""

    words: list[tuple[int, str]] = field(default_factory=list)
    options: list[tuple[Option, list[tuple[int, str]]]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def parse(kind: type[C], words: Sequence[str]) -> C:
    """The command that was typed, checked; what is wrong with it is said before anything is computed."""
    typed = _sorted(kind, words)
    values = _in_places(kind, _with_given_back(kind, typed))
    grouped: dict[str, dict[str, Any]] = {}
    for option, given in typed.options:
        into = grouped.setdefault(option.group, {}) if option.group else values
        read = tuple(_value(option, word) for _, word in given)
        several = into.get(option.field, ()) + read if option.several else ()
        into[option.field] = several or (True if option.switch else read[0])
    for one in fields(kind):
        if one.name in grouped:
            values[one.name] = replace(group_default(kind, one), **grouped[one.name])
        if "settings" in one.metadata:
            values[one.name] = typed.settings
    return kind(**values)


def _sorted(kind: type[Command], words: Sequence[str]) -> _Typed:
    typed, at = _Typed(), 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            typed.words += enumerate(words[at:], at)
            break
        if not word.startswith("--"):
            typed.words.append((at, word))
            continue
        name, equals, given = word.partition("=")
        option = _named(kind, name)
        several = option.several and not equals
        found = [(at, given)] if equals else []
        while not option.switch and at < len(words) and not words[at].startswith("--") and (several or not found):
            found.append((at, words[at]))
            at += 1
        if option.switch and equals:
            raise UserError(f"{name} is on or off and takes no value, found '{given}'; write {name}")
        if not option.switch and not found:
            raise UserError(f"{name} wants a value, found none; write {name} {option.shown or 'VALUE'}")
        if _is_setting(kind, name):
            read = [_toml(value) for _, value in found]
            typed.settings[name.removeprefix("--")] = read[0] if len(read) == 1 else read
        else:
            typed.options.append((option, found))
    return typed


def _named(kind: type[Command], name: str) -> Option:
    """The option of this name; its beginning is enough where no other begins so."""
    if _is_setting(kind, name):
        recipe = setting_kind(kind)
        if recipe is None:
            raise UserError(f"{name} is a setting of a recipe and means nothing here; see --help")
        unheard = Option(name, "", (str,), (), False, "", "", "")  # refused, with the others, when the recipe is made
        return settings_of(recipe).get(name.removeprefix("--"), unheard)
    known = options_of(kind)
    name = {f"--{before}": f"--{now}" for before, now in kind.old}.get(name, name)
    begun = [other for other in known if other.startswith(name)]
    if name not in known and len(begun) != 1:
        raise unknown("option", name, known)
    return known[name] if name in known else known[begun[0]]


def _is_setting(kind: type[Command], name: str) -> bool:
    return "." in name or name == "--model"


def _with_given_back(kind: type[Command], typed: _Typed) -> list[str]:
    """The words outside options. An option for several takes all that follow: it gives back what is missed."""
    words, needed = list(typed.words), sum(one.needed for one in places_of(kind))
    for option, given in reversed(typed.options):
        while option.several and len(given) > 1 and len(words) < needed:
            words.append(given.pop())
    return [word for _, word in sorted(words)]


def _in_places(kind: type[Command], words: list[str]) -> dict[str, Any]:
    values, places = {}, places_of(kind)
    for one in places:
        taken, words = (words, []) if one.several else (words[:1], words[1:])
        if taken:
            read = tuple(_value(one, word) for word in taken)
            values[one.field] = read if one.several else read[0]
        elif one.needed:
            raise UserError(f"{kind.called()} wants {one.shown}, found none; see regard {kind.called()} --help")
    if words:
        wanted = " ".join(one.shown for one in places) or "no words"
        raise UserError(f"{kind.called()} wants {wanted}, found also '{words[0]}'; a text with blanks wants quotes")
    return values


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
