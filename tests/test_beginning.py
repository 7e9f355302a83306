"""How a text begins: rows that start anew in training, the loss by position; and what a training says at its end."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
import torch.nn.functional as F
import zoo
from tiny import differences, recipe
from trainings import killed_after, quietly

from regard import build
from regard.data.batch import Streams
from regard.data.store import gather
from regard.evaluate.beginning import FIRST, loss_by_position, passages
from regard.evaluate.loss import Objective
from regard.layers.state import leaves, where
from regard.special import START
from regard.training.ending import verdict

TEXT = gather([list(range(10, 1000))])


def streams(fresh: float, seed: int = 0) -> Streams:
    return Streams(TEXT, 8, 12, fresh, seed)


def test_as_many_rows_begin_anew_as_were_asked_for():
    batches = [streams(0.2).at(step) for step in range(400)]
    share = torch.stack([batch.anew.double().mean() for batch in batches]).mean()
    assert share == pytest.approx(0.2, abs=0.03)  # 3,200 draws: four deviations
    assert all(batch.anew is None for batch in map(streams(0.0).at, range(3)))


def test_a_row_that_begins_anew_is_fed_the_start_and_nothing_else_changes():
    for step in range(30):
        plain, some = streams(0.0).at(step), streams(0.3).at(step)
        assert torch.equal(plain.targets, some.targets)
        assert torch.equal(some.tokens[:, 0] == START, some.anew)
        assert torch.equal(plain.tokens[:, 1:], some.tokens[:, 1:])
        assert torch.equal(plain.tokens[~some.anew], some.tokens[~some.anew])
        for share in (some.rows(part, 3) for part in range(3)):
            assert torch.equal(share.tokens[:, 0] == START, share.anew)
    assert any(not torch.equal(streams(0.3, seed=1).at(step).anew, streams(0.3).at(step).anew) for step in range(9))


def test_a_document_that_begins_a_row_begins_anew():
    documents = gather([[START, *range(20, 31)]] * 40)  # of twelve tokens, as rows are
    batch = Streams(documents, 4, 12, 0.01, 0).at(3)
    begins = torch.from_numpy(np.stack([documents.tokens[36 + row * 119 : 48 + row * 119] for row in range(4)]))
    assert torch.equal(batch.anew | (begins[:, 0] != START), torch.ones(4, dtype=torch.bool))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_rows_that_begin_anew_know_nothing_of_before_and_others_all_of_it(kind):
    torch.manual_seed(0)
    model = build(zoo.MODELS[f"lm-{kind}"], 1000).double().eval()
    objective = Objective(model, 0.0, torch.float32).eval()
    batch = streams(0.5).at(3)
    assert 0 < batch.anew.sum() < len(batch.anew)
    _, before = model(torch.randint(10, 1000, (8, 5)), model.start(batch=8))
    found, after = objective.read(batch, before)
    from_nothing, state = model(batch.tokens, model.start(batch=8))
    going_on, other = model(batch.tokens, before)
    torch.testing.assert_close(found[batch.anew], from_nothing[batch.anew].float())
    torch.testing.assert_close(found[~batch.anew], going_on[~batch.anew].float())
    for leaf, one, two in zip(leaves(after), leaves(state), leaves(other), strict=True):
        torch.testing.assert_close(leaf[batch.anew], one[batch.anew])
        torch.testing.assert_close(leaf[~batch.anew], two[~batch.anew])
    for leaf, one in zip(leaves(where(batch.anew, state, before)), leaves(before), strict=True):
        assert torch.equal(leaf[~batch.anew], one[~batch.anew])


@pytest.mark.parametrize("accumulate", [1, 3])
def test_going_on_is_exact_with_rows_that_begin_anew(accumulate, tmp_path):
    plan = recipe(tmp_path, "lm-lstm", fresh=0.4, accumulate=accumulate)
    quietly(plan, tmp_path / "whole")
    killed_after(10, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    quietly(replace(plan, train=replace(plan.train, fresh=0.0)), tmp_path / "never")
    assert differences(tmp_path / "whole", tmp_path / "never") != []


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer-rotary"])
def test_the_loss_by_position_is_that_of_each_passage_by_itself(name):
    torch.manual_seed(0)
    model = build(zoo.MODELS[name], 1000).double().train()
    tokens = passages(np.arange(10, 1000), length=20)
    assert tokens.shape == (128, 21)
    assert (tokens[:, 0] == START).all()
    assert (tokens[0, 1], tokens[-1, -1]) == (10, 999), "from the beginning to the end"
    found = loss_by_position(model, tokens)
    assert model.training
    model.eval()
    slow = torch.zeros(20, dtype=torch.double)
    for row in tokens[:16]:
        for place in range(20):
            scores, _ = model(row[None, : place + 1], model.start(batch=1))
            slow[place] += F.cross_entropy(scores[0, -1], row[place + 1]).detach() / 16
    torch.testing.assert_close(loss_by_position(model, tokens[:16]).double(), slow, atol=1e-5, rtol=1e-5)
    assert found.shape == (20,)


def test_a_run_says_how_a_text_begins_and_whether_it_had_enough(tmp_path, capsys):
    from regard.training.loop import train

    run = train(recipe(tmp_path, "lm-lstm"), tmp_path / "run")
    said = capsys.readouterr().err
    assert f"over the first {FIRST} tokens of a text" in said
    assert "on what it learnt from" in said
    assert run.evaluate()["loss_at_start"] > 0
    assert run.folder.beginning.stat().st_size > 1000


def entry(step, learnt, held, best):
    return {"step": step, "learnt": learnt, "held_out": {"loss": held}, "best": best}


@pytest.mark.parametrize(
    ("looks", "word"),
    [
        ([entry(10, 2.0, 2.1, True), entry(20, 1.5, 1.6, True)], "under-trained"),
        ([entry(10, 2.0, 2.1, True), entry(20, 0.5, 1.6, True)], "by heart"),
        ([entry(10, 1.4, 2.0, True), entry(20, 1.2, 2.2, False), entry(30, 1.0, 2.4, False)], "by heart"),
        ([entry(10, 2.0, 2.1, True), entry(20, 1.2, 1.6, True)], "in between"),
        ([entry(10, 2.0, 2.1, True), entry(20, 0.001, 0.002, True)], "hardly anything is left"),
    ],
)
def test_words_for_what_a_training_lacks(looks, word):
    assert word in verdict(looks)
    assert verdict([{"step": 1, "loss": 2.0}]) == ""


def test_training_is_judged_by_what_it_learns_from(tmp_path):
    """The plain loss: of a model that knows one text by heart it falls below what is held out."""
    run = quietly(tiny.recipe(tmp_path, "lm-lstm", steps=40, smoothing=0.3, rate=0.03), tmp_path / "run")
    looks = [one for one in run.folder.read_log() if "learnt" in one]
    assert looks[-1]["learnt"] < looks[0]["learnt"]
    assert looks[-1]["learnt"] < looks[-1]["loss"], "no smoothing in it"
