"""`regard translate`, `write` and `score` in a process of their own: streams, pipes, disks and signals."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import tiny
import typed

run = typed.run
HEEDING = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # Ctrl-C, also where tests run in the background


# Streams


def test_ten_thousand_lines_take_no_more_memory_than_a_thousand(run):
    """The peak, in kilobytes, as the system counts it."""
    script = (
        "import resource, sys; from regard.cli import main; main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )

    def peak(lines: int) -> int:
        words = [sys.executable, "-c", script, "translate", str(run("pairs")), "--beam", "1", "--max-length", "2"]
        with subprocess.Popen(words, env=tiny.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:  # fmt: skip
            out, err = process.communicate(b"one two three\n\nfour\n" * (lines // 3 + 1))
        assert out.count(b"\n") == 3 * (lines // 3 + 1)
        return int(err)

    assert peak(10_000) < peak(1_000) + 20_000


def test_text_is_shown_as_it_is_made(run):
    """The first characters are there long before the last ones are made."""
    words = tiny.command("write", run("lm"), "--prompt", "the ", "--length", "1000000", "--choose", "argmax")
    with subprocess.Popen(words, env=tiny.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=HEEDING) as process:  # fmt: skip
        first = os.read(process.stdout.fileno(), 6)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert first.startswith(b"the ")
    assert (process.returncode, err) == (130, b"")


def test_any_locale_writes_utf8(run):
    environment = {**tiny.environment(), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    words = tiny.command("write", run("lm-bytes"), "--prompt", "-", "--length", "1")
    done = subprocess.run(words, input="日本".encode(), capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith("日本".encode())


# Pipes


@pytest.mark.parametrize("words", [["translate", "pairs"], ["score", "lm"], ["write", "lm"]])
def test_a_pipe_that_is_closed_ends_in_silence(run, words, tmp_path):
    command, name = words
    more = ["--batch", "1"] if command != "write" else ["--length", "100000", "--choose", "argmax", "--prompt", "a"]
    (tmp_path / "in.txt").write_text("one two\n" * 20_000)
    with (tmp_path / "in.txt").open("rb") as given, subprocess.Popen(
        tiny.command(command, run(name), *more), env=tiny.environment(), stdin=given, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline() if command != "write" else process.stdout.read(5)
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(30), err) == (0, b"")


def test_a_reader_that_is_gone_before_anything_is_written(run):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(tiny.command("translate", run("pairs")), input=b"one\n", stdout=writing,
                          stderr=subprocess.PIPE, env=tiny.environment())  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_standard_input_that_is_closed(run):
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *tiny.command("translate", run("pairs"))]
    done = subprocess.run(words, capture_output=True, env=tiny.environment())
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"regard: standard input is closed; name a file, or leave it open\n"


# Disks and signals


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk(run):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(tiny.command("translate", run("pairs")), input=b"one\n", stdout=full,
                              stderr=subprocess.PIPE, env=tiny.environment())  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "regard: cannot write standard output: No space left on device; check the folder and the space left on it\n"
    )


def test_control_c_keeps_what_is_translated(run, tmp_path):
    """The input never ends, the first window is answered, then somebody stops it."""
    words = tiny.command("translate", run("pairs"), "--batch", "1", "--output", tmp_path / "out.txt")
    with subprocess.Popen(
        words, env=tiny.environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=HEEDING
    ) as process:
        process.stdin.write(b"one\n\ntwo three\n")
        process.stdin.flush()
        while not (tmp_path / "out.txt").exists() or (tmp_path / "out.txt").read_bytes().count(b"\n") < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, err) == (130, b"")
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 3
