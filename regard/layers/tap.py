"""Taps: named identities where a model can be looked into or changed, without widening what it returns.

Listeners live in a context variable, not on the module: two threads can trace and patch one model at the same time, and
nothing is ever left behind on it. A compiled model has no listeners.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from regard.errors import UserError

Listener: TypeAlias = Callable[[Tensor], Tensor]
Role: TypeAlias = Literal[
    "embedding", "hidden", "cells", "gate", "candidate", "units",  # a vector at each position
    "queries", "keys", "values", "scores", "weights", "mixed",  # of attention: Q, K, V, E, A, A V
]  # fmt: skip
WRITTEN, SOURCE = "written", "source"  # the two sequences of tokens that there are

_listeners: ContextVar[Mapping["Tap", tuple[Listener, ...]]] = ContextVar("listeners", default=MappingProxyType({}))


class Tap(nn.Module):
    """y = x, unless somebody listens; a hook point that says what passes there.

    `axes` names the tensor's axes, e.g. "B H T S". T runs over the tokens of the sequence `rows`, S over those of
    `columns`: what is written, or the source that an encoder reads. Nobody who looks has to guess it from a path.

    `carried`: what passes at a position is handed on to the next one: the arrows along time of a recurrence.

    A layer asks `listening(self)`: if nobody does, it takes its fused kernel and never calls its taps.
    """

    def __init__(self, axes: str, role: Role, *, columns: str = "", filler: float = 0.0, carried: bool = False) -> None:
        super().__init__()
        self.axes = axes.split()
        self.role = role
        self.rows = WRITTEN if "T" in self.axes else ""
        self.columns = columns
        self.filler = filler  # what stands for positions that a step could not see yet
        self.carried = carried
        self.from_the_end = False  # True inside a layer that reads its input from the last token to the first

    def forward(self, value: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return value
        for listener in _listeners.get().get(self, ()):
            value = listener(value)
        return value

    def at_one_position(self, value: Tensor) -> Tensor:
        """The tap inside a recurrence, where one position `(B, …)` is at hand: listeners get it as `(B, 1, …)`."""
        return self(value.unsqueeze(1)).squeeze(1) if listening(self) else value

    def extra_repr(self) -> str:
        return " ".join([self.role, *self.axes])


def listening(module: nn.Module) -> bool:
    """Whether anybody reads or writes at a tap of this module, here and now."""
    if torch.compiler.is_compiling():
        return False
    heard = _listeners.get()
    return bool(heard) and any(part in heard for part in module.modules())


@contextmanager
def listen(listeners: Mapping[Tap, Listener]) -> Iterator[None]:
    """Adds listeners behind those already there, for this block of code and this thread only."""
    before = _listeners.get()
    added = {tap: (*before.get(tap, ()), listener) for tap, listener in listeners.items()}
    token = _listeners.set(MappingProxyType({**before, **added}))
    try:
        yield
    finally:
        _listeners.reset(token)


def taps_of(module: nn.Module) -> dict[str, Tap]:
    """Every tap below a module, by its path."""
    return {path: tap for path, tap in module.named_modules() if isinstance(tap, Tap)}


def over_the_source(encoder: nn.Module) -> None:
    """Stamps every tap below an encoder: all that runs there runs over the source."""
    for tap in taps_of(encoder).values():
        tap.rows, tap.columns = SOURCE if tap.rows else "", SOURCE if tap.columns else ""


def layer_of(path: str) -> str:
    """The path of the layer that a tap belongs to; one that belongs to the model itself stands for itself."""
    return path.rpartition(".")[0] or path


def means(pattern: str, path: str, tap: Tap) -> bool:
    """Whether somebody means this tap by a path, a pattern of paths, or a role."""
    return pattern == tap.role or fnmatchcase(path, pattern)


def matching(taps: Mapping[str, Tap], patterns: Iterable[str]) -> dict[str, Tap]:
    """The taps that are meant by one of the patterns; every pattern must mean some."""
    found: dict[str, Tap] = {}
    for pattern in patterns:
        matched = {path: tap for path, tap in taps.items() if means(pattern, path, tap)}
        if not matched:
            roles = ", ".join(sorted({tap.role for tap in taps.values()}))
            raise UserError(f"no tap matches '{pattern}'; give a path, a pattern of paths, or a role: {roles}")
        found |= matched
    return found
