"""Shapes in signatures are checked at each call, which takes longer than a tiny model does to compute."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray, config


def arrays(function: Callable) -> Callable:
    """Checks arrays alone: where numpy's numbers and rows pass for Python's own, other types are mypy's to judge."""
    function.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if _of_arrays(hint)}
    return beartype(function)


def _of_arrays(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_of_arrays, get_args(hint)))


@contextmanager
def unchecked() -> Iterator[None]:
    """Without it: for what makes calls by the thousand whose like is checked elsewhere. A block or a function."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)
