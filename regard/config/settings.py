"""Frozen dataclasses ⇄ plain tables (TOML), with every setting checked when it is made."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.errors import UserError, unknown

S = TypeVar("S", bound="Settings")


def at_least(minimum: int, default: int, remedy: str = "") -> Any:
    """A whole number with a lower limit."""
    return field(default=default, metadata={"minimum": minimum, "remedy": remedy})


def fraction(default: float | None, remedy: str = "") -> Any:
    """A number from 0 up to, not including, 1."""
    return field(default=default, metadata={"fraction": True, "remedy": remedy})


def share(default: float, remedy: str = "") -> Any:
    """A number from 0, not included, up to 1."""
    return field(default=default, metadata={"share": True, "remedy": remedy})


def above_zero(default: float, remedy: str = "") -> Any:
    """A positive number."""
    return field(default=default, metadata={"above zero": True, "remedy": remedy})


def not_negative(default: float) -> Any:
    """A number from 0 up."""
    return field(default=default, metadata={"not negative": True})


def hints_of(kind: type) -> dict[str, Any]:
    """The type of each setting, found once: what stands in quotes is looked up each time."""
    return _hints_of(kind)


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@dataclass(frozen=True)
class Settings:
    """A frozen dataclass whose fields are checked against their types and limits."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for setting in fields(self):
            name, value, hint, limits = setting.name, getattr(self, setting.name), hints[setting.name], setting.metadata
            if value is None and NoneType in _options(hint):
                continue
            remedy = f"; {limits['remedy']}" if limits.get("remedy") else ""
            if get_origin(hint) is Literal and value not in get_args(hint):
                raise unknown(name, value, filter(None, get_args(hint)))
            if hint is bool and not isinstance(value, bool):
                raise UserError(f"{name} must be true or false, found {value}")
            if hint is str and not isinstance(value, str):
                raise UserError(f"{name} must be a text, found {value}")
            kinds = _options(hint)
            if all(is_dataclass(kind) for kind in kinds) and not isinstance(value, kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise UserError(f"{name} must be {wanted} settings, found {value!r}")
            number = isinstance(value, int | float) and not isinstance(value, bool)
            whole = number and isinstance(value, int)
            if hint is int and not (whole and value >= limits.get("minimum", value)):
                limit = f" from {limits['minimum']} up" if "minimum" in limits else ""
                raise UserError(f"{name} must be a whole number{limit}, found {value}{remedy}")
            if "fraction" in limits and not (number and 0 <= value < 1):
                raise UserError(f"{name} must be at least 0 and below 1, found {value}{remedy}")
            if "share" in limits and not (number and 0 < value <= 1):
                raise UserError(f"{name} must be above 0 and at most 1, found {value}{remedy}")
            if "not negative" in limits and not (number and 0 <= value < float("inf")):
                raise UserError(f"{name} must be a number from 0 up, found {value}")
            if "above zero" in limits and not (number and value > 0):
                raise UserError(f"{name} must be a number above 0, found {value}{remedy}")
        self.check()

    def check(self) -> None:
        """What concerns more than one setting."""


def from_table(kind: type[S], table: Mapping[str, Any], section: str = "") -> S:
    """The settings that a table spells out, the rest as by default. Errors name the section."""
    hints = hints_of(kind)
    known = {setting.name: setting for setting in fields(kind)}
    for name in table:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            remedy = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
            raise UserError(f"no setting '{name}' in {_bracket(section)}; {remedy}")
    values: dict[str, Any] = {}
    for name, value in table.items():
        inner = f"{section}.{name}" if section else name
        options = _options(hints[name])
        kinds = [option for option in options if is_dataclass(option)]
        if isinstance(value, Mapping) and kinds:
            values[name] = from_table(_chosen(kinds, value, inner, known[name]), value, inner)
        elif len(kinds) == len(options):
            raise UserError(
                f"{inner} must be a section with settings of its own, found {value}; "
                f"write [{inner}] and the settings below it"
            )
        elif isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = float(value) if float in options and isinstance(value, int) else value
    try:
        return kind(**values)
    except UserError as error:
        raise UserError(f"{_bracket(section)} {error}" if section else str(error)) from None


def to_table(settings: Any) -> dict[str, Any]:
    """The inverse of `from_table`: every setting that there is, also those left as by default."""
    table = {}
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if value is None:  # TOML has no word for it
            continue
        if is_dataclass(value):
            value = to_table(value)
        table[setting.name] = list(value) if isinstance(value, tuple) else value
    return table


def changes(before: Mapping[str, Any], after: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every setting that differs between two tables: its name, what it was and what it is; None: it is not there."""
    for key in {**before, **after}:
        was, found = before.get(key), after.get(key)
        if isinstance(was, Mapping) and isinstance(found, Mapping):
            yield from changes(was, found, f"{section}{key}.")
        elif was != found:
            yield f"{section}{key}", was, found


def with_override(table: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The table with `section.key` set; a section given as a name becomes a table only where the path asks for one."""
    first, _, rest = path.partition(".")
    if not rest:
        return {**table, first: value}
    below = table.get(first, {})
    if not isinstance(below, dict):
        raise UserError(
            f"{first} is '{below}', a name for a whole section, so {path} cannot be set; write the section out"
        )
    return {**table, first: with_override(below, rest, value)}


@cache
def meanings(kind: type) -> dict[str, str]:
    """The docstring under each setting of a class and of its bases; a setting without one is not there."""
    found = {}
    for base in reversed(kind.__mro__):
        if is_dataclass(base):
            for setting, after in pairwise(_classes(base.__module__)[base.__name__].body):
                if isinstance(setting, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found[ast.unparse(setting.target)] = inspect.cleandoc(ast.literal_eval(after.value))
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _chosen(kinds: list[Any], table: Mapping[str, Any], section: str, setting: Any) -> Any:
    """Of several kinds of settings the one that the table's `kind` names, or the only one that has its settings."""
    if len(kinds) == 1:
        return kinds[0]
    by_name = {name: kind for kind in kinds for name in get_args(hints_of(kind)["kind"])}
    if "kind" in table:
        named = str(table["kind"])
        if named not in by_name:
            raise unknown(f"{_bracket(section)} kind", named, by_name)
        return by_name[named]
    names = {kind: {setting.name for setting in fields(kind)} for kind in kinds}
    fitting = [kind for kind in kinds if table.keys() <= names[kind]]
    just_these = [kind for kind in fitting if names[kind] == {"kind", *table}]
    if len(just_these or fitting) == 1:
        return (just_these or fitting)[0]
    if setting.default_factory is MISSING:
        raise UserError(f"{_bracket(section)} wants a kind; choose one of {', '.join(by_name)}")
    return type(setting.default_factory())


def _bracket(section: str) -> str:
    return f"[{section}]" if section else "the recipe"
