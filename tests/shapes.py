"""Shapes in signatures are checked at each call, which takes longer than a tiny model does to compute."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import config


@contextmanager
def unchecked() -> Iterator[None]:
    """Without it: for what makes calls by the thousand whose like is checked elsewhere. A block or a function."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)
