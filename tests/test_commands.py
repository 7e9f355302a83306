"""`regard write`, `translate` and `score` as people use them: pipes, files, mistakes; and the same from Python."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import tiny

import regard
from regard import Search, UserError, Writing
from regard.cli import main
from regard.config import Text
from regard.train.loop import train
from regard.train.report import Report

HEEDING = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # Ctrl-C, also where tests run in the background
RNN = tiny.CELLS["rnn"]
LEARNED = replace(tiny.BLOCKS, positions="learned", longest=20)
RUNS = {
    "lm": ("lm-lstm", {}),
    "lm-learned": ("lm-transformer", {"model": regard.LanguageModel(LEARNED)}),
    "lm-bytes": ("lm-rnn", {"text": Text("bytes")}),
    "pairs": ("seq2seq-gru-attention", {}),
    "pairs-2": ("seq2seq-transformer", {}),
    "pairs-other": ("seq2seq-rnn-attention", {"text": Text("characters")}),
    "pairs-blind": ("seq2seq-rnn-attention", {"model": regard.Seq2Seq(RNN, RNN, context="fixed")}),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small trained run by its name; each is trained once."""
    folder = tmp_path_factory.mktemp("runs")

    def path(name: str) -> Path:
        if not (folder / name).exists():
            model, changes = RUNS[name]
            steps = 120 if name == "pairs" else 6
            train(
                replace(tiny.recipe(folder, model, steps=steps, evaluate=steps), **changes), folder / name, Report(True)
            )
        return folder / name

    return path


@pytest.fixture
def said(capsys, monkeypatch):
    """Runs a command with something on its standard input; gives exit code, standard output and standard error."""

    def command(*words: object, given: str | bytes = b"") -> tuple[int, str, str]:
        data = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def refused(said):
    """Runs a command that must fail; gives the one line that it says."""

    def command(*words: object, given: str | bytes = b"") -> str:
        code, out, err = said(*words, given=given)
        assert (code, out) == (1, "")
        assert re.fullmatch("regard: [^\n]+\n", err), err
        return err.removeprefix("regard: ").removesuffix("\n")

    return command


def piped(*words: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The same in a process of its own."""
    return subprocess.run(tiny.command(*words), input=given, env=tiny.environment(), capture_output=True, timeout=60)


# Translating


def test_three_lines_in_order(run, said):
    code, out, err = said("translate", run("pairs"), given="one two\n\nthree\n")
    assert (code, err) == (0, "")
    first, empty, last = out.removesuffix("\n").split("\n")
    assert first
    assert empty == ""
    assert [first, last] == regard.load(run("pairs")).translate(["one two", "three"])


@pytest.mark.parametrize(
    "given", [b"one two\r\n\r\nthree\r\n", b"\xef\xbb\xbfone two\n\nthree", b"one two\n \nthree\n"]
)
def test_line_ends_and_marks_are_no_text(run, said, given):
    assert (
        said("translate", run("pairs"), given=given)[1]
        == said("translate", run("pairs"), given="one two\n\nthree\n")[1]
    )


def test_nothing_to_translate(run, said):
    assert said("translate", run("pairs")) == (0, "", "")


def test_a_file_and_a_file_to_write(run, said, tmp_path):
    (tmp_path / "in.txt").write_text("one two\n\nthree\n")
    assert said("translate", run("pairs"), tmp_path / "in.txt", "--output", tmp_path / "out.txt") == (0, "", "")
    assert (tmp_path / "out.txt").read_bytes().decode() == said("translate", run("pairs"), tmp_path / "in.txt")[1]


def test_empty_lines_keep_their_place_in_every_format(run, said):
    given = "one two\n\nthree\n"
    out = said("translate", run("pairs"), "--scores", given=given)[1].split("\n")
    assert re.fullmatch(r"[a-z ]+ \|\|\| -\d\.\d{4}", out[0])
    assert out[1] == " ||| 0.0000"
    out = said("translate", run("pairs"), "--n-best", "3", "--beam", "4", given=given)[1].splitlines()
    assert [line.split(" ||| ")[0] for line in out] == ["0", "0", "0", "1", "2", "2", "2"]
    assert out[3] == "1 |||  ||| logprob= 0.0000 ||| 0.0000"
    assert all(
        re.fullmatch(r"\d \|\|\| [a-z ]* \|\|\| logprob= -?\d+\.\d{4} \|\|\| -?\d+\.\d{4}", line) for line in out
    )
    out = said("translate", run("pairs"), "--alignments", "pharaoh", given=given)[1].split("\n")
    text, links = out[0].split(" ||| ")
    assert out[1] == " ||| "
    assert re.fullmatch(r"(\d+-\d+ ?)*", links)
    assert all(int(link.split("-")[1]) < len(text.split()) for link in links.split())
    out = [
        json.loads(line)
        for line in said("translate", run("pairs"), "--alignments", "json", given=given)[1].splitlines()
    ]
    assert [one["line"] for one in out] == [0, 1, 2]
    assert out[1] == {"line": 1, "text": "", "score": 0.0, "source": [], "target": [], "weights": []}
    assert out[0]["source"] == ["one", "two"]
    assert out[0]["target"] == text.split()
    assert [len(row) for row in out[0]["weights"]] == [2] * len(text.split())


def test_wishes_reach_the_search(run, said):
    def translated(*words: object) -> str:
        return said("translate", run("pairs"), *words, given="one two three\n")[1].strip()

    plain = translated()
    assert translated("--never", plain.split()[0]).find(plain.split()[0]) < 0
    assert translated("--prefix", "four four").startswith("four four")
    assert len(translated("--max-length", "2").split()) <= 2
    assert len(translated("--min-length", "6", "--no-repeat", "0").split()) >= 6
    assert translated("--beam", "1", "--length-penalty", "average")


def test_a_line_end_in_a_translation_does_not_become_a_line(run, said, monkeypatch):
    monkeypatch.setattr("regard.decode.translate.Tokenizer.decode", lambda self, ids: "a\nb\r\nc")
    assert said("translate", run("pairs"), given="one\ntwo\n")[1] == "a b  c\na b  c\n"


def test_an_ensemble(run, said, refused):
    alone = said("translate", run("pairs"), "--scores", given="one two\n")[1]
    twice = said("translate", run("pairs"), "--scores", "--ensemble", run("pairs"), given="one two\n")[1]
    assert twice == alone  # the mean of two equal ones
    assert said("translate", run("pairs"), "--scores", "--ensemble", run("pairs-2"), given="one two\n")[1] != alone
    assert refused("translate", run("pairs"), "--ensemble", run("pairs-other"), given="one\n") == (
        f"{run('pairs-other')} cannot answer together with {run('pairs')}: an ensemble wants runs of one kind with the "
        "same tokenizers; train both on the same data with the same [text] settings"
    )


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


# Writing


def test_write_shows_the_prompt_and_what_follows(run, said):
    code, out, err = said("write", run("lm"), "--prompt", "the ", "--length", "30", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.removesuffix("\n") == ("the " + regard.load(run("lm")).write("the ", length=30, seed=3)).removesuffix(
        "\n"
    )
    assert len(out) > 20


def test_several_texts_stand_under_their_seeds(run, said):
    out = said("write", run("lm"), "--prompt", "the ", "--length", "9", "--seed", "3", "--n", "2", "--stop", "\n")[1]
    texts = [regard.load(run("lm")).write("the ", length=9, seed=seed, stop="\n") for seed in (3, 4)]
    assert out == f"--- seed 3 ---\nthe {texts[0]}\n--- seed 4 ---\nthe {texts[1]}\n"


@pytest.mark.parametrize("prompt", [[], ["--prompt", "-"]])
def test_a_prompt_from_standard_input(run, said, prompt):
    words = ["write", run("lm"), "--length", "9", "--choose", "argmax"]
    assert said(*words, *prompt, given="the tide\n")[1] == said(*words, "--prompt", "the tide")[1]


def test_characters_never_seen(run, said):
    code, out, err = said("write", run("lm"), "--prompt", "日本 ☃", "--length", "5")
    assert (code, err) == (0, "")
    assert out.startswith("日本 ☃")


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


def test_the_end_of_a_learned_table(run, said, refused):
    """A beam stops there; otherwise the last half of what was written is read again, and it goes on."""
    code, out, err = said(
        "write", run("lm-learned"), "--prompt", "the tide " * 3, "--choose", "argmax", "--length", "30"
    )
    assert (code, err) == (0, "")
    assert len(out) <= len("the tide " * 3 + "\n") + 30
    code, out, err = said("write", run("lm-learned"), "--prompt", "the tide", "--choose", "beam", "--beam", "1")
    if len(out) - len("the tide\n") < 12:
        pytest.fail(f"stopped by itself: {out!r}")
    assert (code, len(out)) == (0, len("the tide\n") + 12)
    assert err == (
        "regard: the learned position table (longest = 20) ends here, after 12 of 500 tokens; "
        "write less, or train with a larger 'longest' or positions = 'rotary'\n"
    )
    assert refused("write", run("lm-learned"), "--prompt", "the tide " * 3, "--choose", "beam") == (
        "position 28 is past the end of the learned position table (longest = 20); "
        "use a shorter text, train with a larger 'longest', or positions = 'rotary'"
    )


# Scoring


def test_scores_of_lines(run, said):
    code, out, _ = said("score", run("lm"), given="the tide\n\nzzz\n")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert [row[2] for row in rows] == ["the tide", "", "zzz"]
    assert float(rows[0][0]) < 0 < float(rows[0][1])
    assert rows[1][:2] == ["0.0000", "0.0000"]


def test_scores_token_by_token(run, said):
    code, out, _ = said("score", run("pairs"), "--tokens", given="one two\ttwo one\n")
    found = json.loads(out)
    assert code == 0
    assert [token for token, _ in found["tokens"]] == ["two", "one", "<stop>"]
    assert found["log_probability"] == pytest.approx(sum(log for _, log in found["tokens"]), abs=1e-3)


def test_a_line_without_a_tab(run, said):
    code, out, err = said("score", run("pairs"), given="one\tone\ntwo\nthree\tthree\n")
    assert (code, out.count("\n")) == (1, 1)
    assert err == "regard: line 2 has no tab, a translator scores source<TAB>target; join two files with paste\n"


# Mistakes


def test_the_other_kind_of_run(run, refused):
    assert refused("write", run("pairs"), "--prompt", "x") == (
        f"{run('pairs')} is a translator, write wants a language model; use translate"
    )
    assert refused("translate", run("lm"), given="x\n") == (
        f"{run('lm')} is a language model, translate wants a translator; use write"
    )


@pytest.mark.parametrize("command", ["write", "translate", "score"])
def test_a_folder_that_is_no_run(refused, command, tmp_path):
    assert refused(command, tmp_path) == (
        f"{tmp_path} is not a run (it has no config.toml); give the folder that `regard train` made"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--n-best", 6], "n_best (6) must not be above beam (5), which finds no more; widen it"),
        (["--must", "one", "--never", "one"], "'one' must appear and 'one' must not; drop one of the two"),
        (["--beam", 0], "beam must be a whole number from 1 up, found 0"),
        (["--batch", 0], "batch must be a whole number from 1 up, found 0"),
        (["--precision", "int9"], "precision 'int9' does not exist; did you mean 'int8'?"),
        (["none.txt"], "none.txt does not exist; check the path"),
        (["--train.steps", 5], "--train.steps is a setting of a recipe and means nothing here; see --help"),
    ],
)
def test_wishes_that_cannot_be(run, refused, words, expected):
    assert refused("translate", run("pairs"), *words, given="one\n") == expected


def test_a_temperature_below_zero(run, refused):
    assert refused("write", run("lm"), "--prompt", "x", "--temperature", "-1") == (
        "temperature must be above 0, found -1.0; for always the best token choose argmax"
    )


def test_a_beam_wider_than_the_vocabulary(run, said):
    code, out, err = said("translate", run("pairs"), "--beam", "50", "--n-best", "50", given="one two\n")
    assert (code, err) == (0, "")
    assert len(set(out.splitlines())) == out.count("\n") > 1


def test_what_is_read_is_not_written_over(run, refused, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    assert refused("translate", run("pairs"), tmp_path / "a.txt", "--output", tmp_path / "a.txt") == (
        f"{tmp_path / 'a.txt'} is also what is to be translated; choose another file for --output"
    )
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_a_place_that_cannot_be_written(run, refused, tmp_path):
    assert refused("translate", run("pairs"), "--output", tmp_path / "no" / "a.txt", given="one\n") == (
        f"cannot write {tmp_path / 'no' / 'a.txt'}: No such file or directory; "
        "check the folder and the space left on it"
    )


def test_bytes_that_are_no_text(run, said):
    code, out, err = said("translate", run("pairs"), given=b"one\nL'\xe9t\xe9\n\xff\xfe\x00\n\xe9\n")
    assert (code, out.count("\n")) == (0, 4)
    assert err == (
        "regard: line 2 of standard input is not UTF-8; what cannot be read becomes U+FFFD, here and in later lines\n"
    )
    code, _, err = said("translate", run("pairs"), given="one \ufffd\n")  # which stood there before
    assert (code, err) == (0, "")


def test_binary_garbage(run, said):
    garbage = bytes(range(256)) * 8
    code, out, err = said("translate", run("pairs"), "--max-length", "4", given=garbage)
    assert (code, err.count("\n")) == (0, 1)
    assert out.count("\n") == len(garbage.split(b"\n")) - (garbage.endswith(b"\n"))


def test_sixteen_bits(run, refused):
    assert refused("translate", run("pairs"), given="one\n".encode("utf-16")) == (
        "standard input is in UTF-16, UTF-8 is wanted; convert it: iconv -f utf-16 -t utf-8"
    )


def test_a_line_that_is_no_line(run, said):
    code, out, err = said("translate", run("pairs"), given="one\n" + "two " * 10_001 + "\nthree\n")
    assert (code, out.count("\n")) == (1, 1)
    assert err == "regard: line 2: 10,001 tokens are too many (at most 10,000); one sentence to a line is wanted\n"


def test_an_alignment_of_a_model_that_does_not_look(run, refused):
    assert refused("translate", run("pairs-blind"), "--alignments", "pharaoh", given="one\n") == (
        "this model has no attention over a source, so there is no alignment to show"
    )


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


def test_any_locale_writes_utf8(run):
    environment = {**tiny.environment(), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    words = tiny.command("write", run("lm-bytes"), "--prompt", "-", "--length", "1")
    done = subprocess.run(words, input="日本".encode(), capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith("日本".encode())


# The same from Python


def test_a_run_in_python(run):
    writer, translator = regard.load(run("lm")), regard.load(run("pairs"))
    assert "".join(writer.stream("the ", Writing(length=30, seed=1))) == writer.write("the ", length=30, seed=1)
    assert writer.samples("the ", Writing(length=9, n=2, seed=1))[1] == writer.write("the ", length=9, seed=2)
    lines = ["one two", "", "three"]
    found = list(translator.translations(lines, Search(n_best=2)))
    assert [one[0].text for one in found] == translator.translate(lines)
    assert [len(one) for one in found] == [2, 1, 2]
    (scored,) = translator.score([("one two", found[0][0].text)])
    assert scored.logs == pytest.approx(found[0][0].logs, abs=1e-4)
    (line,) = writer.score(["the tide"])
    assert len(line.logs) == len("the tide")


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        (
            "pairs",
            lambda run: run.translate("one"),
            "translate wants a list of lines, found one text; write translate([text])",
        ),
        (
            "pairs",
            lambda run: run.score(["a"]),
            "a translator scores pairs (source, target), found one text: 'a'",
        ),
        ("lm", lambda run: run.score([("a", "b")]), "a language model scores texts, found ('a', 'b')"),
        ("lm", lambda run: run.stream("a", Writing(n=2)), "a stream is one text, found n = 2; use samples for several"),
    ],
)
def test_mistakes_in_python(run, name, call, expected):
    with pytest.raises(UserError) as error:
        call(regard.load(run(name)))
    assert str(error.value) == expected


# Judging


def test_without_capitals_the_signature_says_so(tmp_path, said):
    """What was trained without capitals writes none, and is not blamed for those of the reference."""
    plan = tiny.recipe(tmp_path, "seq2seq-rnn-attention", steps=2, evaluate=2)
    train(replace(plan, text=replace(plan.text, lower=True)), tmp_path / "run", Report(True))
    sources = [pair.split("\t")[0] for pair in (tmp_path / "backwards.tsv").read_text().splitlines()[:20]]
    answers = said("translate", tmp_path / "run", "-", "--beam", "1", given="\n".join(sources))[1].splitlines()
    assert any(answers)
    loud = tmp_path / "loud.tsv"
    loud.write_text("".join(f"{a.upper()}\t{b.upper()}\n" for a, b in zip(sources, answers, strict=True) if b))
    found = json.loads(said("evaluate", tmp_path / "run", "--data", loud, "--json")[1])
    assert found["exact"] == 100
    assert found["error_rate"] == 0
    assert "case:lc" in found["bleu_signature"]


def test_an_ensemble_is_judged_as_one(run, said):
    """Of twice the same run: the mean of its probabilities are its probabilities."""
    alone = json.loads(said("evaluate", run("pairs"), "--json")[1])
    twice = json.loads(said("evaluate", run("pairs"), "--ensemble", run("pairs"), "--json")[1])
    assert twice == pytest.approx(alone)
    assert "an ensemble wants runs of one kind" in said("evaluate", run("pairs"), "--ensemble", run("lm"))[2]


def test_evaluate_by_beam_and_precision(run, said):
    code, out, err = said("evaluate", run("pairs"), "--precision", "int8", "--beam", "2", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found) == ["int8", "float32", "change"]
    assert found["change"]["bleu"] == found["int8"]["bleu"] - found["float32"]["bleu"]
    _, plain, _ = said("evaluate", run("pairs"), "--beam", "2", "--json")
    assert found["float32"] == json.loads(plain)
    _, table, _ = said("evaluate", run("lm"), "--precision", "int8")
    assert re.search(r"^ +int8 +float32 +change$", table, re.MULTILINE)
    assert re.search(r"^bits_per_byte +\d\.\d{4} +\d\.\d{4} +-?\d\.\d{4}$", table, re.MULTILINE)
