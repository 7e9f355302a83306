"""Small runs of every family, and a page that serves them."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree

import albums
import pytest
import tiny
from shared import trained_once

from regard.page.answers import Answers
from regard.page.server import Server
from regard.runs import Run, load_run
from regard.training.loop import train
from regard.training.report import Report

FAMILIES = {
    "rnn": "lm-rnn",
    "lstm": "lm-lstm",
    "rnn-attention": "seq2seq-rnn-attention",
    "transformer-lm": "lm-transformer",
    "transformer-seq2seq": "seq2seq-transformer-deep",
    "captioner": "",
    "classifier": "classifier-lstm",
}
TEXTS = {"lm": "day 7: the tide", "seq2seq": "one two three", "classifier": "two one"}


def text_for(family: str) -> str:
    """Something that a run of a family can read."""
    return TEXTS.get(FAMILIES[family].partition("-")[0], "")


def make_runs(folder: Path, families: Iterable[str]) -> list[Run]:
    """Runs that have not learnt much, in a folder that pytest gave."""
    found = []
    for family in families:
        name = FAMILIES[family]

        def trained(data: Path, run: Path, name: str = name) -> None:
            recipe = tiny.recipe(data, name, steps=2) if name else albums.recipe(data, steps=2)
            train(recipe, run, Report(quiet=True))

        copytree(trained_once(folder, f"page-{family}", trained), folder / f"{family}-run")
        found.append(load_run(folder / f"{family}-run"))
    return found


@contextmanager
def serving_of(answers: Answers) -> Iterator[Server]:
    """A page with these answers, at a free port."""
    server = Server(answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def server(runs) -> Iterator[Server]:
    """The same for the whole of a test file that takes it by name, about the file's own runs."""
    with serving_of(Answers(runs)) as server:
        yield server
