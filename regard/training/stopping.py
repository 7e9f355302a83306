"""Being asked to stop: by Ctrl-C, or by whatever runs this machine."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BY_HAND, BY_SYSTEM = signal.SIGINT, signal.SIGTERM


class Interrupted(Exception):
    """Somebody asked to stop; everything so far is in the checkpoint."""

    def __init__(self, text: str, asked: int = BY_HAND) -> None:
        super().__init__(text)
        self.code = 128 + asked
        """What shells call a command that ended so."""


class Stop:
    """Which signal asked to stop, if one did. The first lets the update end, a second one stops at once."""

    def __init__(self) -> None:
        self.asked = 0

    @contextmanager
    def heard(self, said: Callable[[int], None]) -> Iterator[None]:
        """Listens to both signals, and tells which was the first."""

        def hear(number: int, frame: object) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = number
            said(number)

        try:
            before = {number: signal.signal(number, hear) for number in (BY_HAND, BY_SYSTEM)}
        except ValueError:  # not in the main thread: whoever runs us decides
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
