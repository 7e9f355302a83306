"""Answering speed against Hugging Face `generate`, CTranslate2 and a bare loop: the same weights, the same tokens.

    python -m bench.decoding [marian|small|gpt2|lstm|lstm-words …] [--rounds N]

Every engine lives in a process of its own, since two thread pools in one process disturb each other. They take turns.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.engines import CTRANSLATE2, ENGINES, HUGGING_FACE, OURS, PEERS, REGARD, SHAPES, Shape, export
from bench.measure import is_there, ratio, row

PAUSE = 0.3  # seconds between turns: a pool of threads that has just worked still spins
TURN = 0.5  # seconds that a turn lasts at least, so that the first run after the others' does not count for much


class Setting(NamedTuple):
    """Beams (1: argmax), sentences at once, and how many times as fast as the best peer we want to be."""

    beams: int
    batch: int
    wanted: float

    def __str__(self) -> str:
        return f"{'greedy' if self.beams == 1 else f'beam {self.beams}'}, batch {self.batch}"


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "marian": (Setting(1, 1, 2.0), Setting(1, 32, 1.5), Setting(4, 1, 2.0), Setting(4, 32, 1.0)),
    "small": (Setting(1, 1, 0.8), Setting(1, 32, 1.2), Setting(4, 1, 1.0), Setting(4, 32, 1.0)),
    "gpt2": (Setting(1, 1, 2.0), Setting(1, 16, 1.0)),
    "lstm": (Setting(1, 1, 1.0), Setting(1, 32, 1.0)),
    "lstm-words": (Setting(1, 1, 1.0), Setting(1, 32, 1.0)),
}
AGAINST_HUGGING_FACE = 1.2


def serve(pipe: Connection, engine: str, shape: Shape, folder: Path) -> None:
    """A process's whole life: for every (setting, runs) asked for, the tokens made and the seconds of a run."""
    answer = ENGINES[engine](shape, folder)
    pipe.send("ready")
    while (request := pipe.recv()) is not None:
        setting, runs = request
        fed = shape.fed(setting.batch)
        begin = time.perf_counter()
        for _ in range(runs):
            made = answer(fed, setting.beams)
        seconds = (time.perf_counter() - begin) / runs
        pipe.send((made, seconds))


@contextmanager
def process(engine: str, shape: Shape, folder: Path) -> Iterator[Connection]:
    """An engine with its weights loaded, waiting to be asked."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve, args=(there, engine, shape, folder), daemon=True)
    child.start()
    there.close()  # so that a child that died is the end of a file, not silence
    here.recv()
    yield here
    here.send(None)
    child.join()


def ask(pipe: Connection, setting: Setting, runs: int) -> tuple[list[list[int]], float]:
    time.sleep(PAUSE)
    pipe.send((setting, runs))
    return pipe.recv()


def measure(pipes: Mapping[str, Connection], setting: Setting, rounds: int) -> tuple[dict[str, Any], dict[str, list]]:
    """Every engine's tokens, and its seconds in every round."""
    made, runs = {}, {}
    for engine, pipe in pipes.items():
        made[engine], _ = ask(pipe, setting, 1)  # the first run warms up
        runs[engine] = max(1, round(TURN / ask(pipe, setting, 1)[1]))
    seconds: dict[str, list[float]] = {engine: [] for engine in pipes}
    for _ in range(rounds):
        for engine, pipe in pipes.items():
            seconds[engine].append(ask(pipe, setting, runs[engine])[1])
    return made, seconds


def same(one: list[list[int]], other: list[list[int]]) -> float:
    """Which share of the tokens is the same at the same place."""
    pairs = [(a, b) for mine, theirs in zip(one, other, strict=True) for a, b in zip(mine, theirs, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


def report(name: str, setting: Setting, made: Mapping[str, Any], seconds: Mapping[str, list[float]]) -> None:
    middle = {engine: statistics.median(times) for engine, times in seconds.items()}
    row(f"{name}: {setting}", ", ".join(f"{engine} {value:.3f} s" for engine, value in middle.items()), "–")
    fastest = min((engine for engine in OURS if engine in middle), key=middle.__getitem__)
    for engine in (engine for engine in OURS if engine in middle):
        times = [f"{peer} {ratio(seconds[peer], seconds[engine]):.2f}×" for peer in PEERS if peer in seconds]
        wanted = [f"≥ {setting.wanted:g}× the best peer"] if engine == fastest else []
        if engine == REGARD and HUGGING_FACE in seconds:
            wanted.append(f"≥ {AGAINST_HUGGING_FACE:g}× {HUGGING_FACE}")
        row(f"  {engine} against", ", ".join(times), ", ".join(wanted) or "–")
    shares = [f"{engine} {same(made[REGARD], tokens):.1%}" for engine, tokens in made.items() if engine != REGARD]
    row(f"  tokens equal to {REGARD}'s", ", ".join(shares), "100 % in fp32")


def compare(shape: Shape, settings: Sequence[Setting], rounds: int) -> None:
    """Every engine that is installed, with the same weights."""
    lacking = [name for name in ("ctranslate2", "transformers") if HUGGING_FACE in shape.engines and not is_there(name)]
    if lacking:
        row(shape.name, f"without peers: not installed: {', '.join(lacking)}", "–")
    engines = OURS if lacking else shape.engines
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = Path(scratch) / "weights"
        if CTRANSLATE2 in engines:
            export(shape, folder)
        pipes = {engine: stack.enter_context(process(engine, shape, folder)) for engine in engines}
        for setting in settings:
            report(shape.name, setting, *measure(pipes, setting, rounds))


def main(rounds: int = 7, shapes: Sequence[str] = tuple(SHAPES)) -> None:
    os.environ |= {"OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}  # for the children
    for shape in shapes:
        compare(SHAPES[shape], SETTINGS[shape], rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    main(chosen.rounds, tuple(SHAPES) if "all" in chosen.shapes else chosen.shapes)
