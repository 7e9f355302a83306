"""Commands typed in on small trained runs, and what they say; a test file takes the fixtures it wants by name."""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest
import tiny
from shared import trained_once

import regard
from regard.cli import main
from regard.config import Text
from regard.training.loop import train
from regard.training.report import Report

RNN = tiny.CELLS["rnn"]
LEARNED = replace(tiny.BLOCKS, positions="learned", longest=20)
RUNS = {
    "lm": ("lm-lstm", {}),
    "lm-learned": ("lm-transformer", {"model": regard.LanguageModel(LEARNED)}),
    "lm-bytes": ("lm-rnn", {"text": Text("bytes")}),
    "pairs": ("seq2seq-gru-attention", {}),
    "pairs-2": ("seq2seq-transformer", {}),
    "pairs-other": ("seq2seq-rnn-attention", {"text": Text("characters")}),
    "pairs-blind": ("seq2seq-rnn-attention", {"model": regard.Seq2Seq(RNN, RNN, context="fixed")}),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small trained run by its name; each is trained once for all files of tests, which have a copy each."""
    folder = tmp_path_factory.mktemp("runs")

    def path(name: str) -> Path:
        def trained(data: Path, run: Path) -> None:
            model, changes = RUNS[name]
            steps = 120 if name == "pairs" else 6
            train(replace(tiny.recipe(data, model, steps=steps, evaluate=steps), **changes), run, Report(True))

        if not (folder / name).exists():
            copytree(trained_once(folder, f"typed-{name}", trained), folder / name)
        return folder / name

    return path


@pytest.fixture
def said(capsys, monkeypatch):
    """Runs a command with something on its standard input; gives exit code, standard output and standard error."""

    def command(*words: object, given: str | bytes = b"") -> tuple[int, str, str]:
        data = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def refused(said):
    """Runs a command that must fail; gives the one line that it says."""

    def command(*words: object, given: str | bytes = b"") -> str:
        code, out, err = said(*words, given=given)
        assert (code, out) == (1, "")
        assert re.fullmatch("regard: [^\n]+\n", err), err
        return err.removeprefix("regard: ").removesuffix("\n")

    return command
