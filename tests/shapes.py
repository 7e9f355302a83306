"""Shapes in signatures are checked at each call, which takes longer than a tiny model does to compute."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray, config

SHAPE = re.compile(r"\b(Bool|Float|Int|Shaped|UInt8)\[")


def naming_shapes(*rooms: str) -> list[str]:
    """The modules of some rooms that name an array's axes: in others, such as a drawn corpus, is nothing to check."""
    root = Path(__file__).parent.parent
    paths = [path for room in rooms for path in sorted((root / "regard" / room).rglob("*.py"))]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in paths
            if SHAPE.search(path.read_text(encoding="utf-8"))]  # fmt: skip


def whole(function: Callable) -> Callable:
    """Checks every type. A function within another is made anew at each call, and a check of it takes a millisecond."""
    return function if "<locals>" in function.__qualname__ else beartype(function)


def arrays(function: Callable) -> Callable:
    """Checks arrays alone: where numpy's numbers and rows pass for Python's own, other types are mypy's to judge."""
    if "<locals>" in function.__qualname__:
        return function
    function.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if _of_arrays(hint)}
    return beartype(function)


def _of_arrays(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_of_arrays, get_args(hint)))


@contextmanager
def unchecked() -> Iterator[None]:
    """Without it: for what makes calls by the thousand whose like is checked elsewhere. A block or a function."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


def once_for_each_model(training: Callable[[Any], None]) -> Callable[[Any], None]:
    """Trainings make calls by the thousand: those of a model's first one are checked, in each process that tests."""
    seen = set()

    def checked_once(self: Any) -> None:
        kind = self.run.model_config
        with unchecked() if kind in seen else nullcontext():
            seen.add(kind)
            training(self)

    return checked_once
