"""Distillation: a student's batches say what its teachers find likely, and its loss is a KL to that."""

from dataclasses import replace

import albums
import pytest
import tiny
import torch
import torch.nn.functional as F
import zoo
from test_consistency import batch_for
from trainings import killed_after, looks_of, quietly

from regard.cli import main
from regard.config import Train
from regard.data.batch import IGNORED, Batch
from regard.errors import UserError
from regard.evaluate.distilled import Distilled
from regard.evaluate.loss import Objective
from regard.folder import Folder
from regard.runs import load_run
from regard.training import distil
from regard.training.loop import Training
from regard.training.objective import objective
from regard.training.parallel import World
from regard.training.report import Report

SHARE = 0.3
KEPT = 3  # fewer than there are tokens
SMALL = ("--model", "gru", "--train.steps", "8", "--train.evaluate", "4", "--train.checkpoint", "2")


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    """Of two architectures, with the same tokens."""
    folder = tmp_path_factory.mktemp("teachers")
    for name in ("seq2seq-gru-attention", "seq2seq-transformer"):
        quietly(tiny.recipe(folder, name, steps=8, evaluate=8), folder / name)
    return [str(folder / name) for name in ("seq2seq-gru-attention", "seq2seq-transformer")]


def distilled(*words: object) -> int:
    return main(["distill", *map(str, words)])


@pytest.fixture(scope="module")
def student(teachers, tmp_path_factory):
    path = tmp_path_factory.mktemp("student") / "small"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distil, "BEST", KEPT)
        assert distilled(*teachers, "--run", path, *SMALL) == 0
    return path


def test_a_student_has_the_tokens_of_its_teachers_and_a_model_of_its_own(student, teachers):
    run, teacher = load_run(student), load_run(teachers[1])
    assert run.tokenizer.to_json() == teacher.tokenizer.to_json()
    assert (run.model_config.decoder.kind, run.recipe.train.teacher) == ("gru", 0.5)
    assert run.recipe.data == teacher.recipe.data
    assert [entry["step"] for entry in looks_of(student)] == [4, 8]
    assert len(run.translate(["one two"])) == 1


@torch.no_grad()
def test_what_a_batch_says_is_what_the_teachers_say(student, teachers):
    """Against their mean, computed example by example: the best in their order, as parts of their sum."""
    batches = Training(load_run(student), World(), Report(quiet=True)).batches
    readers = [Objective(load_run(path).model, 0.0, torch.float32).eval() for path in teachers]
    for step in range(batches.per_epoch):
        batch = batches.at(step)
        there = batch.targets != IGNORED
        torch.testing.assert_close(batch.probable.sum(-1), there.float(), atol=2e-3, rtol=0)
        for row in {0, batch.size - 1}:
            one = batch.rows(row, batch.size)
            q = sum(reader.read(one, None)[0].softmax(-1) for reader in readers) / len(readers)
            best = q.topk(KEPT)
            assert one.likely.shape == best.values.shape
            torch.testing.assert_close(q.gather(-1, one.likely), best.values)
            torch.testing.assert_close(one.probable, best.values / best.values.sum(-1, True), atol=1e-3, rtol=0)


def test_going_on_is_exact_and_begins_again_where_no_configuration_is(teachers, student, tmp_path, monkeypatch):
    path = tmp_path / "small"
    monkeypatch.setattr(distil, "BEST", KEPT)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_facts", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            distilled(*teachers, "--run", path, *SMALL)
    with monkeypatch.context() as patch:
        patch.setattr("regard.cli.bodies.training.go", lambda *_: killed_after(5, None, path))
        distilled(*teachers, "--run", path, *SMALL)
    monkeypatch.setattr(distil, "asked", lambda *_: 1 / 0)  # that is written once
    assert distilled(*teachers, "--run", path) == 0
    assert tiny.differences(student, path) == []
    assert distilled(*teachers, "--run", path, "--train.steps", "9") == 0
    assert [entry["step"] for entry in looks_of(path)] == [4, 8, 9]


def test_further_sources_are_answered_once_and_learnt_from(teachers, tmp_path, monkeypatch):
    lines, path = tmp_path / "more.txt", tmp_path / "small"
    lines.write_text("one two three\n\nfour four\n", encoding="utf-8")
    monkeypatch.setattr("regard.cli.bodies.training.go", lambda *_: None)
    assert distilled(*teachers, "--run", path, *SMALL, "--unlabelled", lines, "--beam", 2) == 0
    there, here = load_run(teachers[0]).material, load_run(path).material
    said = load_run(teachers[0], ensemble=teachers[1:]).translate(["one two three", "four four"], beam=2)
    more = [(source, target) for source, target in zip(("one two three", "four four"), said, strict=True) if target]
    run = load_run(path)
    found = [
        tuple(run.tokenizer.decode(side[len(there.train[0]) + place].tolist()) for side in here.train)
        for place in range(len(more))
    ]
    assert found == more
    assert here.facts["train_pairs"] == len(here.train[0]) == len(here.train[1]) == len(there.train[0]) + len(more)
    assert Training(run, World(), Report(quiet=True)).batches.at(0).likely is not None


def test_a_classifier_can_be_a_student(tmp_path, capsys):
    quietly(tiny.recipe(tmp_path, "classifier-lstm", steps=4), tmp_path / "teacher")
    assert distilled(tmp_path / "teacher", "--run", tmp_path / "small", *SMALL) == 0
    assert load_run(tmp_path / "small").model_config.encoder.kind == "gru"
    assert distilled(tmp_path / "teacher", "--run", tmp_path / "x", "--model", '{kind="tagger"}') == 1
    assert "a tagger does not learn from labels; distill wants one of kind 'classifier'" in capsys.readouterr().err


def test_a_captioner_can_be_a_student(tmp_path, monkeypatch, capsys):
    quietly(albums.recipe(tmp_path, steps=2), tmp_path / "teacher")
    assert distilled(tmp_path / "teacher", "--run", tmp_path / "small", "--model.decoder.width", "10") == 0
    small = load_run(tmp_path / "small")
    assert small.model_config.decoder.width == 10
    batches = Training(small, World(), Report(quiet=True)).batches
    assert batches.at(1).likely.shape[:2] == batches.at(1).targets.shape
    facts = Folder.read_facts
    monkeypatch.setattr(Folder, "read_facts", lambda self: {**facts(self), "found": [4, 8]})
    assert distilled(tmp_path / "teacher", "--run", tmp_path / "x", "--model.encoder.width", "10") == 1
    assert "so a student has its teachers'; change [model.decoder] alone" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["seq2seq-transformer", "tagger-bilstm", "caption-gru-fixed"])
def test_loss_and_gradient_are_those_of_a_kl(name):
    model, batch = zoo.make(name), batch_for(name)
    torch.manual_seed(5)
    q = torch.rand(*batch.targets.shape, zoo.VOCABULARY).softmax(-1)
    best = q.topk(4)
    probable = best.values / best.values.sum(-1, keepdim=True)
    batch = batch._replace(likely=best.indices, probable=probable)
    learning = Distilled(Objective(model, 0.0, torch.float32), SHARE)
    model.eval()
    loss = learning(batch, None).loss
    loss.backward()
    given = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    scores, _ = Objective(model, 0.0, torch.float32).read(batch, None)
    there = batch.targets != IGNORED
    wanted = torch.zeros_like(scores).scatter(-1, best.indices, probable.float())
    apart = F.kl_div(scores[there].log_softmax(-1), wanted[there], reduction="sum")
    right = F.cross_entropy(scores[there], batch.targets[there], reduction="sum")
    plain = (1 - SHARE) * right + SHARE * apart
    plain.backward()
    torch.testing.assert_close(loss, plain, rtol=1e-5, atol=1e-5)
    for found, one in zip(given, (p.grad for p in model.parameters() if p.grad is not None), strict=True):
        torch.testing.assert_close(found, one, rtol=1e-4, atol=1e-5)


def test_it_is_for_training_only_and_goes_with_consistency():
    model, batch = zoo.make("seq2seq-transformer", torch.float32), batch_for("seq2seq-transformer")
    asked = objective(model, Train(teacher=0.5, consistency=1.0), torch.float32)
    assert asked.eval()(batch, None).loss == Objective(model, 0.0, torch.float32).eval()(batch, None).loss
    likely = torch.zeros(*batch.targets.shape, 2, dtype=torch.long)
    assert asked.train()(batch._replace(likely=likely, probable=likely + 0.5), None).loss > 0


def test_what_there_is_not_is_said(teachers, tmp_path, capsys):
    quietly(tiny.recipe(tmp_path, "lm-rnn", steps=1), tmp_path / "lm")
    for words, said in (
        (teachers, "distill wants a folder for the new run, found none; add --run RUN"),
        ((tmp_path / "lm", "--run", tmp_path / "x"), "is a language model, distill wants runs that read a source"),
        (
            (teachers[0], "--run", tmp_path / "x", "--data.limit", "3"),
            "a student has the data and tokens of its teachers",
        ),
        ((teachers[0], tmp_path / "lm", "--run", tmp_path / "x"), "cannot answer together with"),
    ):
        assert distilled(*words) == 1
        assert said in capsys.readouterr().err
        assert not (tmp_path / "x" / "config.toml").exists()
    batch: Batch = batch_for("seq2seq-transformer")
    with pytest.raises(
        UserError, match=r"train\.teacher wants answers of teachers, found none in this run; see regard dis"
    ):
        objective(zoo.make("seq2seq-transformer"), Train(teacher=0.5), torch.float32)(batch, None)
    with pytest.raises(UserError, match="teacher must be a probability from 0 to 1, found 2"):
        replace(Train(), teacher=2.0)
