"""Which taps a pattern means."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from regard.errors import UserError
from regard.layers.tap import Tap


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
