"""Training begins with another run: all of it learns, or the last layers, or thin matrices beside it."""

from dataclasses import replace
from pathlib import Path

import pytest
import refusals
import tiny
import torch
from safetensors.torch import load_file

from regard.config import FromRun, Recipe
from regard.layers.low_rank import LowRank, adapt, merged
from regard.models.build import build
from regard.runs import load_run
from regard.training.learning import freeze_but_last
from regard.training.loop import train
from regard.training.report import Report

said, refused = refusals.said, refusals.refused
QUIET = Report(quiet=True)
NAMES = ("lm-lstm", "lm-transformer", "seq2seq-transformer", "seq2seq-gru-attention")


def begun(folder: Path, name: str, **settings: float) -> tuple[Path, Recipe]:
    """A run, and the recipe of one that begins with it."""
    recipe = tiny.recipe(folder, name, steps=4)
    train(recipe, folder / "first", QUIET)
    after = replace(recipe.train, **settings)
    return folder / "first", replace(recipe, model=FromRun(str(folder / "first")), train=after)


@pytest.mark.parametrize("name", NAMES)
def test_training_begins_with_the_weights_and_tokens_of_a_run(name, tmp_path):
    first, recipe = begun(tmp_path, name, rate=1e-12, steps=1, warmup=0)
    run, there = train(recipe, tmp_path / "second", QUIET), load_run(first)
    assert [one.to_json() for one in run.tokenizers] == [one.to_json() for one in there.tokenizers]
    assert run.model_config == replace(there.model_config, start_from=str(first))
    ours, theirs = run.trained_model().state_dict(), there.trained_model().state_dict()
    assert all(torch.allclose(ours[path], theirs[path], atol=1e-6) for path in theirs)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_command_goes_on(name, tmp_path):
    _, recipe = begun(tmp_path, name, steps=3)
    train(recipe, tmp_path / "second", QUIET)
    train(replace(recipe, train=replace(recipe.train, steps=5)), tmp_path / "second", QUIET)
    assert load_run(tmp_path / "second").folder.read_log()[-1]["step"] == 5


def test_a_classifier_begins_with_a_language_model_named_alone(tmp_path):
    train(tiny.recipe(tmp_path, "lm-lstm", steps=2), tmp_path / "lm", QUIET)
    recipe = replace(tiny.recipe(tmp_path, "classifier-lstm", steps=2), model=FromRun(str(tmp_path / "lm")))
    recipe = replace(recipe, data=replace(recipe.data, kind="labels"))
    run = train(recipe, tmp_path / "run", QUIET)
    assert run.model_config.kind == "classifier"
    assert run.source_tokenizer.to_json() == load_run(tmp_path / "lm").tokenizer.to_json()


# LoRA


@pytest.mark.parametrize("name", ["lm-transformer", "seq2seq-transformer", "classifier-transformer"])
def test_thin_matrices_change_nothing_at_first_and_merge_exactly(name):
    torch.manual_seed(0)
    plain = build(tiny.MODELS[name], 20).double()
    before = {path: value.clone() for path, value in plain.state_dict().items()}
    assert adapt(plain, 2) == sum(isinstance(one, LowRank) for one in plain.modules()) > 0
    same = merged(plain, plain.state_dict())
    assert before.keys() == same.keys()
    assert all(torch.equal(before[path], same[path]) for path in before)
    for one in plain.modules():
        if isinstance(one, LowRank):
            torch.nn.init.normal_(one.up)
            x = torch.randn(3, one.down.shape[1], dtype=torch.double)
            path = next(path for path, module in plain.named_modules() if module is one)
            weight = merged(plain, plain.state_dict())[f"{path}.weight"]
            assert torch.allclose(one(x), torch.nn.functional.linear(x, weight, one.bias))


def test_only_thin_matrices_learn_and_the_run_is_a_plain_one(tmp_path):
    first, recipe = begun(tmp_path, "lm-transformer", lora=2, steps=4)
    run = train(recipe, tmp_path / "second", QUIET)
    ours, theirs = run.trained_model().state_dict(), load_run(first).trained_model().state_dict()
    changed = {path for path in theirs if not torch.equal(ours[path], theirs[path])}
    assert changed == {
        path for path in theirs if path.endswith(("value.weight", "output.weight", "W_1.weight", "W_2.weight"))
    }
    kept = load_file(tmp_path / "second" / "checkpoint.safetensors")
    assert {name.rpartition(".")[2] for name in kept if name.startswith("model.")} == {"down", "up"}


@pytest.mark.parametrize("part", [{"lora": 2}, {"last": 1}])
def test_a_part_of_a_run_goes_on_exactly(part, tmp_path):
    first, recipe = begun(tmp_path, "lm-transformer", steps=6, checkpoint=3, evaluate=3, **part)
    whole = train(recipe, tmp_path / "whole", QUIET)
    train(replace(recipe, train=replace(recipe.train, schedule="constant", steps=3)), tmp_path / "cut", QUIET)
    constant = replace(recipe, train=replace(recipe.train, schedule="constant"))
    cut, unbroken = train(constant, tmp_path / "cut", QUIET), train(constant, tmp_path / "unbroken", QUIET)
    assert _same(cut, unbroken)
    assert not _same(whole, load_run(first))


def _same(one, other) -> bool:
    ours, theirs = one.trained_model().state_dict(), other.trained_model().state_dict()
    return all(torch.equal(ours[path], theirs[path]) for path in ours)


def test_the_last_layers_learn_and_the_others_do_not():
    model = build(replace(tiny.MODELS["lm-transformer"], layer=replace(tiny.BLOCKS, layers=3)), 20)
    freeze_but_last(model, 1)
    learns = {path for path, value in model.named_parameters() if value.requires_grad}
    assert not any(path.startswith(("embedding.", "layer.blocks.0.", "layer.blocks.1.")) for path in learns)
    rest = {
        path
        for path, _ in model.named_parameters()
        if path.startswith(("layer.blocks.2.", "layer.last_norm.", "head."))
    }
    assert learns == rest


# What cannot be


def test_what_cannot_be_begun_with_is_said(refused, tmp_path):
    text = tiny.write_text(tmp_path)
    train(tiny.recipe(tmp_path, "lm-lstm", steps=2), tmp_path / "lm", QUIET)
    train(tiny.recipe(tmp_path, "tagger-rnn", steps=2), tmp_path / "tagger", QUIET)

    def answer(*words: object) -> str:
        return refused("train", "--data.train", text, *words, "--run", tmp_path / "r")

    assert answer("--model.start_from", "nowhere").startswith("model.start_from: nowhere is not a run")
    assert answer("--model.start_from", tmp_path / "tagger") == (
        f"model.start_from: {tmp_path / 'tagger'} holds a tagger, which does not learn from such data; name another run"
    )
    assert answer("--model.start_from", tmp_path / "lm", "--model.layer.width", 64).endswith("leave the rest out")
    assert answer("--train.lora", 8).endswith("name a run: --model.start_from RUN")
    assert answer("--model.start_from", tmp_path / "lm", "--train.lora", 4) == (
        "train.lora changes the matrices of attention and feed-forward parts, found none; leave it out, or use last"
    )
    assert answer("--model.start_from", tmp_path / "lm", "--train.lora", 4, "--train.last", 1) == (
        "[train] lora and last are two ways to learn less than everything; choose one of them"
    )
    assert (
        answer("--model.kind", "run")
        == "[model] kind 'run' wants start_from, the folder of the run to begin with; set it"
    )
