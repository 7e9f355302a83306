"""How long to train where nobody says: by the amount of data, once, when it is prepared."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import recipe
from trainings import killed_after, quietly

from regard.cli import main
from regard.config import recipe_from, to_table
from regard.folder import Folder
from regard.tasks import TASKS
from regard.tasks.task import FEWEST, MOST
from regard.training.prepare import prepare

tasks = st.sampled_from(sorted(TASKS))
amounts = st.integers(1, 10**10)


@given(tasks, amounts, amounts, st.integers(1, 10**5))
def test_more_data_is_never_trained_on_for_less(name, tokens, more, batch):
    steps, longer = (TASKS[name].default_steps(amount, batch) for amount in (tokens, tokens + more))
    assert FEWEST <= steps <= longer <= MOST


@given(tasks, amounts, st.integers(1, 10**5))
def test_ten_times_the_data_is_read_less_often(name, tokens, batch):
    few, many = (TASKS[name].default_steps(amount, batch) for amount in (tokens, 10 * tokens))
    if few > FEWEST and many < MOST:
        assert many - 50 <= 10 * (few + 50)  # in epochs, within what rounding to hundreds gives
        assert few * batch / tokens <= 80 + 50 * batch / tokens


def test_a_handful_of_words_and_a_million_sentences_are_not_trained_alike():
    """What used to be 3,000 for both; and 29,000 captions as their published recipes have it, within 8,000."""
    assert TASKS["pairs"].default_steps(800 * 14, 4096) == FEWEST
    assert TASKS["pairs"].default_steps(1_000_000 * 25, 4096) == MOST
    assert 4_000 < TASKS["pairs"].default_steps(29_000 * 27, 4096) < 8_000


def test_it_is_written_down_said_and_kept(tmp_path, capsys):
    plan = recipe(tmp_path, "lm-rnn", steps=0)
    killed_after(3, plan, tmp_path / "run")
    written = Folder(tmp_path / "run").read_config()
    tokens = TASKS["text"].material(Folder(tmp_path / "run")).train_tokens
    assert written.train.steps == TASKS["text"].default_steps(tokens, plan.train.batch)
    killed_after(2, plan, tmp_path / "run")  # the same recipe again, which still says nothing of steps
    assert Folder(tmp_path / "run").read_config() == written
    assert main(["train", str(tmp_path / "run"), "--train.steps", "6"]) == 0
    assert "6 updates, " in capsys.readouterr().err
    assert Folder(tmp_path / "run").read_config().train.steps == 6


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_an_explicit_number_stays_as_it_is(steps, tmp_path):
    run = quietly(recipe(tmp_path, "seq2seq-gru-attention", steps=steps), tmp_path / "run")
    assert run.recipe.train.steps == steps
    assert recipe_from(to_table(run.recipe)) == run.recipe


@given(tasks, amounts, amounts)
def test_more_data_never_gets_smaller_batches_or_more_dropout(name, tokens, more):
    few, many = (TASKS[name].amount(amount) for amount in (tokens, tokens + more))
    assert few.batch <= many.batch
    assert few.smoothing >= many.smoothing
    assert all(a.layers <= b.layers and a.dropout >= b.dropout for a, b in [(few.transformer(), many.transformer())])


def test_what_is_left_open_follows_the_data_is_said_and_kept(tmp_path):
    """Also where the same recipe comes again; what is said wins, also where it is what other data would get."""
    plan = replace(recipe(tmp_path, "seq2seq-gru-attention", batch=0, steps=2), model="transformer")
    row = TASKS["pairs"].amount(1)
    lines = list(prepare(Folder(tmp_path / "run"), plan))
    written = Folder(tmp_path / "run").read_config().train
    assert (written.batch, written.smoothing) == (row.batch, row.smoothing) == (1024, 0.1)
    assert "3 layers of 128, dropout 0.3, smoothing 0.1, 1,024 tokens an update" in lines[-1]
    assert quietly(plan, tmp_path / "run").recipe.train == written
    (*_, line) = prepare(Folder(tmp_path / "bounded"), replace(plan, train=replace(plan.train, minutes=4.0)))
    assert line == f"{lines[-1]}; minutes bound the training and leave the size as it is"
    list(prepare(Folder(tmp_path / "cells"), replace(plan, model="gru")))
    assert Folder(tmp_path / "cells").read_config().train.batch == 4096
    said = replace(plan, train=replace(plan.train, batch=4096, smoothing=0.0))
    list(prepare(Folder(tmp_path / "other"), said))
    assert Folder(tmp_path / "other").read_config().train == said.train


def test_a_model_section_trains_as_before(tmp_path):
    lines = list(prepare(Folder(tmp_path / "run"), recipe(tmp_path, "seq2seq-gru-attention", batch=0)))
    written = Folder(tmp_path / "run").read_config().train
    assert (written.batch, written.smoothing) == (4096, 0.0)
    assert not any("tokens an update" in line for line in lines)
