"""Searches for an engine, and what came of them."""

import queue
from collections.abc import Generator
from typing import Any, NamedTuple

import torch
from zoo import CAPTIONERS, READS_A_SOURCE, source_for, tokens

from regard.decode.beam import BeamSearch, searching
from regard.decode.choose import Sample, argmax
from regard.decode.rules import Bounds, NoRepeatedNgram
from regard.decode.stream import streaming
from regard.models.feeding import Feed, Read
from regard.models.model import Source
from regard.serve.engine import Ended, Engine, Job

PATIENCE = 120  # seconds, for a machine that has much else to do


class Asked(NamedTuple):
    """One search: what is read, what was written before, how it goes on."""

    source: Source | None
    prompt: torch.Tensor
    beam: int
    number: int
    seed: int

    def asking(self) -> Generator[Any, Any, None]:
        state = yield Read(self.source)
        if self.beam:
            search = BeamSearch(beam=self.beam, n_best=self.beam, limit=9, rules=[NoRepeatedNgram(3)])
            found = yield from searching(self.prompt, state, search)
            yield [(one.tokens, one.logs, one.score) for one in found[0]]
            return
        drawn = Sample([self.seed], temperature=1.3) if self.seed else argmax
        scores: list[list[float]] = []

        def choose(found: torch.Tensor, rows: torch.Tensor, made: int) -> torch.Tensor:
            scores.append(found.flatten().tolist())
            return drawn(found, rows, made)

        made = []
        talk, told = streaming(self.prompt, state, choose, Bounds(limit=12)), None
        while True:
            try:
                said = talk.send(told)
            except StopIteration:
                break
            told = None
            if isinstance(said, Feed):
                told = yield said
            else:
                made.append(int(said))
        yield made, scores


def asked(name: str, seed: int) -> Asked:
    """A search that a model can be asked for, drawn by its seed."""
    torch.manual_seed(seed)
    read = int(torch.randint(1, 20, ()))
    source = None
    if name in READS_A_SOURCE:
        keep = torch.arange(-(-read // 16) * 16)[None] < read
        source = source_for(name, 1, keep=None if name in CAPTIONERS else keep)
    return Asked(source, tokens(1, int(torch.randint(1, 9, ()))), (0, 0, 5, 2)[seed % 4], 1, seed % 3)


def results(engine: Engine, searches: list[Any], rows: int = 1) -> list[Any]:
    """What each search says, all of them at the same time."""
    boxes = [queue.SimpleQueue() for _ in searches]
    for search, box in zip(searches, boxes, strict=True):
        engine.submit(Job(search, box.put, rows))
    return [heard(box) for box in boxes]


def heard(box: queue.SimpleQueue) -> list[Any]:
    said: list[Any] = []
    while not said or not isinstance(said[-1], Ended):
        said.append(box.get(timeout=PATIENCE))
    if error := said[-1].error:
        raise error
    return said[:-1]
