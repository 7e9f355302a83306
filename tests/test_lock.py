"""Two trainings in one folder: the second is refused in one line, a dead one is in nobody's way."""

import json
import re
import signal
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import refusals
import tiny
from refusals import write_recipe

from regard import load
from regard.errors import UserError
from regard.training import lock
from regard.training.lock import locked
from regard.training.loop import train

pytestmark = pytest.mark.usefixtures("here")
said, refused = refusals.said, refusals.refused


@contextmanager
def training_elsewhere(*words: str):
    """Another process that trains and has looked once; it is killed at the end."""
    started = tiny.command("train", *words)
    with subprocess.Popen(started, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if "held out" in line:
                    break
            yield process
        finally:
            process.kill()
            process.stderr.read()
            assert process.wait() == -signal.SIGKILL


def test_a_second_training_in_one_folder(refused, said):
    """And while the first goes on, its run answers; when it is killed, the second goes on."""
    name = write_recipe("lm-lstm", steps=100_000, evaluate=2, checkpoint=10_000, schedule="constant")
    with training_elsewhere(name, "--run", "r") as first:
        text = refused("train", name, "--run", "r")
        assert re.fullmatch(
            rf"r is being trained already, by process {first.pid} on {re.escape(socket.gethostname())} "
            r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d; wait for it, stop it, "
            r"or choose another folder with --run",
            text,
        )
        assert refused("train", "r") == text
        for _ in range(30):  # its weights change all the time, each time as a whole
            assert load("r").write("day", length=2, seed=0)
    assert Path("r/.lock").exists()
    assert said("train", "r", "--train.steps", "1")[0] == 0
    assert not Path("r/.lock").exists()


def test_a_lock_is_let_go():
    with locked(Path("a/b")):
        assert Path("a/b/.lock").exists()
        with pytest.raises(UserError, match="a/b is being trained already, by process"), locked(Path("a/b")):
            pass
    assert not Path("a").exists()
    with pytest.raises(UserError, match="none is not a run"):
        train(None, Path("none"))
    assert not Path("none").exists()


def test_who_holds_it_may_not_have_said_so_yet():
    with locked(Path("r")):
        Path("r/.lock").write_text("")
        with pytest.raises(UserError, match=r"^r is being trained already; wait for it"), locked(Path("r")):
            pass


def test_a_lock_that_was_let_go_meanwhile_is_not_taken_for_ours(monkeypatch):
    """Who waited with the old file in hand would else hold a file that nobody sees."""
    hold = lock._hold

    def let_go(file, path):
        hold(file, path)
        monkeypatch.setattr(lock, "_hold", hold)
        path.unlink()

    monkeypatch.setattr(lock, "_hold", let_go)
    with locked(Path("r")):
        assert json.loads(Path("r/.lock").read_text())["host"] == socket.gethostname()
        with pytest.raises(UserError, match="being trained"), locked(Path("r")):
            pass


@pytest.mark.parametrize(("host", "process", "free"), [("here", "dead", True), ("here", "alive", False),
                                                        ("elsewhere", "dead", False), ("", "", True)])  # fmt: skip
def test_a_disk_without_locks(host, process, free, monkeypatch):
    """There what is written must do, and the one line says how to get past it."""

    def none(file, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    Path("r").mkdir()
    if host:
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        number = gone.pid if process == "dead" else 1
        name = socket.gethostname() if host == "here" else host
        Path("r/.lock").write_text(json.dumps({"host": name, "process": number, "since": "today"}))
    if free:
        with locked(Path("r")):
            pass
        return
    text = rf"r is being trained already, by process {number} on {name} since today; .*; if it is gone, delete r/.lock"
    with pytest.raises(UserError, match=text), locked(Path("r")):
        pass


def test_a_folder_that_cannot_be_written(monkeypatch):
    Path("taken").write_text("something else")
    with pytest.raises(UserError, match=r"^cannot write taken/.lock: .*; check the folder"), locked(Path("taken")):
        pass
