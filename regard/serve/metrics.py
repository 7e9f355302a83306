"""What a server has done, in the form that Prometheus reads. No addresses, no texts."""

import json
import math
import os
import resource
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
TYPE = "text/plain; version=0.0.4; charset=utf-8"
MEANINGS = {
    "prompt_tokens_total": "Tokens read.",
    "generation_tokens_total": "Tokens made.",
    "request_success_total": "Requests answered, by how they ended.",
    "requests_refused_total": "Requests refused, by status.",
    "requests_gone_total": "Requests whose client went away.",
    "time_to_first_token_seconds": "From a request to its first token.",
    "inter_token_latency_seconds": "Between two tokens of one request.",
    "request_queue_time_seconds": "From a request to its turn.",
    "e2e_request_latency_seconds": "From a request to the end of its answer.",
    "num_requests_running": "Requests that are being answered.",
    "num_requests_waiting": "Requests that wait for their turn.",
    "steps_total": "Steps computed, each for all rows together.",
    "resident_memory_bytes": "Memory in use.",
}

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]


class Snapshot(NamedTuple):
    """What there is at one moment."""

    values: dict[Key, float]
    times: dict[Key, tuple[list[int], float]]
    """How many fell into each bucket, and their sum."""


class Histogram:
    """How often a time fell into which bucket."""

    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(BUCKETS) + 1), 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


class Metrics:
    """Counters and times, by name and labels. Any thread may add."""

    def __init__(self) -> None:
        self._counts: defaultdict[Key, float] = defaultdict(float)
        self._times: defaultdict[Key, Histogram] = defaultdict(Histogram)
        self._lock = threading.Lock()

    def count(self, name: str, labels: Labels = (), amount: float = 1) -> None:
        with self._lock:
            self._counts[name, labels] += amount

    def took(self, name: str, seconds: float, model: str) -> None:
        with self._lock:
            self._times[name, (("model", model),)].add(seconds)

    def figures(self, now: dict[Key, float]) -> Snapshot:
        """All there is, and what is so at this moment."""
        with self._lock:
            times = {key: (list(held.counts), held.sum) for key, held in self._times.items()}
            return Snapshot(self._counts | now, times)


@dataclass(frozen=True)
class Noticeboard:
    """Where the processes of one port leave their figures, so that whichever is asked can tell those of all.

    Each has its own under the label `worker`. One that is begun anew counts from 0, as Prometheus expects.
    """

    folder: Path
    worker: int

    def write(self, mine: Snapshot) -> None:
        """For the others to read. Without room on the disk they read what was there before."""
        content = [[*key, value] for key, value in mine.values.items()], [[*k, *v] for k, v in mine.times.items()]
        partial = self.folder / f"{self.worker}.partial"
        with suppress(OSError):
            partial.write_text(json.dumps(content))
            os.replace(partial, self.folder / f"{self.worker}.json")

    def told(self, mine: Snapshot) -> Snapshot:
        """Mine as they are, those of the others as they wrote them last."""
        self.write(mine)
        values: dict[Key, float] = {}
        times: dict[Key, tuple[list[int], float]] = {}
        for path in sorted(self.folder.glob("*.json")):
            held_values, held_times = json.loads(path.read_text())
            for name, labels, value in held_values:
                values[name, _of(path, labels)] = value
            for name, labels, counts, total in held_times:
                times[name, _of(path, labels)] = counts, total
        return Snapshot(values, times)


def _of(path: Path, labels: list[list[str]]) -> Labels:
    return (*((name, value) for name, value in labels), ("worker", path.stem))


def text(figures: Snapshot) -> str:
    """As Prometheus reads it."""
    return "".join(_lines(figures))


def _lines(figures: Snapshot) -> Iterator[str]:
    for name, meaning in MEANINGS.items():
        values = {key: value for key, value in figures.values.items() if key[0] == name}
        times = {key: value for key, value in figures.times.items() if key[0] == name}
        if not values and not times:
            continue
        kind = "histogram" if times else "counter" if name.endswith("_total") else "gauge"
        yield f"# HELP regard_{name} {meaning}\n# TYPE regard_{name} {kind}\n"
        for (_, labels), value in values.items():
            yield f"regard_{name}{_shown(labels)} {value:.17g}\n"
        for (_, labels), (counts, total) in times.items():
            so_far = 0
            for limit, number in zip((*BUCKETS, math.inf), counts, strict=True):
                so_far += number
                shown = "+Inf" if limit == math.inf else f"{limit:g}"
                yield f"regard_{name}_bucket{_shown((*labels, ('le', shown)))} {so_far}\n"
            yield f"regard_{name}_sum{_shown(labels)} {total:.17g}\n"
            yield f"regard_{name}_count{_shown(labels)} {so_far}\n"


def _shown(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def memory() -> float:
    """Bytes that this process holds."""
    try:
        with open("/proc/self/statm") as file:
            return float(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
