"""Training learns: what the loss is, who is heard, what decides, and which weights are kept."""

import json
import math
from dataclasses import replace

import pytest
import tiny
import torch
import torch.nn.functional as F
import zoo
from safetensors.torch import load_file
from tiny import differences, in_another_process, log_of, recipe
from trainings import held_out_losses, looks_of, quietly, without_dropout

from regard.config import Train
from regard.data import store
from regard.data.batch import IGNORED, Buckets, Streams
from regard.evaluate.loss import Objective, by_student_forcing
from regard.folder import Folder
from regard.runs import load_run
from regard.tasks.text import ROWS
from regard.training import progress
from regard.training.loop import Training
from regard.training.parallel import World
from regard.training.progress import Progress
from regard.training.report import Report

# Learning


@pytest.mark.parametrize("name", tiny.MODELS)
def test_training_lowers_the_held_out_loss(name, tmp_path):
    run = quietly(recipe(tmp_path, name, steps=40, evaluate=10), tmp_path / "run")
    losses = held_out_losses(tmp_path / "run")
    assert len(losses) == 4
    assert losses[-1] < losses[0] < 1.2 * math.log(run.tokenizer.vocabulary)
    assert min(losses) < losses[0] - 0.1


@pytest.mark.parametrize("name", ["lm-lstm", "seq2seq-transformer"])
def test_a_run_folder_is_all_that_another_process_needs(name, tmp_path):
    run = tmp_path / "run"
    quietly(recipe(tmp_path, name), run)
    here = load_run(run).evaluate()
    for source in (*tmp_path.glob("*.txt"), *tmp_path.glob("*.tsv")):
        source.unlink()
    names = {path.name for path in run.iterdir()}
    wanted = {"config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", "checkpoint.safetensors", "curve.png"}
    assert names >= wanted
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    done = in_another_process("evaluate", run, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    there = json.loads(done.stdout)
    assert there == here
    best = min(looks_of(run), key=lambda entry: entry["held_out"]["loss"])
    assert round(there["loss"], 5) == best["held_out"]["loss"]
    assert there.keys() >= {"data", "loss", "perplexity", "bits_per_byte", "accuracy"}
    assert ("bleu" in there) == name.startswith("seq2seq")


def test_preparing_again_gives_the_same_run(tmp_path):
    plan = recipe(tmp_path, "lm-gru")
    for name in ("one", "two"):
        quietly(plan, tmp_path / name)
    assert differences(tmp_path / "one", tmp_path / "two") == []
    quietly(replace(plan, train=replace(plan.train, seed=1)), tmp_path / "three")
    assert differences(tmp_path / "one", tmp_path / "three") != []


def test_a_preset_becomes_a_model_of_that_kind(tmp_path):
    plan = replace(recipe(tmp_path, "seq2seq-rnn-attention", steps=1), model="gru")
    run = quietly(plan, tmp_path / "run")
    assert run.model_config.decoder.kind == "gru"
    assert load_run(tmp_path / "run").recipe == run.recipe


@pytest.mark.parametrize("metric", ["bleu", "chrf", "exact"])
def test_what_decides_is_the_metric(metric, tmp_path):
    quietly(recipe(tmp_path, "seq2seq-lstm-attention", steps=24, metric=metric, checkpoint=100), tmp_path / "run")
    looks = looks_of(tmp_path / "run")
    values = [entry["held_out"][metric] for entry in looks]
    assert [entry["best"] for entry in looks] == [all(v > w for w in values[:i]) for i, v in enumerate(values)]


# How it learns


def test_a_row_remembers_the_batch_before(tmp_path):
    """Two batches of a text give what both give in one piece: nothing is forgotten in between."""
    plan = without_dropout(recipe(tmp_path, "lm-lstm", steps=2, evaluate=1, rate=1e-20))
    quietly(plan, tmp_path / "run")
    training = Training(load_run(tmp_path / "run"), World(), Report(quiet=True))
    model, length = training.run.model, plan.train.length
    for text, rows, losses in (
        (
            training.material.train[0],
            training.batches.at(0).size,
            [entry["loss"] for entry in log_of(tmp_path / "run")],
        ),
        (training.material.valid[0], ROWS, held_out_losses(tmp_path / "run")[:1]),
    ):
        streams = Streams(text, rows, length)
        batches = [streams.at(step) for step in range(2 if len(losses) == 2 else streams.per_epoch)]
        tokens, targets = (torch.cat([batch[side] for batch in batches], 1) for side in (0, 1))
        with torch.no_grad():
            scores, _ = model(tokens, model.start(batch=len(tokens)))
        each = F.cross_entropy(scores.transpose(1, 2), targets, reduction="none")
        wanted = [part.mean().item() for part in each.split(length, 1)] if len(losses) == 2 else [each.mean().item()]
        assert losses == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer", "seq2seq-gru-attention", "seq2seq-transformer"])
def test_student_forcing_trains(name, tmp_path):
    quietly(recipe(tmp_path, name, steps=24, student=1.0), tmp_path / "run")
    losses = held_out_losses(tmp_path / "run")
    assert losses[-1] < losses[0]


def some_batch(name: str):
    if name in zoo.READS_A_SOURCE:
        random_ids = [[int(i) for i in torch.randint(3, 11, (n,))] for n in (2, 5, 3, 4)]
        return Buckets(store.gather(random_ids), store.gather(random_ids[::-1]), 1000, 0).at(0)
    return Streams(store.gather([[int(i) for i in torch.randint(11, (40,))]]), 3, 6).at(0)


@pytest.mark.parametrize("name", ["lm-gru", "lm-transformer-rotary", "seq2seq-bilstm-additive", "seq2seq-transformer"])
def test_a_student_that_is_never_heard_is_taught(name):
    model, batch = zoo.make(name), some_batch(name)
    objective = Objective(model, 0.0, torch.float32)
    state = zoo.begin(model, name, batch.size)
    taught, _ = model(batch.tokens, state, batch.keep)
    alone, _ = by_student_forcing(model, batch, state, 0.0)
    wanted = batch.targets != IGNORED
    torch.testing.assert_close(alone[wanted], taught[wanted])
    own, _ = by_student_forcing(model, batch, state, 1.0)
    assert not torch.allclose(own[wanted], taught[wanted])
    fed = torch.cat([batch.tokens[:, :1], own[:, :-1].argmax(-1)], 1)
    torch.testing.assert_close(own[wanted], model(fed, state, batch.keep)[0][wanted])
    assert objective(batch, None).loss > 0


def test_label_smoothing_is_for_training_only():
    model, batch = zoo.make("seq2seq-transformer", torch.float32), some_batch("seq2seq-transformer")
    plain, smooth = (Objective(model, smoothing, torch.float32) for smoothing in (0.0, 0.3))
    assert smooth.eval()(batch, None).loss == plain.eval()(batch, None).loss
    loss = smooth.train()(batch, None).loss
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    assert loss != plain.train()(batch, None).loss


def test_the_loss_is_the_sum_of_minus_log_p():
    model, batch = zoo.make("lm-lstm"), some_batch("lm-lstm")
    outcome = Objective(model, 0.0, torch.float32).eval()(batch, None)
    scores, _ = model(batch.tokens, model.start(batch=batch.size))
    p = scores.log_softmax(-1).gather(-1, batch.targets[..., None])
    assert outcome.loss.item() == pytest.approx(-p.sum().item(), rel=1e-6)
    assert outcome.right == (scores.argmax(-1) == batch.targets).sum()


# Which weights are kept


def test_early_stopping(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "better", lambda metric, new, old: old is None)
    plan = recipe(tmp_path, "lm-rnn", steps=100, evaluate=2, patience=3)
    for _ in range(2):  # once stopped it stays so
        quietly(plan, tmp_path / "run")
        assert [entry["step"] for entry in looks_of(tmp_path / "run")] == [2, 4, 6, 8]
    assert load_file(tmp_path / "run" / "model.safetensors").keys()


def test_the_best_weights_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "better", lambda metric, new, old: old is None)
    quietly(recipe(tmp_path, "lm-rnn", steps=12, evaluate=4), tmp_path / "run")
    assert round(load_run(tmp_path / "run").evaluate()["loss"], 5) == held_out_losses(tmp_path / "run")[0]


@pytest.mark.parametrize("average_of", ["last", "best"])
def test_which_looks_are_kept_for_a_mean(average_of):
    so_far = Progress(step=20, snapshots=((5, 2.0), (10, 1.0), (15, 3.0)))
    kept = so_far.evaluated(2.5, Train(average=3, average_of=average_of)).snapshots
    assert {step for step, _ in kept} == ({10, 15, 20} if average_of == "last" else {5, 10, 20})


def test_the_mean_of_the_last_looks(tmp_path):
    quietly(recipe(tmp_path, "lm-lstm", steps=20, evaluate=5, average=3), tmp_path / "run")
    folder = Folder(tmp_path / "run")
    looks = [load_file(folder.snapshot(step)) for step in (10, 15, 20)]
    mean = load_file(folder.weights)
    for key in mean:
        torch.testing.assert_close(mean[key], torch.stack([look[key] for look in looks]).mean(0))
    assert any(not torch.equal(mean[key], looks[-1][key]) for key in mean)
