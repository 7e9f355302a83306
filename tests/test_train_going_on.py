"""Training goes on exactly where it stopped, whatever stopped it."""

import random
import signal
import subprocess
import time
from dataclasses import replace

import pytest
import tiny
import torch
from safetensors.torch import load_file
from tiny import differences, log_of, recipe
from trainings import FAMILIES, Killed, held_out_losses, killed_after, quietly, stopped_after

from regard.folder import Folder
from regard.runs import load_run
from regard.training.checkpoint import load_checkpoint
from regard.training.loop import Training
from regard.weights import about_weights


@pytest.mark.parametrize("name", FAMILIES)
def test_going_on_is_exact(name, tmp_path):
    """Stopped thrice, once before the first checkpoint: the same weights, memory and log to the last bit."""
    plan = recipe(tmp_path, name)
    quietly(plan, tmp_path / "whole")
    killed_after(2, plan, tmp_path / "broken")
    assert not Folder(tmp_path / "broken").checkpoint.exists()
    killed_after(7, None, tmp_path / "broken")
    killed_after(6, None, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


WORSE = {"rate": 0.5, "warmup": 0, "schedule": "constant"}  # so that looks are not each better than the last


@pytest.mark.parametrize("settings", [
    {}, {"metric": "bleu"}, {"average": 2}, {"average": 2, "average_of": "best", "metric": "bleu"},
    {"patience": 2, **WORSE}, {"metric": "exact", **WORSE},
])  # fmt: skip
def test_a_last_look_changes_nothing_that_follows(settings, tmp_path, monkeypatch):
    """Stopped at steps that are looked at and at others, also twice between two looks: log, weights, mean, patience."""
    monkeypatch.setattr("regard.training.loop.ANSWERS", 10)
    plan = recipe(tmp_path, "seq2seq-rnn-attention", evaluate=4, **settings)
    quietly(plan, tmp_path / "whole")
    last = log_of(tmp_path / "whole")[-1]["step"]
    for step in range(1, last, 3 if last > 12 else 1):
        stopped_after(step, plan, tmp_path / "broken")
        assert load_run(tmp_path / "broken").trained_model()
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    assert not Folder(tmp_path / "broken").before_stop.exists()


def test_the_last_look_is_answered_with_until_a_look_says_otherwise(tmp_path, monkeypatch):
    """The best so far answers; what was best before a stop comes back where no regular look is better than that."""
    plan = recipe(tmp_path, "lm-rnn", steps=12, evaluate=4)
    look, losses = Training.look, {4: 3.0, 6: 2.0, 7: 2.5, 8: 3.5, 10: 4.0, 12: 2.9}
    monkeypatch.setattr(Training, "look", lambda self: look(self) | {"loss": losses[self.progress.step]})
    folder = Folder(tmp_path / "run")

    def answers_from() -> int:
        return about_weights(folder.weights)["step"]

    stopped_after(6, plan, folder.path)
    assert (answers_from(), about_weights(folder.before_stop)["step"]) == (6, 4)
    stopped_after(7, None, folder.path)  # worse than what answers, though better than any look
    assert (answers_from(), about_weights(folder.before_stop)["step"]) == (6, 4)
    stopped_after(10, None, folder.path)  # behind the look at 8, which was not the best
    assert answers_from() == 4
    assert not folder.before_stop.exists()
    quietly(None, folder.path)
    assert answers_from() == 12


def test_going_on_is_exact_behind_a_checkpoint_that_never_came(tmp_path, monkeypatch):
    """The log and the best weights are written first: both are ahead of the checkpoint then."""
    plan = recipe(tmp_path, "lm-gru", average=2)
    quietly(plan, tmp_path / "whole")
    checkpoint = Training.checkpoint

    def dies(self: Training) -> None:
        if self.progress.step == 8:
            raise Killed
        checkpoint(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "checkpoint", dies)
        with pytest.raises(Killed):
            quietly(plan, tmp_path / "broken")
    assert log_of(tmp_path / "broken")[-1]["step"] == 8
    killed_after(1, None, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


@pytest.mark.parametrize(
    "settings",
    [
        {"optimiser": "adamw", "student": 0.5},
        {"optimiser": "muon", "consistency": 2.0, "cut": 0.2},
    ],
)
def test_going_on_is_exact_with_everything_switched_on(settings, tmp_path):
    usual = {"accumulate": 3, "average": 2, "smoothing": 0.1, "schedule": "inverse-square-root"}
    plan = recipe(tmp_path, "lm-gru", **usual, **settings)
    quietly(plan, tmp_path / "whole")
    killed_after(11, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


def test_a_finished_run_has_nothing_more_to_do(tmp_path):
    quietly(recipe(tmp_path, "lm-rnn", average=2), tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.safetensors")}
    quietly(None, tmp_path / "run")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.safetensors")} == before


def test_more_steps_go_on_from_the_last(tmp_path):
    plan = recipe(tmp_path, "lm-lstm", schedule="constant", steps=16)
    quietly(plan, tmp_path / "whole")
    quietly(replace(plan, train=replace(plan.train, steps=8)), tmp_path / "longer")
    quietly(plan, tmp_path / "longer")
    assert held_out_losses(tmp_path / "whole") == held_out_losses(tmp_path / "longer")
    whole, longer = (load_file(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "longer"))
    assert all(torch.equal(whole[key], longer[key]) for key in whole)


@pytest.mark.parametrize("changes", [{"batch": 320}, {"batch": 48}, {"length": 8}, {"accumulate": 5}])
@pytest.mark.parametrize("accumulate", [1, 12])
def test_going_on_in_other_batches(changes, accumulate, tmp_path):
    """How a run trains may change; what a row remembers is of no use where there are other rows."""
    plan = recipe(tmp_path, "lm-lstm", steps=12, accumulate=accumulate)
    killed_after(6, plan, tmp_path / "run")
    quietly(replace(plan, train=replace(plan.train, **changes)), tmp_path / "run")
    assert log_of(tmp_path / "run")[-1]["step"] == 12


def test_killed_without_warning_at_any_moment(tmp_path):
    """The training has no end in sight: however late the kill comes, it comes before."""
    plan = recipe(tmp_path, "lm-lstm", steps=1_000_000, evaluate=6, schedule="constant")
    broken = Folder(tmp_path / "broken")
    quietly(replace(plan, train=replace(plan.train, steps=1)), broken.path)  # prepares the folder
    for path in broken.path.glob("*.safetensors"):
        path.unlink()
    broken.log.unlink()
    broken.write_config(plan)
    choose = random.Random(0)
    for _ in range(2):
        words = tiny.command("train", broken.path)
        with subprocess.Popen(words, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "parameters" in line:
                    break
            time.sleep(choose.uniform(0, 0.3))
            process.kill()
            assert process.wait() == -signal.SIGKILL
    reached = load_checkpoint(broken.checkpoint).progress.step if broken.checkpoint.exists() else 0
    to_its_end = replace(plan, train=replace(plan.train, steps=reached + 7))
    for path in (tmp_path / "whole", broken.path):
        quietly(to_its_end, path)
    assert differences(tmp_path / "whole", broken.path) == []
    assert list(broken.path.rglob("*.partial")) == []


def test_what_a_killed_process_left_half_written_is_swept_away(tmp_path):
    plan = recipe(tmp_path, "lm-rnn", steps=2)
    quietly(plan, tmp_path / "run")
    for name in (".checkpoint.safetensors.123.partial", "tokens/.train.tokens.7.partial"):
        (tmp_path / "run" / name).write_bytes(b"half")
    quietly(None, tmp_path / "run")
    assert list((tmp_path / "run").rglob("*.partial")) == []
