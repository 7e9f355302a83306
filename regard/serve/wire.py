"""What comes over the wire: JSON as values of our own, checked field by field; and what they look like, for OpenAPI."""

import json
import math
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from regard.config.settings import meanings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


class Declined(Exception):
    """A request that gets a status other than 200 and one line; `param` is the field that is wrong."""

    def __init__(self, status: int, text: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(text)
        self.status, self.param, self.code = status, param, code
        self.headers: dict[str, str] = {}


def decoded(body: bytes) -> Any:
    """The JSON in a body."""
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Declined(400, f"the body must be JSON, found what is none ({type(error).__name__})") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def read(kind: type[T], data: object) -> T:
    """An object of JSON as a value; a field that is missing, unknown or of another kind is named."""
    if not isinstance(data, dict):
        raise Declined(400, f"the body must be a JSON object, found {_kind(data)}")
    hints, known = _fields_of(kind)
    found = {}
    for name, value in data.items():
        if name not in known:
            raise Declined(400, f"'{name}' is not known here; leave it out", name, "unknown_parameter")
        try:
            found[name] = _fitted(value, hints[name])
        except TypeError:
            wanted = _words(hints[name])
            raise Declined(400, f"'{name}' must be {wanted}, found {_kind(value)}", name, "invalid_type") from None
    for name, one in known.items():
        if name not in found and one.default is MISSING and one.default_factory is MISSING:
            raise Declined(400, f"'{name}' is missing", name, "missing_required_parameter")
    return kind(**found)


@cache
def _fields_of(kind: "type[DataclassInstance]") -> tuple[dict[str, Any], dict[str, Field[Any]]]:
    """Types and fields by name."""
    return get_type_hints(kind), {one.name: one for one in fields(kind)}


def between(name: str, value: float | None, least: float, most: float) -> None:
    """Refuses a number out of its bounds."""
    if value is not None and not least <= value <= most:
        raise Declined(400, f"'{name}' must be from {least:g} to {most:g}, found {value:g}", name, "out_of_bounds")


def _fitted(value: Any, hint: Any) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for each in inside:
            try:
                return _fitted(value, each)
            except TypeError:
                continue
        raise TypeError
    if origin is list and isinstance(value, list):
        return [_fitted(each, inside[0]) for each in value]
    if origin is dict and isinstance(value, dict):
        return {key: _fitted(each, inside[1]) for key, each in value.items()}
    if origin is Literal and isinstance(value, str) and value in inside:
        return value
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, dict):
        return read(hint, value)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) < 1e300 and math.isfinite(value):
            return float(value)
    elif hint is Any or (hint in (str, int, bool, NoneType) and type(value) is hint):
        return value
    raise TypeError


_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema(hint: Any) -> dict[str, Any]:
    """A JSON schema of such values."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [schema(each) for each in inside]}
    if origin is list:
        return {"type": "array", "items": schema(inside[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(inside[1])}
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if isinstance(hint, type) and is_dataclass(hint):
        hints, told = get_type_hints(hint), meanings(hint)
        properties = {}
        for one in fields(hint):
            properties[one.name] = schema(hints[one.name])
            if told.get(one.name):
                properties[one.name]["description"] = " ".join(told[one.name].split())
            if one.default is not MISSING:
                properties[one.name]["default"] = one.default
        needed = [one.name for one in fields(hint) if one.default is MISSING and one.default_factory is MISSING]
        return {"type": "object", "properties": properties} | ({"required": needed} if needed else {})
    return {"type": _JSON[hint]} if hint in _JSON else {}


def _words(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_words(each) for each in inside if each is not NoneType)
    if origin is list:
        return f"a list of {_words(inside[0]).removeprefix('a ').removeprefix('an ')}s"
    if origin is Literal:
        return " or ".join(inside)
    names = {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}
    return names.get(hint, "an object")


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", NoneType: "null"}
    return kinds.get(type(value), "a number")
