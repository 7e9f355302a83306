"""Whether anybody else was using the machine: a round in which others took a core's time is no measurement."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

TOLERATED = 0.08  # of one core


class Watch:
    """What processes other than these take of a core, from now until asked."""

    def __init__(self, ours: Iterable[int]) -> None:
        self.ours = tuple(ours)
        self.begin, self.total, self.own = time.perf_counter(), _all(), sum(map(_of, self.ours))

    def foreign(self) -> float:
        """1.0: one core the whole time. Where the system does not say, 0."""
        seconds = time.perf_counter() - self.begin
        return max(0.0, _all() - self.total - (sum(map(_of, self.ours)) - self.own)) / max(seconds, 1e-9)


def _all() -> float:
    """Seconds of work of all processors so far."""
    try:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    except (OSError, ValueError):
        return 0.0
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory() -> float:
    """Megabytes that this process holds now."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS")), 0.0)
