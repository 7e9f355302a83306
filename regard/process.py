"""A process of its own: streams that were closed before it began, and Ctrl-C from its first moment on."""

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code of what Ctrl-C ended, as shells have it."""


class _Closed(io.TextIOBase):
    """Standard output that leads nowhere: whoever writes to it is told."""

    def write(self, text: str) -> int:
        from regard.errors import UserError  # which takes longer to import than this whole module, and is rarely wanted

        raise UserError("standard output is closed; leave it open, or send it to a file: > answers.txt")


class _Nowhere(io.TextIOBase):
    """Standard error that nobody wants to read."""

    def write(self, text: str) -> int:
        return len(text)


def begin() -> None:
    """For a program, before it imports what takes long.

    A file must not get the number of a stream that was closed, or what is said there would be written into the file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or _Closed()
    sys.stderr = sys.stderr or _Nowhere()  # print would take standard output for none
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, _leave)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, Ctrl-C is an exception, so that nothing is left half-done.

    Outside, in a program that began here, it ends at once: many an import turns the exception into another error.
    """
    began_here = signal.getsignal(signal.SIGINT) is _leave
    if began_here:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if began_here:
            signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
