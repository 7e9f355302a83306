"""The search for units, as lines that say how far it is, and then what it found."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from regard.config.looking import Effort
from regard.errors import UserError
from regard.look.find.evidence import evidence
from regard.look.find.find import LEAST, Finding, Subject, find
from regard.look.find.labelled import LabelledText, labelled
from regard.look.find.properties import PROPERTIES, Property, description, properties_named
from regard.runs import Run

TOKENS = 20_000
"""Of held-out text, at most: somebody is waiting. `regard find` reads all of it."""
EFFORT = Effort(number=6, shifts=60)
SHOWN = 400
"""Tokens of evidence for each unit."""


class Stopped(Exception):
    """Nobody waits for the rest."""


def properties_of(run: Run) -> list[tuple[str, str]]:
    """What can be looked for, and what it is; nothing where there is too little text to look in."""
    if run.task.has_source or len(_tokens(run)) < 2 * LEAST:
        return []
    return [(name, f"{name.replace('_', ' ')}: {description(found)}") for name, found in PROPERTIES.items()]


def search(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Lines with `progress`, then one for each unit.

    The search runs in a thread of its own, since what it reports comes from deep inside it. Closing ends it.
    """
    if run.task.has_source:
        raise UserError(f"the page looks for units of language models; for a {run.task.title} there is regard find")
    wanted = properties_named([name])
    reading = labelled(run.tokenizer, [run.tokenizer.decode(_tokens(run))])
    if len(reading.passage) < 2 * LEAST:
        raise UserError(
            f"this run held out {len(reading.passage)} tokens, {2 * LEAST} are wanted; use regard find --data"
        )
    subject, lines = run.subject(), queue.Queue[Any]()
    stop = threading.Event()

    def watch(items: Iterable[Any], what: str, total: int | None) -> Iterator[Any]:
        for number, item in enumerate(items):
            if stop.is_set():
                raise Stopped
            lines.put({"progress": f"{what}: {number + 1}" + (f" of {total}" if total else "")})
            yield item

    def work() -> None:
        try:
            for one in find(subject, reading, wanted, EFFORT, watch):
                lines.put(_line(subject, reading, one, wanted[name]))
            lines.put(None)
        except Exception as error:  # raised again where somebody can hear it
            lines.put(error)

    thread = threading.Thread(target=work, name="search", daemon=True)
    thread.start()
    try:
        while (line := lines.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line
    finally:
        stop.set()
        thread.join()


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


def _tokens(run: Run) -> list[int]:
    """The last of the text that a language model was not trained on; nothing where its folder has lost it."""
    try:
        (valid,) = run.material.valid
    except UserError:
        return []
    return [int(token) for token in valid.tokens[-TOKENS:]]
