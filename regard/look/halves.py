"""Two halves of what is measured: the best of many is chosen on the first, and reported on the other alone."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def halved(items: Iterable[Item], text: Callable[[Item], Hashable]) -> Iterator[tuple[Item, bool]]:
    """Each item, and whether it is in the half that chooses: every second different text, so that equal ones stay
    together."""
    numbers: dict[Hashable, int] = {}
    for item in items:
        yield item, numbers.setdefault(text(item), len(numbers)) % 2 == 0
