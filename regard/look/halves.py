"""Two halves of what is measured: the best of many is chosen on the first, and reported on the other alone."""

from collections.abc import Hashable, Iterable


def choosing(items: Iterable[Hashable]) -> list[bool]:
    """Whether each item is in the half that chooses: every second different one, so equal ones are never apart."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(item, len(numbers)) % 2 == 0 for item in items]
