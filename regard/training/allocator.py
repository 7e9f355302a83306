"""What happens to memory that a tensor no longer needs."""

import ctypes
import sys
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for what can be set
LARGEST = 1 << 30  # bytes


def keep_freed_memory() -> None:
    """Has glibc keep what was freed for the next tensor, instead of handing it back to the system.

    The system fills every page with zeros before it gives it out again: a tenth of the time of an update of a small
    Transformer, whose scores over the vocabulary are too large for glibc to keep by itself. Elsewhere nothing happens.
    """
    if mallopt := _glibc("mallopt"):
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, LARGEST)


def hand_back_memory() -> None:
    """The other way round, once: what preparing a large text has freed is of no size that a tensor would have."""
    if malloc_trim := _glibc("malloc_trim"):
        malloc_trim(0)


def _glibc(name: str) -> Any:
    """A function of it, where it is there: musl has none of these."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
