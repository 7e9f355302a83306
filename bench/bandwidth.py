"""At which share of the memory's bandwidth a step of the native engine reads its weights: GPT-2 124M-shaped, one row.

    python -m bench.bandwidth [--rounds N] [--threads N]

The bandwidth is that of adding up a tensor that is far larger than any cache, by as many threads, in the same rounds.
Rounds in which others took more than 8 % of a core are thrown away; where none is left, all are shown.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from bench.engines import SHAPES, Shape
from bench.measure import row
from bench.quiet import TOLERATED, Watch
from regard.engine.choose import prepare
from regard.engine.native import Native
from regard.models.precision import with_precision

STEPS, SEEN = 16, 64
SIZE = 128_000_000  # numbers that are added up
TRIES = 3  # rounds for each that is wanted


class Rates(NamedTuple):
    """Bytes in a second."""

    memory: float
    step: float


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def measure(model: Native, shape: Shape, size: int) -> Callable[[], Rates]:
    """One round."""
    numbers, token = torch.ones(size), torch.full((1,), 5)
    _, state = model.prefill(shape.fed(1)[:, :SEEN], model.start())

    def steps() -> None:
        now = state
        for _ in range(STEPS):
            _, now = model.step(token, now)

    steps()
    return lambda: Rates(4 * size / seconds(numbers.sum), STEPS * model.bytes / seconds(steps))


def main(rounds: int = 7, shape: Shape = SHAPES["gpt2"], size: int = SIZE) -> None:
    for precision in ("int8", "float32"):
        model = prepare(with_precision(shape.model(), precision))
        if not isinstance(model, Native):
            row(shape.name, "there is no native engine here", "–")
            return
        with torch.inference_mode():
            once, quiet, every = measure(model, shape, size), [], []
            while len(quiet) < rounds and len(every) < TRIES * rounds:
                watch = Watch([os.getpid()])
                every.append(once())
                quiet += [every[-1]] if watch.foreign() <= TOLERATED else []
        used = quiet or every
        memory, step = max(one.memory for one in used), max(one.step for one in used)
        what = f"{shape.name}, {precision}, {torch.get_num_threads()} threads: weights read by a step"
        found = f"{step / 1e9:.1f} of {memory / 1e9:.1f} GB/s: {step / memory:.0%}"
        row(what, f"{found}; {len(quiet)} of {len(every)} rounds quiet", "≥ 80 %")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    main(asked.rounds)
