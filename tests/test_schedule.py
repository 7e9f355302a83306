"""Plans in updates, epochs and minutes; cool-downs that more time goes on from; a mean of weights that looks use."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tiny import differences, log_of, recipe
from torch import nn
from trainings import killed_after, quietly, stopped_after

from regard import UserError
from regard.config import Recipe, Train
from regard.folder import Folder
from regard.training.average import Average
from regard.training.loop import Training, train
from regard.training.pace import Pace
from regard.training.progress import Progress
from regard.training.report import Report
from regard.training.schedule import FALL, NO_END, decided, expected_end, left, prolonged, rate_at, updates
from regard.weights import about_weights


def of_plan(plan: Recipe, **settings) -> Recipe:
    return replace(plan, train=replace(plan.train, **settings))


def tensors(path, name="checkpoint"):
    return load_file(path / f"{name}.safetensors")


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


# ---- plans as values


@given(st.integers(2, 400), st.integers(0, 50))
def test_a_cool_down_stays_at_the_top_and_then_falls_to_nearly_nothing(steps, warmup):
    settings = Train(steps=steps, schedule="cooldown", warmup=warmup, rate=0.5)
    progress, rates = Progress(), []
    for step in range(steps):
        progress = replace(decided(replace(progress, step=step), Pace(), settings), step=step)
        rates.append(rate_at(step, settings, progress))
    fall = steps - max(1, round(FALL * steps))
    assert (progress.fall, progress.end) == (fall, steps)
    assert all(rate == 0.5 for rate in rates[warmup : fall + 1])
    behind = rates[max(fall, warmup) :]
    assert all(now > then for now, then in pairwise(behind))
    assert rates[-1] > 0
    half = fall + (steps - fall) / 4
    if half == int(half) and half >= warmup:
        assert rates[int(half)] == pytest.approx(0.5 * (1 - 0.5)), "1 − √¼"


def test_bounds_are_bounds_whichever_comes_first():
    assert updates(Train(steps=30), 7) == 30
    assert updates(Train(epochs=2), 7) == 14
    assert updates(Train(epochs=0.3), 10) == 3
    assert updates(Train(steps=30, epochs=2), 7) == 14
    assert updates(Train(minutes=3), 7) == NO_END
    assert updates(Train(minutes=3, steps=5), 7) == 5


@given(st.floats(1, 100), st.floats(0.1, 5), st.floats(0, 20), st.integers(1, 50))
def test_minutes_are_kept_and_a_fifth_of_them_is_for_the_fall(minutes, each, look, evaluate):
    settings = Train(minutes=minutes, steps=NO_END, evaluate=evaluate)
    progress, pace = Progress(), Pace()
    while not progress.end or progress.step < progress.end:
        progress = decided(progress, pace, settings)
        if progress.end and progress.step >= progress.end:
            break
        pace = pace.updated(1, each)
        progress = replace(progress, step=progress.step + 1, seconds=progress.seconds + each)
        if progress.step % evaluate == 0 or progress.step == progress.end:
            pace = pace.looked(look)
            progress = replace(progress, seconds=progress.seconds + look)
        assert left(progress, pace, settings) >= 0
        assert expected_end(progress, pace, settings) >= progress.step
        if progress.step > 5000:
            return
    budget, slack = 60 * minutes, 2 * each + 3 * look
    assert progress.seconds <= budget + slack
    if evaluate * each + look < budget / 20:  # enough of them that one more or less means little
        assert progress.seconds >= 0.8 * budget - slack
        assert progress.fall / progress.end == pytest.approx(1 - FALL, abs=0.1)


def test_what_counts_as_longer():
    assert prolonged({"steps": 10}, Train(steps=11))
    assert not prolonged({"steps": 10}, Train(steps=10))
    assert not prolonged({"steps": 10}, Train(steps=9))
    assert prolonged({"minutes": 1.0, "steps": 0, "epochs": 0.0}, Train(minutes=2))
    assert not prolonged({"minutes": 1.0}, Train(minutes=1, steps=7))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"minutes": 3, "schedule": "cosine"}, "schedule 'cosine' must know the last update"),
        ({"minutes": 3, "student": 0.5}, "student rises up to the last update"),
        ({"epochs": -1.0}, "epochs must be a number from 0 up, found -1.0"),
        ({"ema": 1.0}, "ema must be at least 0 and below 1, found 1.0"),
    ],
)
def test_plans_that_cannot_be(settings, said):
    with pytest.raises(UserError, match=said):
        Train(**settings)


# ---- runs


@pytest.mark.parametrize("name", ["lm-lstm", "seq2seq-transformer"])
@pytest.mark.parametrize("step", [3, 13, 17])
def test_a_cool_down_goes_on_exactly(name, step, tmp_path):
    plan = recipe(tmp_path, name, schedule="cooldown", ema=0.9)
    quietly(plan, tmp_path / "whole")
    killed_after(step, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    assert same(*(tensors(tmp_path / name, "before-fall") for name in ("whole", "broken")))


@pytest.mark.parametrize("name", ["lm-lstm", "seq2seq-transformer"])
@pytest.mark.parametrize("first", [9, 10])
def test_more_time_goes_on_as_if_it_had_always_been_planned(name, first, tmp_path):
    """Also where the rate had begun to fall, and where it had reached its end."""
    plan = recipe(tmp_path, name, schedule="cooldown", ema=0.9, average=2)
    quietly(plan, tmp_path / "whole")
    if first == 9:
        stopped_after(first, of_plan(plan, steps=10), tmp_path / "longer")
    else:
        quietly(of_plan(plan, steps=first), tmp_path / "longer")
    quietly(plan, tmp_path / "longer")
    assert same(*(tensors(tmp_path / name) for name in ("whole", "longer")))
    assert [e["loss"] for e in log_of(tmp_path / "whole")] == [e["loss"] for e in log_of(tmp_path / "longer")]


def test_answers_do_not_get_worse_by_more_time(tmp_path, monkeypatch):
    """The look at the end of the first fall stays the best until one is better."""
    plan = recipe(tmp_path, "lm-rnn", schedule="cooldown", steps=10, evaluate=4)
    look, losses = Training.look, {4: 3.0, 8: 2.5, 10: 1.0, 12: 2.0, 16: 1.5, 20: 0.5}
    monkeypatch.setattr(Training, "look", lambda self: look(self) | {"loss": losses[self.progress.step]})
    weights = Folder(tmp_path / "run").weights
    quietly(plan, tmp_path / "run")
    assert about_weights(weights)["step"] == 10
    killed_after(9, of_plan(plan, steps=20), tmp_path / "run")  # from 8 to 17, behind the look at 16
    assert about_weights(weights)["step"] == 10
    quietly(None, tmp_path / "run")
    assert about_weights(weights)["step"] == 20


class Clock:
    """Each update takes a second, and nothing else takes any time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found, update = Clock(), Training.update

    def slow(self: Training) -> float:
        found.now += 1.0
        return update(self)

    monkeypatch.setattr(Training, "update", slow)
    return found


def timed(plan, path, clock):
    return train(plan, path, Report(quiet=True, clock=clock))


def test_a_plan_in_minutes_ends_in_time_and_goes_on_exactly(tmp_path, clock):
    plan = recipe(tmp_path, "lm-lstm", steps=0, minutes=1 / 3, checkpoint=100)
    timed(plan, tmp_path / "whole", clock)
    entries = log_of(tmp_path / "whole")
    assert entries[-1]["step"] == 20
    assert [entry["rate"] for entry in entries][-2:] < [0.01, 0.01]
    assert load_config(tmp_path / "whole").steps == 0, "no number of updates was promised"
    update, left_of = Training.update, [18]

    def dies(self: Training) -> float:
        if not left_of[0]:
            raise KeyboardInterrupt
        left_of[0] -= 1
        return update(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "update", dies)
        with pytest.raises(KeyboardInterrupt):
            timed(plan, tmp_path / "broken", clock)
    timed(None, tmp_path / "broken", clock)
    assert same(*(tensors(tmp_path / name) for name in ("whole", "broken")))
    timed(of_plan(plan, minutes=2 / 3), tmp_path / "whole", clock)
    timed(of_plan(plan, minutes=2 / 3), tmp_path / "long", clock)
    assert log_of(tmp_path / "whole")[-1]["step"] == log_of(tmp_path / "long")[-1]["step"] == 40
    assert same(*(tensors(tmp_path / name) for name in ("whole", "long")))


def load_config(path) -> Train:
    return Folder(path).read_config().train


def test_epochs_are_whole_passes(tmp_path):
    plan = recipe(tmp_path, "seq2seq-transformer", steps=0, epochs=2)
    run = quietly(plan, tmp_path / "run")
    batches = run.task.batches(run.material.train, run.recipe.train, False)
    assert log_of(tmp_path / "run")[-1]["step"] == 2 * batches.per_epoch


# ---- the mean


@given(st.floats(0.05, 0.99), st.integers(1, 30))
def test_the_mean_is_that_of_its_definition(beta, number):
    model = nn.Linear(3, 2).double()
    average, seen = Average(model, beta), []
    for step in range(1, number + 1):
        with torch.no_grad():
            model.weight.normal_()
        average.update(step)
        seen.append(model.weight.detach().clone())
    shares = torch.tensor([(1 - beta) * beta ** (number - i) for i in range(1, number + 1)], dtype=torch.double)
    wanted = (shares[:, None, None] * torch.stack(seen)).sum(0) / shares.sum()
    torch.testing.assert_close(average.tensors["weight"], wanted)
    with average.in_place():
        torch.testing.assert_close(model.weight.detach(), wanted)
    assert torch.equal(model.weight, seen[-1])


def test_the_run_answers_with_the_mean_and_looks_judge_by_it(tmp_path):
    plan = recipe(tmp_path, "lm-lstm", schedule="constant", ema=0.9)
    run = quietly(plan, tmp_path / "run")
    saved = tensors(tmp_path / "run")
    means = {name.removeprefix("average."): mean for name, mean in saved.items() if name.startswith("average.")}
    assert about_weights(run.folder.weights)["step"] == 20, "the last look was the best"
    weights = tensors(tmp_path / "run", "model")
    assert means
    assert all(torch.equal(weights[name], mean) for name, mean in means.items())
    assert not all(torch.equal(saved[f"model.{name}"], mean) for name, mean in means.items())
    found = run.evaluate()
    assert found["loss"] == pytest.approx(log_of(tmp_path / "run")[-1]["held_out"]["loss"], abs=1e-4)


def test_without_it_nothing_is_kept(tmp_path):
    average = Average(nn.Linear(3, 2), 0.0)
    average.update(1)
    with average.in_place():
        assert average.tensors == {}
