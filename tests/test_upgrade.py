"""Old recipes and run folders: they are read as what they meant, and training goes on where an older regard stopped."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import log_of

from regard.cli import main
from regard.config import (
    Classifier,
    Data,
    LanguageModel,
    Recipe,
    Recurrent,
    Seq2Seq,
    Train,
    Transformer,
    read_recipe,
    recipe_from,
    to_table,
)
from regard.config.recipe import read_toml
from regard.config.settings import with_override
from regard.config.upgrade import VERSION
from regard.errors import UserError
from regard.folder import Folder
from regard.runs import load_run

HERE = Path(__file__).parent
OLD = sorted((HERE / "old").iterdir())  # runs of four updates, made by version 1, and what it logged when it went on
LOGGED = sorted((HERE.parent / "docs/results/logs").glob("*/config.toml"))
NOW = "train.momentum is called train.beta2 now"


@pytest.fixture(params=OLD, ids=lambda path: path.name)
def old(request, tmp_path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "run"))


def test_an_old_run_answers(old):
    run = load_run(old)
    assert run.recipe.train.beta2 == 0.9
    assert run.recipe.version == VERSION
    assert run.score(["what it wrote"] if not run.task.has_source else [("one two", "two one")])[0].tokens


def test_an_old_run_goes_on_as_the_regard_that_wrote_it_did(old, capsys):
    assert main(["train", str(old), "--train.steps", "8"]) == 0
    there = [json.loads(line) for line in (old / "gone-on.jsonl").read_text().splitlines()]
    for found, wanted in zip(log_of(old), there, strict=True):
        held_out = wanted.pop("held_out", {}), found.pop("held_out", {})
        assert {key: found[key] for key in wanted} == pytest.approx(wanted, rel=1e-4)
        assert held_out[1] == pytest.approx(held_out[0], rel=1e-4)
    assert Folder(old).read_config().train == replace(load_run(old).recipe.train, steps=8, beta2=0.9)
    assert f"version = {VERSION}" in (old / "config.toml").read_text()
    assert NOW not in capsys.readouterr().err  # nobody wrote that name by hand


@pytest.mark.parametrize("path", LOGGED, ids=lambda path: path.parent.name)
def test_the_settings_of_published_runs_are_read(path):
    """Of every kind of model that stands in docs/results.md, most of them written by version 1."""
    said = read_toml(path)["train"]
    assert recipe_from(read_toml(path)).train.beta2 == said["momentum" if "momentum" in said else "beta2"]


def test_an_old_recipe_means_what_it_meant_and_says_what_is_called_otherwise(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text("[data]\ntrain = 'a'\n[train]\nmomentum = 0.9\nsteps = 7\n")
    with pytest.warns(UserWarning, match=f"^{NOW}$"):
        assert read_recipe(path) == Recipe(Data("a"), train=Train(steps=7, beta2=0.9))


@pytest.mark.filterwarnings("default")
def test_an_old_name_on_the_command_line(old, capsys):
    assert main(["train", str(old), "--train.steps", "5", "--train.momentum", "0.5"]) == 0
    assert capsys.readouterr().err.count(NOW) == 1
    assert Folder(old).read_config().train.beta2 == 0.5


def test_both_names():
    with pytest.raises(UserError, match=f"^{NOW}, and both are set; leave train.momentum out$"):
        recipe_from({"data": {"train": "a"}, "train": {"momentum": 0.9, "beta2": 0.8}})


def test_nothing_is_said_of_a_recipe_of_today():
    recipe = Recipe(Data("a"), train=Train(beta2=0.9))
    assert recipe_from(to_table(recipe)) == recipe  # every warning is an error here


def test_an_old_name_in_a_file_of_today_is_no_setting():
    with pytest.raises(UserError, match=r"no setting 'momentum' in \[train\]"):
        recipe_from({"version": VERSION, "data": {"train": "a"}, "train": {"momentum": 0.9}})


IDLE = {
    "source positions of an encoder": (
        "model.encoder.source_positions",
        "rotary",
        Seq2Seq(Transformer(), Transformer()),
    ),
    "source positions of a language model": ("model.layer.source_positions", "rotary", LanguageModel()),
    "a width of positions that are added": ("model.layer.position_width", 16, LanguageModel()),
    "a similarity beside a Transformer's": ("model.similarity", "dot", Seq2Seq(Transformer(), Transformer())),
    "a similarity of no attention": ("model.similarity", "dot", Seq2Seq(context="fixed")),
    "the best of one look": ("train.average_of", "best", LanguageModel()),
    "scheduled sampling of labels": ("train.student", 0.5, Classifier()),
}


SAID = Train(batch=4096, smoothing=0.0)  # an old run had no other way to leave them open


@pytest.mark.parametrize("name", IDLE)
def test_what_did_nothing_in_an_old_run_is_left_out_and_refused_in_a_new_one(name):
    setting, value, model = IDLE[name]
    recipe = Recipe(Data("a"), model, train=SAID)
    table = with_override({**to_table(recipe), "version": 1}, setting, value)
    assert recipe_from(table) == recipe
    with pytest.raises(UserError, match=setting.rpartition(".")[2]):
        recipe_from({**table, "version": VERSION})


def test_what_did_something_in_an_old_run_is_kept():
    by_place = Transformer(source_positions="rotary")
    joined = Transformer(positions="learned", join="concatenate", position_width=32)
    for recipe in (
        Recipe(Data("a"), Seq2Seq(joined, by_place), train=replace(SAID, student=0.5, average=2, average_of="best")),
        Recipe(Data("a"), Seq2Seq(Recurrent(), Recurrent(), similarity="dot"), train=SAID),
        Recipe(Data("a"), "lstm", train=SAID),
    ):
        assert recipe_from({**to_table(recipe), "version": 1}) == recipe
