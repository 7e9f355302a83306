"""What is said of one thing, and of several: in the right number."""

import re

import pytest
import refusals
import tiny
from refusals import write

from regard.cli import main
from regard.errors import counted
from regard.tasks import reasons
from regard.training.loop import train
from regard.training.report import Report

said, refused = refusals.said, refusals.refused
ONE_OF_SEVERAL = re.compile(r"(?<![\d.,–-])(?<!of )(?<!by )\b1 (?:[a-z-]+ )?(?!is\b|has\b)[a-z]+s\b(?<!ss)")


def test_a_noun_in_its_number():
    assert counted(1, "update") == "1 update"
    assert counted(1000, "update") == "1,000 updates"
    assert counted(0, "entry", "entries") == "0 entries"
    assert (counted("1", "epoch"), counted("0.5", "epoch")) == ("1 epoch", "0.5 epochs")


def test_reasons_are_in_the_right_number_and_those_of_old_runs_stay():
    assert reasons({"file that is empty": 1, "picture missing": 2, "headline": 1}) == (
        "1 file that is empty, 2 pictures missing, 1 headline"
    )
    assert reasons({"with one side empty": 2}) == "2 with one side empty"


@pytest.mark.usefixtures("here")
def test_a_training_with_one_of_everything(capsys):
    lines = [*(f"word {number}\tword {number}" for number in range(8)), "word 7\tword 7", "\tnothing read"]
    write("a.tsv", "\n".join(lines))
    settings = ["--train.steps", "1", "--train.batch", "1000", "--data.share", "0.2"]
    assert main(["train", "--data.train", "a.tsv", "--model", "gru", *settings, "--run", "r"]) == 0
    text = capsys.readouterr().err
    assert "left out 1 example with one side empty\n" in text
    assert " 1 update, 1 epoch, on " in text
    assert not ONE_OF_SEVERAL.findall(text)


def test_heads_of_one_text(tmp_path, capsys):
    run = tmp_path / "run"
    train(tiny.recipe(tmp_path, "lm-transformer", steps=1), run, Report(quiet=True))
    (tmp_path / "one.txt").write_text("the tide comes in\n")
    assert main(["heads", str(run), "--data", str(tmp_path / "one.txt")]) == 0
    assert "\n1 text. Uniform" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
def test_a_line_with_one_field(refused):
    write("a.csv", "text,label\nalone\n")
    assert refused("train", "--data.train", "a.csv", "--model", "gru").startswith(
        "line 2 of a.csv has 1 field, its headline has 2; "
    )
