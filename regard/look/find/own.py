"""Properties of the user's own: a function in a file, `my.py:vowels`, or a regular expression, `regex:[aeiou]`.

Only what somebody typed or wrote in Python is looked up here: naming a file runs it.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UserError, unknown
from regard.look.find.properties import Property, as_labels, properties_named, within
from regard.own_code import blamed_on, module_in

REGEX = "regex:"
OWN = re.compile(r"(.+\.py):(\w+)", re.DOTALL)  # file and function


def own_properties(names: Sequence[str]) -> dict[str, Property]:
    """The properties of these names, ours and others; that of a file runs it."""
    files = dict.fromkeys(file for name in names if (file := own_file(name)) is not None)
    modules = {file: module_in(file) for file in files}  # what is named twice runs once
    return dict(_property(name, modules) for name in names)


def own_file(name: str) -> Path | None:
    """The file that has to be run for a property of this name; none: it is one of ours, or no code."""
    match = OWN.fullmatch(name)
    return Path(match[1]) if match and not name.startswith(REGEX) else None


def check_names(names: Sequence[str]) -> None:
    """Refuses names that mean nothing, whatever is on the disk."""
    for name in names:
        if own_file(name) is None:
            _property(name, {})


def _property(name: str, modules: Mapping[Path, ModuleType]) -> tuple[str, Property]:
    if name.startswith(REGEX):
        return name, _by_expression(name.removeprefix(REGEX))
    file = own_file(name)
    if file is not None:
        return f"{file.name}:{name.rpartition(':')[2]}", _from_file(file, modules[file], name.rpartition(":")[2])
    return name, properties_named([name])[name]


def _by_expression(expression: str) -> Property:
    try:
        wanted = re.compile(expression)
    except re.error as error:
        raise UserError(f"property '{REGEX}{expression}' is no regular expression: {error}; see Python's re") from None

    def matches(text: str) -> NDArray[np.bool_]:
        return within(text, (match.span() for match in wanted.finditer(text)))

    return matches


def _from_file(file: Path, module: ModuleType, name: str) -> Property:
    made = getattr(module, name, None)
    if not callable(made):
        functions = [one for one, value in vars(module).items() if isinstance(value, FunctionType)]
        if not functions:
            raise UserError(f"{file} has no function '{name}', nor any other; write: def {name}(text): …")
        raise unknown(f"in {file} the function", name, functions)
    line = getattr(getattr(made, "__code__", None), "co_firstlineno", 1)

    def guarded(text: str) -> NDArray[Any]:
        with blamed_on(file):
            return as_labels(f"{name} (line {line} of {file})", made(text), text)

    return guarded
