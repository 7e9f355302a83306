"""A language model of attention that writes on and on: still a model, and never further than it has learnt."""

import pytest
import tiny
import torch
from asserting import same
from zoo import LANGUAGE_MODELS, make, tokens

import regard
from regard import Writing, select
from regard.layers.state import leaves
from regard.models.window import ContextWindow
from regard.text import START
from regard.training.loop import train
from regard.training.report import Report

LENGTH, LONG = 6, 20
every_one = pytest.mark.parametrize("name", [name for name in LANGUAGE_MODELS if "transformer" in name])


@every_one
def test_forward_is_steps_and_any_cut(name):
    model, fed = ContextWindow(make(name), LENGTH), tokens(2, LONG)
    whole, _ = model(fed, model.start(batch=2))
    state, steps = model.start(batch=2), []
    for token in fed.unbind(1):
        scores, state = model.step(token, state)
        steps.append(scores)
    same(torch.stack(steps, 1), whole)
    for cut in (1, LENGTH - 1, LENGTH, LENGTH + 1, 13):
        first, state = model(fed[:, :cut], model.start(batch=2))
        second, _ = model(fed[:, cut:], state)
        same(torch.cat([first, second], 1), whole)
    same(model.prefill(fed, model.start(batch=2))[0], whole[:, -1])


@every_one
def test_up_to_its_length_nothing_changes_and_beyond_it_nothing_is_seen(name):
    plain, fed = make(name), tokens(2, LONG)
    model = ContextWindow(plain, LENGTH)
    scores, _ = model(fed, model.start(batch=2))
    same(scores[:, :LENGTH], plain(fed[:, :LENGTH], plain.start(batch=2))[0])
    for t in range(LENGTH, LONG):  # read again from the last half at every half
        begins = (t - LENGTH) // (LENGTH // 2) * (LENGTH // 2) + LENGTH // 2
        same(scores[:, t], plain.prefill(fed[:, begins : t + 1], plain.start(batch=2))[0])


@every_one
@torch.no_grad()
def test_it_has_no_end_and_remembers_no_more_than_its_length(name):
    model, state = ContextWindow(make(name), LENGTH), None
    assert (model.longest, model.grows) == (None, False)
    state, most = model.start(), 0
    for token in tokens(1, 40).unbind(1):  # more than any table of the zoo has
        _, state = model.step(token, state)
        most = max(most, sum(leaf.numel() for leaf in leaves(state)))
    whole = model.forward(tokens(1, LENGTH), model.start())[1]
    assert most == sum(leaf.numel() for leaf in leaves(whole))


@every_one
def test_padding_and_other_rows_change_nothing(name):
    model, fed = ContextWindow(make(name), LENGTH), tokens(2, 3)
    padded = torch.cat([torch.full((2, 2), 3), fed], 1)
    keep = torch.tensor([[False, False, True, True, True], [True] * 5])
    scores, state = model(padded, model.start(batch=2), keep)
    alone, own = model(fed[:1], model.start())
    same(scores[:1, 2:], alone)
    following = tokens(1, 1).expand(2, 1)
    same(model(following, state)[0][:1], model(following[:1], own)[0])
    twice = select(state, torch.tensor([1, 0, 1]))
    same(model(following[[0, 0, 0]], twice)[0][[1, 0]], model(following, state)[0])


def test_a_recurrent_model_reaches_as_far_as_it_likes(tmp_path):
    for name, wrapped in (("lm-lstm", False), ("lm-transformer", True)):
        run = train(tiny.recipe(tmp_path, name, steps=2, length=8), tmp_path / name, Report(True))
        assert isinstance(run.for_long_texts, ContextWindow) == wrapped
    written = run.samples("day", Writing(choose="argmax", length=30))[0]
    model = ContextWindow(run.model, 8)
    fed, state = [START, *run.tokenizer.encode("day")], model.start()
    for _ in range(30):
        scores, _ = model.prefill(torch.tensor([fed]), state)
        fed.append(int(scores.argmax()))
    assert written == run.tokenizer.decode(fed[1:])[3:]
    text = "day 7: the tide comes in, and out"
    (scored,) = regard.load(tmp_path / "lm-transformer").score([text])
    ids = torch.tensor([[START, *run.tokenizer.encode(text)]])
    logs = model(ids, state)[0].log_softmax(-1)[0, :-1].gather(1, ids[0, 1:, None])
    assert sum(scored.logs[: len(logs)]) == pytest.approx(float(logs.sum()), rel=1e-4)
