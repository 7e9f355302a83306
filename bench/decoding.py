"""Answering speed against Hugging Face `generate`, CTranslate2, llama.cpp and a bare loop: same weights, same tokens.

    python -m bench.decoding [SHAPE …] [--rounds N] [--threads N …] [--busy] [--avx2]
    python -m bench.decoding small --setting 2 --engines "regard int8" "CTranslate2 int8"      one row, some engines
    python -m bench.decoding --everything      all shapes; 2 threads and 1; a core taken; held to AVX2 (hours)

SHAPE is marian, small, gpt2, lstm, lstm-words or gru-attention. Every engine lives in a process of its own, since two
thread pools in one process disturb each other. They take turns. A round in which others took more than 8 % of a core is
thrown away, and it is said how many were left; where none was, all are shown.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from bench.engines import (
    CTRANSLATE2,
    EAGER,
    EAGER_INT8,
    ENGINES,
    HUGGING_FACE,
    LLAMA_CPP,
    OURS,
    PEERS,
    REGARD,
    SHAPES,
    Shape,
    export,
)
from bench.measure import is_there, ratio, row
from bench.quiet import TOLERATED, Watch, memory

PAUSE = 0.3  # seconds between turns: a pool of threads that has just worked still spins
TURN = 0.5  # seconds that a turn lasts at least, so that the first run after the others' does not count for much
TRIES = 3  # rounds for each that is wanted, until enough of them were quiet
BY_TORCH = (EAGER, EAGER_INT8)
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "CT2_FORCE_CPU_ISA": "AVX2",
}


class Setting(NamedTuple):
    """Beams (1: argmax), sentences at once, and how many times as fast as the best peer we want to be."""

    beams: int
    batch: int
    wanted: float

    def __str__(self) -> str:
        return f"{'greedy' if self.beams == 1 else f'beam {self.beams}'}, batch {self.batch}"


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "small": (Setting(1, 1, 1.5), Setting(4, 1, 1.5), Setting(1, 32, 1.5)),
    "marian": (Setting(1, 1, 3.0), Setting(4, 1, 3.0), Setting(1, 32, 1.5)),
    "gpt2": (Setting(1, 1, 1.1), Setting(1, 16, 1.2)),
    "lstm": (Setting(1, 1, 3.0), Setting(1, 32, 1.0)),
    "lstm-words": (Setting(1, 1, 3.0), Setting(1, 32, 1.0)),
    "gru-attention": (Setting(1, 1, 3.0), Setting(4, 1, 3.0)),
}


class Asked(NamedTuple):
    """What of it all is measured."""

    rounds: int = 7
    setting: int = 0  # of each shape's, counted from 1; 0: all of them
    engines: Sequence[str] = tuple(ENGINES)

    def of(self, shape: str) -> Sequence[Setting]:
        return SETTINGS[shape][self.setting - 1 :][:1] if self.setting else SETTINGS[shape]


EVERYTHING = Asked()


class Conditions(NamedTuple):
    """Under which everybody is measured."""

    threads: int = 2
    busy: bool = False  # somebody else wants a core all the time
    avx2: bool = False  # no instructions beyond AVX2; llama.cpp cannot be told so, and keeps its own

    def __str__(self) -> str:
        taken, held = ", one core taken" if self.busy else "", ", held to AVX2" if self.avx2 else ""
        return f"threads {self.threads}{taken}{held}"

    def environment(self) -> dict[str, str]:
        offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        return {"OMP_NUM_THREADS": str(self.threads), **offline, **(AVX2 if self.avx2 else {})}


class Answered(NamedTuple):
    """What a turn gave: tokens, seconds of a run, seconds up to the first token, megabytes held."""

    made: list[list[int]]
    seconds: float
    first: float
    held: float


def serve(pipe: Connection, engine: str, shape: Shape, folder: Path) -> None:
    """A process's whole life: for every (setting, runs) asked for, an answer."""
    answer = ENGINES[engine](shape, folder)
    pipe.send(os.getpid())
    while (request := pipe.recv()) is not None:
        setting, runs = request
        fed = shape.fed(setting.batch)
        begin = time.perf_counter()
        answer(fed, setting.beams, 1)
        first = time.perf_counter() - begin
        begin = time.perf_counter()
        for _ in range(runs):
            made = answer(fed, setting.beams, shape.writes)
        seconds = (time.perf_counter() - begin) / runs
        pipe.send(Answered(made, seconds, first, memory()))


def burn() -> None:
    """Wants a core all the time."""
    while True:
        pass


class Engine(NamedTuple):
    """A process that answers."""

    pipe: Connection
    process: int

    def ask(self, setting: Setting, runs: int) -> Answered:
        time.sleep(PAUSE)
        self.pipe.send((setting, runs))
        return self.pipe.recv()


@contextmanager
def running(engine: str, shape: Shape, folder: Path) -> Iterator[Engine]:
    """An engine with its weights loaded, waiting to be asked."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve, args=(there, engine, shape, folder), daemon=True)
    child.start()
    there.close()  # so that a child that died is the end of a file, not silence
    yield Engine(here, here.recv())
    here.send(None)
    child.join()


@contextmanager
def core_taken(taken: bool) -> Iterator[list[int]]:
    """Somebody who takes a core, if so wished: the process that does."""
    if not taken:
        yield []
        return
    child = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
    child.start()
    assert child.pid is not None
    yield [child.pid]
    child.kill()
    child.join()


class Measured(NamedTuple):
    """Every engine's answers in the rounds that count, and how many of all rounds those are."""

    answers: dict[str, list[Answered]]
    quiet: int
    rounds: int

    def seconds(self, engine: str) -> list[float]:
        return [one.seconds for one in self.answers[engine]]


def measure(engines: Mapping[str, Engine], setting: Setting, rounds: int, taken: Sequence[int]) -> Measured:
    """Until so many rounds were quiet, or three times as many are over."""
    runs = {}
    for name, engine in engines.items():
        engine.ask(setting, 1)  # the first run warms up
        runs[name] = max(1, round(TURN / engine.ask(setting, 1).seconds))
    ours = [os.getpid(), *taken, *(engine.process for engine in engines.values())]
    quiet: list[dict[str, Answered]] = []
    every: list[dict[str, Answered]] = []
    while len(quiet) < rounds and len(every) < TRIES * rounds:
        disturbed, found = False, {}
        for name, engine in engines.items():
            watch = Watch(ours)
            found[name] = engine.ask(setting, runs[name])
            disturbed |= watch.foreign() > TOLERATED
        every.append(found)
        quiet += [] if disturbed else [found]
    used = quiet or every
    return Measured({name: [one[name] for one in used] for name in engines}, len(quiet), len(every))


def same(one: list[list[int]], other: list[list[int]]) -> float:
    """Which share of the tokens is the same at the same place."""
    pairs = [(a, b) for mine, theirs in zip(one, other, strict=True) for a, b in zip(mine, theirs, strict=False)]
    return sum(a == b for a, b in pairs) / max(len(pairs), 1)


def report(name: str, setting: Setting, found: Measured) -> None:
    """The best and the median of every engine; ratios are of the bests, and medians of those within a round."""
    times = {engine: found.seconds(engine) for engine in found.answers}
    best = {engine: min(seconds) for engine, seconds in times.items()}
    shown = ", ".join(f"{one} {best[one]:.4f}/{statistics.median(times[one]):.4f}" for one in times)
    row(f"{name}: {setting}", f"{shown} s best/median; {found.quiet} of {found.rounds} rounds quiet", "≥ 7 quiet")
    ours, theirs = [one for one in OURS if one in best], [one for one in PEERS if one in best]
    fastest = min(ours, key=best.__getitem__, default="")
    for engine in ours:
        against = [
            f"{one} {best[one] / best[engine]:.2f}× ({ratio(times[one], times[engine]):.2f}×)"
            for one in (*theirs, *(one for one in BY_TORCH if one in best))
        ]
        wanted = [f"≥ {setting.wanted:g}× the best peer"] if engine == fastest else []
        if engine == REGARD and CTRANSLATE2 in best:
            wanted.append(f"≥ 1× {CTRANSLATE2}")
        row(f"  {engine} against", ", ".join(against), ", ".join(wanted) or "–")
    if REGARD in found.answers:
        shares = [
            f"{one} {same(found.answers[REGARD][0].made, several[0].made):.1%}"
            for one, several in found.answers.items()
            if one != REGARD
        ]
        row(f"  tokens equal to {REGARD}'s", ", ".join(shares), "100 % in fp32")
    first = [f"{one} {min(each.first for each in several):.4f} s" for one, several in found.answers.items()]
    row("  up to the first token", ", ".join(first), "–")
    held = [f"{one} {max(each.held for each in several):,.0f} MB" for one, several in found.answers.items()]
    row("  memory of the process", ", ".join(held), "–")


def compare(shape: Shape, settings: Sequence[Setting], rounds: int, conditions: Conditions) -> None:
    """Every engine that is installed, with the same weights."""
    needs = {HUGGING_FACE: "transformers", CTRANSLATE2: "ctranslate2", LLAMA_CPP: "xllamacpp"}
    lacking = [package for peer, package in needs.items() if peer in shape.engines and not is_there(package)]
    if lacking:
        row(shape.name, f"without peers: not installed: {', '.join(lacking)}", "–")
    alone = {"transformers", "ctranslate2"} & set(lacking)
    engines = [
        one
        for one in ([one for one in shape.engines if one in (*OURS, *BY_TORCH)] if alone else shape.engines)
        if needs.get(one) not in lacking and not (one == HUGGING_FACE and conditions != Conditions())
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "weights"
        if CTRANSLATE2 in engines:
            export(shape, folder)
        for setting in settings:
            taking_part = [one for one in engines if one != LLAMA_CPP or (setting.beams, setting.batch) == (1, 1)]
            with ExitStack() as inner:
                ready = {one: inner.enter_context(running(one, shape, folder)) for one in taking_part}
                taken = inner.enter_context(core_taken(conditions.busy))
                report(f"{shape.name}, {conditions}", setting, measure(ready, setting, rounds, taken))


def main(
    asked: Asked = EVERYTHING, shapes: Sequence[str] = tuple(SHAPES), conditions: Sequence[Conditions] = (Conditions(),)
) -> None:
    before = dict(os.environ)
    for one in conditions:
        os.environ |= one.environment()  # for the children
        for shape in shapes:
            taking_part = tuple(engine for engine in SHAPES[shape].engines if engine in asked.engines)
            compare(replace(SHAPES[shape], engines=taking_part), asked.of(shape), asked.rounds, one)
        os.environ.clear()
        os.environ |= before


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--setting", type=int, default=0, help="which row of a shape, from 1")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--busy", action="store_true", help="also with one core taken by somebody else")
    parser.add_argument("--avx2", action="store_true", help="also held to AVX2")
    parser.add_argument("--everything", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    asked = _asked()
    threads = [2, 1] if asked.everything else asked.threads
    measured = [Conditions(number) for number in threads]
    if asked.avx2 or asked.everything:
        measured += [Conditions(number, avx2=True) for number in threads]
    if asked.busy or asked.everything:
        measured += [Conditions(number, busy=True) for number in threads]
    which = Asked(asked.rounds, asked.setting, asked.engines)
    main(which, tuple(SHAPES) if "all" in asked.shapes else asked.shapes, measured)
