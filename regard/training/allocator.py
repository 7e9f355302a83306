"""What happens to memory that a tensor no longer needs."""

import ctypes
import sys
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for what can be set
EVERYTHING, MUCH, USUAL = 1 << 30, 100_000_000, 1 << 25  # bytes


def keep_freed_memory(scores: int) -> None:
    """Has glibc keep what was freed for the next tensor, instead of handing it back to the system.

    The system fills every page with zeros before it gives it out again: a tenth of the time of an update of a small
    Transformer, whose scores over the vocabulary are too large for glibc to keep by itself. But what is kept has holes
    that no other tensor fits into, about as large as the largest tensors, which are the scores (in bytes): where they
    are MUCH, tensors above glibc's usual limit are handed back. Elsewhere than on glibc nothing happens.
    """
    if mallopt := _glibc("mallopt"):
        mallopt(MMAP_THRESHOLD, EVERYTHING if scores < MUCH else USUAL)
        mallopt(TRIM_THRESHOLD, EVERYTHING)


def hand_back_memory() -> None:
    """The other way round, once: what preparing a large text has freed is of no size that a tensor would have."""
    if malloc_trim := _glibc("malloc_trim"):
        malloc_trim(0)


def _glibc(name: str) -> Any:
    """A function of it, where it is there: musl has none of these."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
