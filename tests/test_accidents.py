"""Accidents in training, a full disk, a loss that is no number or Ctrl-C: what is on the disk stays whole."""

import os
import re
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import refusals
import tiny
import torch
from refusals import write_recipe
from safetensors.torch import save_file
from tiny import differences

from regard.cli import main
from regard.training.checkpoint import load_checkpoint
from regard.training.loop import Training
from regard.weights import about_weights

pytestmark = pytest.mark.usefixtures("here")
said, refused = refusals.said, refusals.refused


def leftovers() -> list[Path]:
    return list(Path.cwd().rglob("*.partial"))


# Full disks


def fails_the(number: int, write_file):
    """A writer that finds the disk full at its n-th file, half-way through."""
    written = []

    def write_some(tensors, path, metadata=None):
        written.append(path)
        if len(written) == number:
            Path(path).write_bytes(b"half a check")
            raise OSError(28, os.strerror(28))
        write_file(tensors, path, metadata)

    return write_some


def test_a_full_disk_in_the_middle_of_a_checkpoint(refused, said, monkeypatch):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    assert said("train", name, "--run", "whole")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.save_file", fails_the(2, save_file))
        assert refused("train", name, "--run", "r") == (
            "cannot write r/checkpoint.safetensors: No space left on device; the earlier one is untouched; "
            "check the folder and the space left on it"
        )
    assert load_checkpoint(Path("r/checkpoint.safetensors")).progress.step == 3
    assert leftovers() == []
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []


@contextmanager
def files_no_larger_than(size: int):
    """A disk that really refuses: the system's own limit on the size of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_really_refuses(refused, said):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    with files_no_larger_than(20_000):
        text = refused("train", name, "--run", "r")
    assert re.fullmatch(
        r"cannot write r/checkpoint.safetensors: .*File too large.*; check the folder and the space left on it", text
    )
    assert leftovers() == []
    assert not Path("r/checkpoint.safetensors").exists()
    assert said("train", "r")[0] == 0


# No number


def test_a_loss_that_is_no_number(refused, said, monkeypatch):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    assert said("train", name, "--run", "whole")[0] == 0
    update = Training.update

    def overflows(self):
        if self.progress.step == 7:
            with torch.no_grad():
                next(self.model.parameters())[:] = float("inf")
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", overflows)
        assert refused("train", name, "--run", "r") == (
            "the loss is no longer a number at step 8; the last good checkpoint is in r; try a lower train.rate "
            "(now 0.01), a longer train.warmup (now 4) or a smaller train.clip (now 1.0)"
        )
    saved = load_checkpoint(Path("r/checkpoint.safetensors"))
    assert saved.progress.step == 6
    assert all(tensor.isfinite().all() for tensor in saved.model.values())
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []


def test_an_absurd_rate(refused):
    settings = {"rate": 1e30, "clip": 1e30, "warmup": 0, "checkpoint": 50, "evaluate": 50}
    text = refused("train", write_recipe("lm-transformer", **settings), "--run", "r")
    assert re.fullmatch(
        r"the loss is no longer a number at step \d+; nothing is lost; try a lower train.rate \(now 1e\+30\), "
        r"a longer train.warmup \(now 0\) or a smaller train.clip \(now 1e\+30\)",
        text,
    )


# Ctrl-C


def test_control_c_checkpoints_and_says_how_to_go_on():
    name = write_recipe("lm-lstm", steps=3000, evaluate=10, checkpoint=10_000, schedule="constant")
    words = tiny.command("train", name, "--run", "r")
    with subprocess.Popen(words, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "held out" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    saved = load_checkpoint(Path("r/checkpoint.safetensors"))
    assert "Traceback" not in rest
    words = (
        r"finishing this step, then a last look of about \d+ seconds? \(Ctrl-C again to stop at once\)\n"
        rf"regard: stopped at step {saved.progress.step:,}; answers come from step [\d,]+; go on with: regard train r\n"
    )
    assert re.search(words + r"\Z", rest)
    assert 10 <= saved.progress.step < 3000
    assert leftovers() == []
    steps = str(saved.progress.step + 7)
    for run in ("whole", "r"):  # to the same step, once in one piece and once behind the stop
        assert main(["train", name, "--run", run, "--train.steps", steps]) == 0
    assert differences(Path("whole"), Path("r")) == []


def test_control_c_changes_nothing(said, monkeypatch):
    name, before = write_recipe("lm-lstm"), signal.getsignal(signal.SIGINT)
    assert said("train", name, "--run", "whole")[0] == 0
    update = Training.update

    def stopped(self):
        if self.progress.step == 10:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", stopped)
        code, text = said("train", name, "--run", "r")
    assert code == 130
    assert re.search(
        r"finishing this step, then a last look of about \d+ seconds? \(Ctrl-C again to stop at once\)\n"
        r"regard: stopped at step 11; answers come from step 11; go on with: regard train r\n\Z",
        text,
    )
    assert about_weights(Path("r/model.safetensors"))["step"] == 11
    assert load_checkpoint(Path("r/checkpoint.safetensors")).progress.step == 11
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []
    assert signal.getsignal(signal.SIGINT) is before


def test_control_c_twice_stops_at_once(said, monkeypatch):
    def stopped(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Training, "update", stopped)
    assert said("train", write_recipe("lm-lstm"), "--run", "r")[0] == 130
    assert not Path("r/checkpoint.safetensors").exists()


def test_control_c_in_the_last_look_leaves_it_out(said, monkeypatch):
    """The checkpoint is written before, so nothing is lost but the look."""
    name = write_recipe("lm-lstm")
    assert said("train", name, "--run", "whole")[0] == 0
    update, look = Training.update, Training.look

    def stopped(self):
        if self.progress.step == 10:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    def again(self):
        if self.stop.asked:
            signal.raise_signal(signal.SIGINT)
        return look(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", stopped)
        patch.setattr(Training, "look", again)
        code, text = said("train", name, "--run", "r")
    assert code == 130
    assert text.endswith("regard: stopped at step 11; answers come from step 8; go on with: regard train r\n")
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []


@pytest.mark.parametrize(
    ("at", "answers"), [(3, "there is nothing to answer with yet"), (10, "answers come from step 8")]
)
def test_whoever_runs_the_machine_may_end_it(at, answers, said, monkeypatch):
    """SIGTERM, from a cluster or from systemd: it is in a hurry, so there is no look."""
    name, before = write_recipe("lm-lstm", checkpoint=100), signal.getsignal(signal.SIGTERM)
    assert said("train", name, "--run", "whole")[0] == 0
    update = Training.update

    def ended(self):
        if self.progress.step == at - 1:
            signal.raise_signal(signal.SIGTERM)
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", ended)
        code, text = said("train", name, "--run", "r")
    assert code == 143
    assert text.endswith(
        "asked to end: finishing this step, then a checkpoint\n"
        f"regard: stopped at step {at}; {answers}; go on with: regard train r\n"
    )
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []
    assert signal.getsignal(signal.SIGTERM) is before
