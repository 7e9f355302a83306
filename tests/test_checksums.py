"""A byte that changed in a run folder: one line says so, or nothing has changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import refusals
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import write_recipe
from safetensors.torch import load_file, save_file
from trainings import quietly

from regard.config.settings import changes
from regard.disk import write_tensors
from regard.errors import UserError
from regard.runs import load_run
from regard.training.loop import Training
from regard.training.parallel import World
from regard.training.report import Report
from regard.weights import open_weights, save_weights

said, refused = refusals.said, refusals.refused
FILES = [
    "model.safetensors", "checkpoint.safetensors", "tokenizer.json", "source-tokenizer.json", "config.toml",
    "log.jsonl", "tokens/facts.json",
    *(f"tokens/{part}-{side}.{kind}" for part in ("train", "valid") for side in ("source", "target")
      for kind in ("tokens", "ends")),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    plan = tiny.recipe(folder, "seq2seq-transformer", steps=8, evaluate=4)
    quietly(replace(plan, text=replace(plan.text, shared=False)), folder / "run")
    return folder / "run"


class Heard(Report):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def or_refused(do: Callable[[Path], Any], path: Path) -> Any:
    """What comes of it, or the one line that is said."""
    try:
        return do(path)
    except UserError as error:
        return str(error)


def answers(path: Path) -> object:
    """All that a run answers by: what it says, and how sure it is."""
    run = load_run(path)
    sure = run.score([("one two three", "three two one")])
    return run.translate(["one two", "four three two one"], beam=2), sure, run.trained_length


def goes_on(path: Path) -> tuple[list[str], object]:
    """What is said before training goes on, and all that it goes on from."""
    report = Heard()
    training = Training(load_run(path), World(), report)
    weights = {name: value.numpy().tobytes() for name, value in training.model.state_dict().items()}
    batch = training.batches.at(training.progress.step)
    rows = [part.numpy().tobytes() for part in batch if isinstance(part, torch.Tensor)]
    held = [side.tokens.tobytes() for side in training.material.valid]
    return report.lines, (weights, rows, held, training.progress, training.entries, training.settings)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_in_each_file_of_a_run(name, whole, tmp_path):
    """The same answers, or one line; the same training, or one line, which may also be said beside it."""
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    right, (usual, state) = answers(whole), goes_on(whole)
    usual = [line.replace(str(whole), str(path)) for line in usual]
    data = (path / name).read_bytes()
    noticed = 0
    for place in np.linspace(0, len(data) - 1, 40).astype(int):
        broken = bytearray(data)
        broken[place] ^= 1 << place % 7
        (path / name).write_bytes(broken)
        said, went_on = or_refused(answers, path), or_refused(goes_on, path)
        for line in (said, went_on):
            assert not isinstance(line, str) or (str(path) in line and "\n" not in line)
        assert said == right or isinstance(said, str), place
        lines, found = (went_on, None) if isinstance(went_on, str) else went_on
        assert found == state or lines != usual, place
        noticed += said != right or lines != usual
    assert noticed >= 30


def test_what_is_said_of_each_file(whole, tmp_path):
    shutil.copytree(whole, path := tmp_path / "run")
    changed = "is damaged or was changed (its checksum is another one)"
    copy = "restore it from a copy"
    expected = {
        "model.safetensors": f"{changed}; {copy}, or train again",
        "tokenizer.json": f"{changed}; {copy}: the weights were trained with that one",
        "checkpoint.safetensors": f"{changed}; delete it to start this run again",
        "tokens/train-source.tokens": f"{changed}; {copy}, or train in another folder",
        "tokens/facts.json": f"{changed}; {copy}, or train in another folder",
    }
    for name, text in expected.items():
        data = (path / name).read_bytes()
        wrong = data.replace(b"three", b"threw").replace(b'_pairs": ', b'_pairs": 9')  # both are still JSON
        (path / name).write_bytes(wrong if name.endswith(".json") else data[:-1] + bytes([data[-1] ^ 1]))
        assert f"{path / name} {text}" in (or_refused(answers, path), or_refused(goes_on, path))
        (path / name).write_bytes(data)
    assert answers(path)


def test_a_kind_of_data_that_there_is_not_names_its_file(whole, tmp_path):
    shutil.copytree(whole, path := tmp_path / "run")
    config = path / "config.toml"
    config.write_text(config.read_text().replace('kind = "pairs"', 'kind = "qairs"'))
    line = f"{config}: data.kind 'qairs' does not exist; did you mean 'pairs'?"
    assert or_refused(answers, path) == or_refused(goes_on, path) == line


def test_forty_thousand_bytes_of_nothing(tmp_path):
    """As somebody tried: zeros inside the weights."""
    tensors = {"weight": torch.randn(300, 100), "bias": torch.randn(7)}
    save_weights(path := tmp_path / "model.safetensors", tensors)
    data = path.read_bytes()
    path.write_bytes(data[:-60_000] + bytes(40_000) + data[-20_000:])
    with pytest.raises(UserError, match="is damaged or was changed"):
        open_weights(path)


def test_a_setting_that_weights_depend_on(refused, said, here):
    """Shapes alone would not tell: as many numbers, another number of heads."""
    assert said("train", write_recipe("lm-transformer", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace("heads = 2", "heads = 4"))
    expected = "r/config.toml says model.layer.heads = 4, but the weights were trained with 2; put it back"
    assert refused("evaluate", "r") == expected
    assert refused("train", "r") == expected


def test_what_may_be_edited_is_said_when_training_goes_on(said, here):
    assert said("train", write_recipe("lm-transformer", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace("rate = 0.01", "rate = 0.02").replace("length = 16", "length = 8"))
    code, text = said("train", "r", "--train.steps", "3")
    assert code == 0
    assert "train.rate is 0.02 now, it was 0.01\n" in text
    assert "train.length is 8 now, it was 16\n" in text
    assert "train.steps is 3 now, it was 2\n" in text


def test_weights_keep_to_the_length_they_were_trained_with(said, here):
    assert said("train", write_recipe("lm-transformer", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace("length = 16", "length = 8"))
    assert load_run("r").trained_length == 16


def test_a_log_with_a_broken_line_loses_no_other(said, here):
    assert said("train", write_recipe("lm-rnn", steps=8, evaluate=4), "--run", "r")[0] == 0
    log = Path("r/log.jsonl")
    first, second, *rest = log.read_text().splitlines(keepends=True)
    log.write_text(first + second.replace('"loss"', "loss") + "".join(rest))
    text = said("train", "r", "--train.steps", "9")[1]
    assert "r/log.jsonl is not as it was written; going on with what can be read of it\n" in text
    kept = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert kept == [1, 3, 4, 5, 6, 7, 8, 9]


def test_runs_from_before_there_were_checksums_go_on(said, here):
    name = write_recipe("lm-lstm")
    assert said("train", name, "--run", "whole")[0] == 0
    assert said("train", name, "--run", "r", "--train.steps", "8")[0] == 0
    tensors, about = open_weights(Path("r/checkpoint.safetensors"))
    save_file(tensors, "r/checkpoint.safetensors", {name: about[name] for name in ("version", "progress")})
    save_file(load_file("r/model.safetensors"), "r/model.safetensors")
    facts = json.loads(Path("r/tokens/facts.json").read_text())
    older = {name: fact for name, fact in facts.items() if name not in ("checksum", "files")}
    Path("r/tokens/facts.json").write_text(json.dumps(older))
    assert load_run("r").write("day", length=2)
    assert said("train", name, "--run", "r")[0] == 0
    assert load_run("r").write("day", length=2)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 3)), st.dictionaries(st.text(max_size=3), st.integers(0, 3)))
def test_changes_are_what_makes_one_table_the_other(before, after):
    found = list(changes({"section": before}, {"section": after}))
    assert bool(found) == (before != after)
    for name, was, now in found:
        key = name.removeprefix("section.")
        assert (before.get(key), after.get(key)) == (was, now)


def test_equal_weights_are_equal_files(tmp_path):
    """So that two people can compare their runs by any checksum."""
    about = {"step": 3, "metric": "loss", "value": 0.1 + 0.2}
    tensors = {"b": torch.ones(2, dtype=torch.bfloat16), "a": torch.zeros(()), "none": torch.zeros(0)}
    for name in ("one", "two"):
        save_weights(tmp_path / name, tensors, dict(reversed(about.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found, told = open_weights(tmp_path / "one")
    assert told == about
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_an_account_of_weights_that_is_no_account(tmp_path):
    write_tensors(tmp_path / "w", {"a": torch.zeros(1)}, {"about": "[]"})
    with pytest.raises(UserError, match="w is damaged or was changed"):
        open_weights(tmp_path / "w")
