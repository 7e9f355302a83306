"""How long a training will take, and what is said on the way: by a clock that is turned by hand."""

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tiny import recipe
from trainings import stopped_after

from regard.config import Train
from regard.folder import Folder
from regard.training.loop import Training, train
from regard.training.pace import Pace, in_words
from regard.training.report import SILENCE, Moment, Report


class Clock:
    """Time passes only where it is said to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def spent(monkeypatch):
    """A clock, and what each update and each look takes by it."""
    clock, takes = Clock(), {"update": 2.0, "look": 0.0}
    update, look = Training.update, Training.look

    def updated(self):
        clock.now += takes["update"] * (50 if self.progress.step == 0 else 1)  # the first one always takes long
        return update(self)

    def looked(self):
        clock.now += takes["look"]
        return look(self)

    monkeypatch.setattr(Training, "update", updated)
    monkeypatch.setattr(Training, "look", looked)
    return clock, takes


def said(plan, path, clock) -> list[str]:
    report = Report(clock=clock)
    report.console = Console(file=(heard := io.StringIO()), highlight=False)
    train(plan, path, report)
    return heard.getvalue().splitlines()


def test_after_twenty_updates_it_is_said_how_long_all_will_take(tmp_path, spent):
    clock, _ = spent
    plan = recipe(tmp_path, "lm-rnn", steps=40, evaluate=30)
    lines = said(plan, tmp_path / "run", clock)
    whole = 50 * 2 + 19 * 2 + 20 * 2  # the first update counts as it was, the others as the middle one
    assert f"about {in_words(whole)} for 40 updates, looks not counted yet" in lines
    assert [line for line in lines if line.startswith("about ")] == [
        f"about {in_words(whole)} for 40 updates, looks not counted yet",
        f"about {in_words(whole)} for 40 updates, looks included",
    ]


def test_looks_count_as_soon_as_one_was_taken(tmp_path, spent):
    clock, takes = spent
    takes["look"] = 600.0
    plan = recipe(tmp_path, "lm-rnn", steps=40, evaluate=10)
    (line,) = [line for line in said(plan, tmp_path / "run", clock) if line.startswith("about ")]
    assert line == "about 43 minutes for 40 updates, looks included"  # four looks of ten minutes, and 178 seconds


def test_a_run_that_goes_on_counts_what_is_left(tmp_path, spent):
    clock, _ = spent
    plan = recipe(tmp_path, "lm-rnn", steps=60, evaluate=100)
    stopped_after(30, plan, tmp_path / "run")
    lines = said(plan, tmp_path / "run", clock)
    assert "about 60 seconds for 30 updates, looks not counted yet" in lines


def test_off_a_terminal_nobody_waits_long_for_a_line(tmp_path, spent):
    clock, takes = spent
    takes["update"] = 7.0
    plan = recipe(tmp_path, "lm-rnn", steps=60, evaluate=20)
    lines = said(plan, tmp_path / "run", clock)
    steps = [line for line in lines if re.match(r"step \d+ of 60: ", line)]
    assert len(steps) >= 60 * 7 / 30 - 4  # looks and estimates are lines as well
    assert re.fullmatch(r"step 4 of 60: loss \d\.\d{3}  \d+ tokens/s  about 7 minutes left", steps[0])
    assert any(line.endswith("answers come from step 20") for line in steps)
    assert SILENCE + 7.0 <= 30


@pytest.mark.parametrize(("step", "left"), [(7, "about 6 seconds left, answers: step 4"), (8, "")])
def test_on_a_terminal_the_bar_has_the_time_left(step, left):
    """Its last picture is certain; what it shows before depends on when it is drawn."""
    report = Report()
    report.console = Console(file=(heard := io.StringIO()), force_terminal=True, width=200, highlight=False)
    report.begin(8, 0)
    report.step(Moment(step, 8, loss=2.5, speed=100.0, left=6.0, answers_from=4))
    report.end()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", heard.getvalue())
    assert f"step {step}/8 loss 2.500  100 tokens/s  held out … {left}".rstrip() in plain
    assert ("left" in plain) == bool(left)


@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 90))
def test_time_left_is_that_of_each_update_and_each_look_to_come(step, steps, evaluate):
    settings = Train(steps=steps, evaluate=evaluate)
    pace = Pace().updated(10, 50.0).updated(10, 2.0).updated(10, 2.0).looked(3.0).looked(5.0)
    to_come = range(step + 1, steps + 1)
    looks = sum(at % evaluate == 0 or at == steps for at in to_come)
    assert pace.left(step, settings) == 2.0 * len(to_come) + 4.0 * looks


def test_a_pace_is_that_of_the_latest_updates():
    pace = Pace()
    for seconds in [9.0] * 100 + [1.0] * 100:
        pace = pace.updated(50, seconds)
    assert pace.speed == 50
    assert pace.left(0, Train(steps=10, evaluate=100)) == 10
    assert Pace().left(0, Train(steps=10)) == 0


@pytest.mark.parametrize(("seconds", "words"), [
    (0.2, "1 second"), (1.4, "1 second"), (59, "59 seconds"), (119, "119 seconds"), (121, "2 minutes"),
    (3300, "55 minutes"), (7199, "120 minutes"), (12_240, "3.4 hours"), (90_000, "25 hours"), (190_000, "2.2 days"),
])  # fmt: skip
def test_a_time_in_words(seconds, words):
    assert in_words(seconds) == words


def test_speed_counts_what_was_read(tmp_path, spent):
    """A classifier wants one token of each text; its speed is not that of labels."""
    clock, _ = spent
    plan = recipe(tmp_path, "classifier-lstm", steps=3, evaluate=3)
    plan = replace(plan, train=replace(plan.train, batch=100_000))  # all of it in each update
    source, target = train(plan, tmp_path / "run", Report(quiet=True, clock=clock)).material.train
    read = len(source.tokens) + len(source) + len(target)  # a stop behind each text, a start before each label
    assert Folder(tmp_path / "run").read_log()[-1]["tokens_per_second"] == round(3 * read / (100 + 2 + 2))
