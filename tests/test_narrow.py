"""COLUMNS, or a narrow terminal, says how wide a table or a picture is."""

import io
from itertools import pairwise

import numpy as np
import pytest
import tiny
from rich.console import Console
from rich.table import Table

from regard.cli import main
from regard.cli.screen import whole
from regard.look.pictures.maps import Map
from regard.training.loop import train
from regard.training.report import Report

WORDS = ["the", "tide", "comes", "in", "incomprehensibilities", "and", "goes", "out", "again"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    train(tiny.recipe(folder, "seq2seq-transformer", steps=2), folder / "run", Report(quiet=True))
    return folder / "run"


@pytest.mark.parametrize("width", [16, 40, 41, 79, 400])
def test_a_map_goes_on_below_and_nothing_is_lost(width):
    weights = np.full((len(WORDS), len(WORDS)), 0.1, np.float32)
    np.fill_diagonal(weights, 1.0)
    lines = Map("", "", weights, WORDS, WORDS).terminal(width).plain.split("\n")
    assert max(map(len, lines)) <= width
    heads = [lines[0], *(after for before, after in pairwise(lines) if not before)]
    shown = [word for head in heads for word in head.split()]
    assert [word[:4] for word in shown] == [word[:4] for word in WORDS]
    assert "".join(lines).count("█") == sum(len(word) if len(word) > 2 else 2 for word in shown)
    assert (len(heads) == 1) == (width == 400)


@pytest.mark.parametrize(
    "words",
    [
        ["look", "RUN", "one two three four one two three", "--view", "map"],
        ["heads", "RUN"],
        ["align", "RUN", "--gold", "phrases-short:french", "--number", "3"],
        ["lab"],
        ["corpora"],
    ],
    ids=lambda words: words[0],
)
def test_no_line_is_wider_than_columns(run, words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert main([str(run) if word == "RUN" else word for word in words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert [line for line in lines if len(line) > 40] == []
    assert "…" not in "".join(lines).replace("First … dates", "")


def test_where_nobody_says_how_wide_a_line_stays_a_line(run, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["corpora"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 80


def test_help_has_room_for_what_an_option_means(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["translate", "--help"]) == 0
    text = capsys.readouterr().out
    meanings = [line for line in text.splitlines() if line.startswith("      ")]
    assert len(meanings) > 20
    assert max(map(len, meanings)) <= 40


@pytest.mark.parametrize("width", [24, 60, 80, 400])
def test_a_table_tears_no_word_that_has_room_on_a_line(width):
    words = ["decoder.layers.0.cells[344]", "0.990", "(0.976–0.998)", "untrained", "null", "property", "measure"]
    table = Table(*words, title="what it is", caption="what it says")
    table.add_row(*reversed(words), style="dim")
    screen = Console(width=width, file=io.StringIO())
    screen.print(whole(table))
    text = screen.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert all(text.count(word) == 2 for word in words) == (width > 24)
    assert "what it is" in text
    assert "what it says" in text
