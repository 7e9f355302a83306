"""Taps: named identities where a model can be looked into or changed, without widening what it returns.

Listeners live in a context variable, not on the module: two threads can trace and patch one model at the same time, and
nothing is ever left behind on it. A compiled model has no listeners.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TypeAlias

import torch
from torch import Tensor, nn

from regard.errors import UserError

Listener: TypeAlias = Callable[[Tensor], Tensor]

_listeners: ContextVar[Mapping["Tap", tuple[Listener, ...]]] = ContextVar("listeners", default=MappingProxyType({}))


class Tap(nn.Module):
    """y = x, unless somebody listens. `axes` names the tensor's axes, e.g. "B H T S"; time runs along T.

    A layer asks `listening(self)`: if nobody does, it takes its fused kernel and never calls its taps.
    """

    def __init__(self, axes: str, filler: float = 0.0) -> None:
        super().__init__()
        self.axes = axes.split()
        self.filler = filler  # what stands for positions that a step could not see yet
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
        return " ".join(self.axes)


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


def matching(taps: Mapping[str, Tap], patterns: Iterable[str]) -> dict[str, Tap]:
    """The taps whose path matches one of the patterns; every pattern must match some."""
    found: dict[str, Tap] = {}
    for pattern in patterns:
        matched = {path: tap for path, tap in taps.items() if fnmatchcase(path, pattern)}
        if not matched:
            names = ", ".join(sorted({path.rsplit(".", 1)[-1] for path in taps}))
            raise UserError(f"no tap matches '{pattern}'; taps end in {names}; try '*.{names.split(', ')[0]}'")
        found |= matched
    return found
