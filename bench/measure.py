"""How to time on a noisy machine: alternate the candidates, and compare within each round."""

import statistics
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec

import torch

Action = Callable[[], object]


def interleaved(candidates: Mapping[str, Action], rounds: int, warmups: int = 1) -> dict[str, list[float]]:
    """Seconds of every candidate in every round; within a round they take turns."""
    for _ in range(warmups):
        for action in candidates.values():
            action()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, action in candidates.items():
            begin = time.perf_counter()
            action()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """The median over rounds of a quotient taken within each round."""
    return statistics.median(n / d for n, d in zip(numerator, denominator, strict=True))


def repeat(action: Action, times: int) -> Action:
    """One action that does it several times, so that a short one is long enough to time."""

    def all_of_them() -> None:
        for _ in range(times):
            action()

    return all_of_them


def matrix_product(size: int = 2048) -> tuple[Action, float]:
    """A product of two large matrices and its floating-point operations: the most that this machine can do."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return lambda: a @ b, 2.0 * size**3


def is_there(peer: str) -> bool:
    """Whether that package is installed: peers are in the extra `bench`, and a benchmark says which it went without."""
    return find_spec(peer) is not None


def row(what: str, measured: str, wanted: str) -> None:
    """One line of the report."""
    print(f"| {what} | {measured} | {wanted} |", flush=True)
