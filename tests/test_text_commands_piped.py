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
DEAF = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)


# Streams


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says how much a process has taken at most")
def test_ten_thousand_lines_take_no_more_memory_than_a_thousand(run):
    """The peak in kilobytes. Not of getrusage, which counts the process that started it as well."""
    script = (
        "import sys; from regard.cli import main; main(sys.argv[1:]); "
        "(peak,) = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')]; "
        "print(peak, file=sys.stderr)"
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
                          stderr=subprocess.PIPE) as process:  # fmt: skip
        first = os.read(process.stdout.fileno(), 6)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=tiny.PATIENCE)
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
    more = ["--together", "1"] if command != "write" else ["--length", "100000", "--choose", "argmax", "--prompt", "a"]
    (tmp_path / "in.txt").write_text("one two\n" * 20_000)
    with (tmp_path / "in.txt").open("rb") as given, subprocess.Popen(
        tiny.command(command, run(name), *more), env=tiny.environment(), stdin=given, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline() if command != "write" else process.stdout.read(5)
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(tiny.PATIENCE), err) == (0, b"")


def test_a_reader_that_is_gone_before_anything_is_written(run):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(tiny.command("translate", run("pairs")), input=b"one\n", stdout=writing,
                          stderr=subprocess.PIPE, env=tiny.environment())  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def with_streams(redirected: str, *words: object) -> subprocess.CompletedProcess[bytes]:
    """A command typed with a redirection, such as >&-, which closes standard output."""
    script = ["sh", "-c", f'exec "$@" {redirected}', "sh", *tiny.command(*words)]
    return subprocess.run(script, capture_output=True, env=tiny.environment(), input=b"one\n")


def test_streams_that_are_closed(run, tmp_path):
    path, there = run("pairs"), tmp_path / "there.txt"
    done = with_streams("<&-", "translate", path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"regard: standard input is closed; name a file, or leave it open\n"
    for words in (["translate", path], ["evaluate", path], ["corpora"], ["--help"]):
        done = with_streams(">&-", *words)
        assert (done.returncode, done.stderr) == (
            1, b"regard: standard output is closed; leave it open, or send it to a file: > answers.txt\n"
        )  # fmt: skip
    wanted = with_streams("", "translate", path)
    assert (wanted.returncode, wanted.stderr) == (0, b"")
    done = with_streams("2>&-", "translate", path)
    assert (done.returncode, done.stdout) == (0, wanted.stdout)
    done = with_streams("2>&-", "translate", "nowhere")  # what went wrong is no answer
    assert (done.returncode, done.stdout) == (1, b"")
    done = with_streams(">&- 2>&-", "translate", path, "--save", there)
    assert (done.returncode, there.read_bytes()) == (0, wanted.stdout)


def test_process_substitution_and_a_named_pipe(run, tmp_path):
    words = ["bash", "-c", '"$@" <(printf "one\\ntwo one\\n")', "bash", *tiny.command("translate", run("pairs"))]
    done = subprocess.run(words, capture_output=True, env=tiny.environment(), stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 2)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(tiny.command("translate", run("pairs"), tmp_path / "pipe"), env=tiny.environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # fmt: skip
        (tmp_path / "pipe").write_text("one\ntwo one\n")
        assert process.communicate(timeout=tiny.PATIENCE) == (done.stdout, b"")


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
    words = tiny.command("translate", run("pairs"), "--together", "1", "--output", tmp_path / "out.txt")
    with subprocess.Popen(words, env=tiny.environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"one\n\ntwo three\n")
        process.stdin.flush()
        while not (tmp_path / "out.txt").exists() or (tmp_path / "out.txt").read_bytes().count(b"\n") < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=tiny.PATIENCE)
        finally:
            process.kill()
        assert (process.returncode, err) == (130, b"")
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 3


STARTS = "import regard.__main__ as program, os, sys; os.write(2, b'.'); sys.exit(program.main(sys.argv[1:]))"


@pytest.mark.parametrize("delay", [0, 0.1, 0.5, 1.5, 3])
def test_control_c_at_any_moment(run, delay):
    """While it imports, loads or waits: silence and 130, whatever it is doing so long after its first moment."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS, "translate", str(run("pairs"))], env=tiny.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr.read(1) == b"."
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=tiny.PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_what_is_ignored_stays_ignored(run):
    """A command in the background of a script is not for Ctrl-C."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS, "translate", str(run("pairs"))], env=tiny.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=DEAF,
    ) as process:  # fmt: skip
        assert process.stderr.read(1) == b"."
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(b"one\n", timeout=tiny.PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert out
