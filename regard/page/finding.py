"""The search for units, as lines that say how far it is, and then what it found."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from regard.config.looking import Effort
from regard.data.store import Store
from regard.errors import UserError
from regard.look.find.evidence import evidence
from regard.look.find.find import LEAST, Finding, Subject, find_on_sides
from regard.look.find.labelled import LabelledText, labelled
from regard.look.find.properties import PROPERTIES, Property, description, properties_named
from regard.runs import Run

TOKENS = 20_000
"""Of held-out text, at most: somebody is waiting. `regard find` reads all of it."""
EFFORT = Effort(number=6, shifts=60)
SHOWN = 400
"""Tokens of evidence for each unit."""
BEAT = 1.0
"""Seconds after which a search that has nothing new to tell says that it is at work."""


class Stopped(Exception):
    """Nobody waits for the rest."""


def properties_of(run: Run) -> list[tuple[str, str]]:
    """What can be looked for, and what it is; nothing where there is too little text to look in."""
    try:
        held = run.material.valid_tokens
    except UserError:  # the folder was copied without its data
        return []
    if held < 2 * LEAST or "find" not in run.task.commands:
        return []
    return [(name, f"{name.replace('_', ' ')}: {description(found)}") for name, found in PROPERTIES.items()]


def search(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Lines with `progress`, then one for each unit.

    The search runs in a thread of its own, since what it reports comes from deep inside it. Closing ends it.
    """
    wanted = properties_named([name])
    every = _readings(run)
    readings = [reading for reading in every if len(reading.passage) >= 2 * LEAST]
    if not readings:
        held = max((len(reading.passage) for reading in every), default=0)
        raise UserError(f"this run held out {held} tokens, {2 * LEAST} are wanted; use regard find --data")
    subject, lines = run.subject(), queue.Queue[Any]()
    there = {reading.passage.side: reading for reading in readings}
    stop = threading.Event()

    def watch(items: Iterable[Any], what: str, total: int | None) -> Iterator[Any]:
        for number, item in enumerate(items):
            if stop.is_set():
                raise Stopped
            lines.put({"progress": f"{what}: {number + 1}" + (f" of {total}" if total else "")})
            yield item

    def work() -> None:
        try:
            for one in find_on_sides(subject, readings, wanted, EFFORT, watch):
                lines.put(_line(subject, there[one.side], one, wanted[name]))
            lines.put(None)
        except Exception as error:  # raised again where somebody can hear it
            lines.put(error)

    thread = threading.Thread(target=work, name="search", daemon=True)
    thread.start()
    try:
        for line in _beating(lines):
            if isinstance(line, Exception):
                raise line
            yield line
    finally:
        stop.set()
        thread.join()


def _beating(lines: "queue.Queue[Any]") -> Iterator[Any]:
    """What is told up to None; where nothing is for a while, the last again with how long it has been."""
    last, since = "", time.monotonic()
    while True:
        try:
            line = lines.get(timeout=BEAT)
        except queue.Empty:
            yield {"progress": f"{last}; at work for {time.monotonic() - since:.0f} s"}
            continue
        if line is None:
            return
        if isinstance(line, dict) and "progress" in line:
            last, since = line["progress"], time.monotonic()
        yield line


def _line(subject: Subject, reading: LabelledText, found: Finding, wanted: Property) -> dict[str, Any]:
    """A finding as plain values."""
    low, high = found.interval
    unit = found.stream.unit
    shown = evidence(subject, reading, found, wanted)[:SHOWN]
    figures = {
        "score": found.score, "low": low, "high": high, "null": found.null, "p": found.p, "q": found.q,
        "untrained": found.untrained, "last_characters": found.last_characters, "change": found.effect.change,
        "controls": found.effect.controls,
    }  # fmt: skip
    return {
        "unit": str(unit),
        "side": found.side,
        "what": found.stream.what,
        "head": unit.head,
        "measure": found.measure,
        **{key: None if value is None else float(f"{value:.5g}") for key, value in figures.items()},
        "beaten": f"{found.effect.beaten} of {found.effect.of}",
        "sign": found.sign,
        "searched": found.searched,
        "failed": ", ".join(found.failed),
        "evidence": [[one.text, round(one.value, 2), round(one.label, 2)] for one in shown],
    }


def _readings(run: Run) -> list[LabelledText]:
    """What was held out, on each side that is text; nothing where the folder has lost it."""
    try:
        valid = run.material.valid
    except UserError:
        return []
    if run.task.sides:
        stores = [side for side in valid if isinstance(side, Store)]
        few = range(max(1, min(int(np.searchsorted(store.ends, TOKENS)) for store in stores)))
        some = tuple(side.at(few) if isinstance(side, Store) else side for side in valid)
        return run.task.labelled(run.tokenizers, some, run.task.sides)
    tokens = [int(token) for token in valid[0].tokens[-TOKENS:]]
    return [labelled(run.tokenizer, [run.tokenizer.decode(tokens)])]
