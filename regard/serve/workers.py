"""Several processes at one port, and one that begins anew those that die.

All accept from one socket, whose queue is the kernel's: who is in it when a worker dies is taken by another. (A queue
for each, as by SO_REUSEPORT, would be lost with its worker.)
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from typing import Any

from regard.errors import UserError
from regard.serve.answering import log

REFUSED = 3  # how a worker ends that will never do better
FIRST, LONGEST = 0.5, 30.0  # seconds before one that died is begun anew: twice as many each time that it dies soon
SOON = 10.0

Work = Callable[..., None]


class Workers:
    """Runs `work(place, *given)` in each process until it is told to end; `work` ends by SIGTERM, in its own time."""

    def __init__(self, work: Work, given: tuple[Any, ...], number: int) -> None:
        self.work, self.given = work, given
        self.running: dict[int, SpawnProcess] = {}
        self.due = dict.fromkeys(range(number), 0.0)
        """When each that does not run is to begin, by the clock that never jumps."""
        self._since, self._pause = dict.fromkeys(self.due, 0.0), dict.fromkeys(self.due, FIRST)
        self.ending = self.refused = False

    def run(self) -> int:
        """Until all have ended; the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.end())
        while not self.ending or self.running:
            self._begin()
            ended = connection.wait([one.sentinel for one in self.running.values()], timeout=0.2)
            for place, one in list(self.running.items()):
                if one.sentinel in ended:
                    self._ended(place, one)
        return int(self.refused)

    def end(self) -> None:
        """They finish what runs. Asked a second time, they do not."""
        for one in self.running.values():
            one.kill() if self.ending else one.terminate()
        self.ending = True

    def _begin(self) -> None:
        for place, due in list(self.due.items()):
            if not self.ending and time.monotonic() >= due:
                one = get_context("spawn").Process(target=_worker, args=(self.work, place, *self.given))
                one.start()
                self.running[place], self._since[place] = one, time.monotonic()
                del self.due[place]

    def _ended(self, place: int, one: SpawnProcess) -> None:
        one.join()
        del self.running[place]
        if one.exitcode == REFUSED and not self.ending:
            self.refused = True
            self.end()
        elif not self.ending:
            now = time.monotonic()
            soon = now - self._since[place] < SOON
            self._pause[place] = min(2 * self._pause[place], LONGEST) if soon else FIRST
            self.due[place] = now + self._pause[place]
            log(f"worker {place} ended ({one.exitcode}) and is begun anew")


def _worker(work: Work, place: int, *given: Any) -> None:
    os.setpgrp()  # Ctrl-C is for the one above, who passes it on
    threading.Thread(target=_until_orphaned, daemon=True).start()
    try:
        work(place, *given)
    except UserError as error:
        log(str(error))
        sys.exit(REFUSED)


def _until_orphaned() -> None:
    """Nobody is left alone at the port when the one above was killed."""
    above = parent_process()
    assert above is not None
    connection.wait([above.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
