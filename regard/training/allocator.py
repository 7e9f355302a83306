"""What happens to memory that a tensor no longer needs."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for what can be set
LARGEST = 1 << 30  # bytes


def keep_freed_memory() -> None:
    """Has glibc keep what was freed for the next tensor, instead of handing it back to the system.

    The system fills every page with zeros before it gives it out again: a tenth of the time of an update of a small
    Transformer, whose scores over the vocabulary are too large for glibc to keep by itself. Elsewhere nothing happens.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):  # musl has none
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, LARGEST)
