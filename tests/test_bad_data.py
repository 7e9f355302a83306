"""Data and recipes that cannot be trained on: one line on standard error, exit code 1, and never a traceback."""

import re
from pathlib import Path

import pytest
import refusals
import tiny
from refusals import write

pytestmark = pytest.mark.usefixtures("here")
said, refused = refusals.said, refusals.refused
SMALL = ["--train.steps", "4", "--train.evaluate", "2", "--train.batch", "64", "--train.length", "8"]
MODEL = ["--model.kind", "language-model", "--model.layer.kind", "rnn", "--model.layer.width", "8"]
PAIRS = ["--model.kind", "seq2seq", "--model.encoder.width", "8", "--model.decoder.width", "8", "--text.kind", "words"]


# Files


def test_a_missing_file(refused):
    write("tides.txt", "in and out")
    assert refused("train", "--data.train", "tide.txt") == "tide.txt does not exist; did you mean 'tides.txt'?"
    assert refused("train", "--data.train", "zzz/qqq.txt") == "zzz/qqq.txt does not exist; check the path"
    assert not Path("runs/mine/config.toml").exists()


def test_a_missing_recipe(refused):
    assert refused("train", "none.toml") == "none.toml does not exist; give the path of a recipe, see examples/"
    assert refused("train") == "train wants a recipe or --data.train FILE, found neither; see regard train --help"


def test_an_empty_file(refused):
    assert refused("train", "--data.train", write("a.txt", "")) == "a.txt is empty; give a file with text in it"
    assert refused("train", "--data.train", write("a.tsv", "")) == "a.tsv is empty; give a file with text in it"


def test_too_little_text(refused):
    assert refused("train", "--data.train", write("a.txt", "ab"), "--text.kind", "characters") == (
        "a.txt has only 4 tokens, too few to train on and hold 5% out; give more text, or a [data] valid file"
    )


def test_too_few_pairs(refused):
    assert refused("train", "--data.train", write("a.tsv", "one\teins\n"), "--data.share", "0") == (
        "a.tsv has too few pairs to hold some out; give more, or a [data] valid file"
    )


def test_a_folder_where_a_file_belongs(refused):
    Path("books").mkdir()
    write("a.en", "hello\n")
    assert refused("train", "--data.train", "a.en", "books") == (
        "books is a folder where a file is wanted; name a file in it"
    )
    assert refused("train", "--data.train", "books") == (
        "folder books has no text file in it; hidden, empty and binary files do not count"
    )


def test_not_utf8(refused):
    write("a.txt", "fine\nL'été\n".encode("latin-1"))
    assert refused("train", "--data.train", "a.txt") == (
        "a.txt is not UTF-8: line 2, byte 3 is 0xe9; if it is Latin-1, convert it: iconv -f latin1 -t utf-8"
    )


def test_parallel_files_of_different_length(refused):
    write("a.en", "one\ntwo\nthree\n")
    write("a.fr", "un\ndeux\n")
    assert refused("train", "--data.train", "a.en", "a.fr") == (
        "a.en has 3 lines, a.fr has 2: line 3 of a.en, 'three', has no partner; both files must have the same lines"
    )


def test_lines_that_are_too_long_are_counted(said):
    lines = [f"word {n}\tword {n}" for n in range(60)] + [f"{'long ' * 9}{n}\tshort" for n in range(3)]
    write("a.tsv", "\n".join([*lines, "\tone side only"]))
    code, text = said("train", "--data.train", "a.tsv", "--data.longest", "8", "--data.share", "0.3", *PAIRS, *SMALL)
    assert code == 0
    assert "left out 1 example with one side empty, 3 examples longer than 8 tokens\n" in text
    write("b.tsv", "\n".join(lines))
    _, text = said("train", "--data.train", "b.tsv", "--data.longest", "8", *PAIRS, *SMALL, "--run", "b")
    assert "left out 3 examples longer than 8 tokens\n" in text
    _, text = said("train", "b")
    assert "left out 3 examples longer than 8 tokens\n" in text


def test_nothing_but_long_lines(refused):
    write("a.tsv", "\n".join(f"{'long ' * 9}{n}\tshort" for n in range(30)))
    assert re.fullmatch(
        r"a.tsv has no pair to train on \(\d+ examples longer than 8 tokens\); check the data",
        refused("train", "--data.train", "a.tsv", "--data.longest", "8", *PAIRS, *SMALL),
    )


# Settings


def test_an_unknown_setting(refused):
    write("a.toml", "[data]\ntrain = 'a.txt'\n[train]\nstep = 5\n")
    assert refused("train", "a.toml") == "no setting 'step' in [train]; did you mean 'steps'?"
    assert refused("train", "--data.train", "a.txt", "--train.step", "5") == (
        "no setting 'step' in [train]; did you mean 'steps'?"
    )


def test_a_value_of_the_wrong_type(refused):
    assert refused("train", "--data.train", "a.txt", "--train.steps", "many") == (
        "[train] steps must be a whole number from 0 up, found many"
    )
    assert refused("train", "--data.train", "2026") == (
        "[data] train must be a name, or two names of parallel files, found 2026"
    )


def test_a_recipe_that_is_not_toml(refused):
    assert refused("train", write("a.toml", "steps: 5\n")).startswith("a.toml is not valid TOML: ")


def test_a_device_that_is_not_there(refused):
    words = ["train", "--data.train", tiny.write_text(Path.cwd()).name, *MODEL, *SMALL, "--train.device", "tpu"]
    text = refused(*words)
    assert text.startswith("device 'tpu' is not to be had here (")
    assert text.endswith("); use device = 'auto' or 'cpu'")


def test_a_model_that_does_not_suit_the_data(refused):
    assert refused("train", "--data.train", tiny.write_text(Path.cwd()).name, *PAIRS, *SMALL) == (
        "data.train holds text, which wants a model of kind 'language-model', found 'seq2seq'; "
        "change [model], or the data"
    )


def test_a_metric_that_does_not_suit_the_data(refused):
    where = tiny.write_text(Path.cwd()).name
    assert refused("train", "--data.train", where, *MODEL, *SMALL, "--train.metric", "bleu") == (
        "[train] metric 'bleu' is not for text; choose loss, accuracy"
    )


def test_a_setting_where_none_belongs(refused):
    assert refused("corpora", "--train.steps", "5") == (
        "--train.steps is a setting of a recipe and means nothing here; see --help"
    )
