"""Wishes that `regard translate`, `write` and `score` cannot meet, and text that is none: one line says so."""

import shlex
from pathlib import Path

import pytest
import typed

import regard
from regard import UserError, Writing

run, said, refused = typed.run, typed.said, typed.refused


# Wishes


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
        (["--together", 0], "together must be a whole number from 1 up, found 0"),
        (["--precision", "int9"], "precision 'int9' does not exist; did you mean 'int8'?"),
        (["none.txt"], "none.txt does not exist; check the path"),
        (["--train.steps", 5], "--train.steps is a setting of a recipe and means nothing here; see --help"),
    ],
)
def test_wishes_that_cannot_be(run, refused, words, expected):
    assert refused("translate", run("pairs"), *words, given="one\n") == expected


def test_a_temperature_below_zero(run, refused):
    assert refused("write", run("lm"), "--prompt", "x", "--temperature", "-1") == (
        "temperature must be a number above 0, found -1.0; for always the best token choose argmax"
    )


def test_an_alignment_of_a_model_that_does_not_look(run, refused):
    assert refused("translate", run("pairs-blind"), "--alignments", "pharaoh", given="one\n") == (
        "this model has no attention over a source, so there is no alignment to show"
    )


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
        (
            "lm",
            lambda run: run.stream("a", Writing(number=2)),
            "a stream is one text, found number = 2; use samples for several",
        ),
    ],
)
def test_mistakes_in_python(run, name, call, expected):
    with pytest.raises(UserError) as error:
        call(regard.load(run(name)))
    assert str(error.value) == expected


# Files


@pytest.mark.parametrize("command", ["translate", "score"])
def test_a_sentence_where_a_file_is_wanted(run, refused, command, tmp_path, monkeypatch):
    """Says the command that works; the name of a file that was misspelt is still one."""
    monkeypatch.chdir(tmp_path)
    path = run("pairs")
    for text in ("A man rides.", "it's", "word " * 80):
        quoted = shlex.quote(text)
        assert refused(command, path, text) == (
            f"{quoted} does not exist; to {command} a text, pipe it: echo {quoted} | regard {command} {path}"
        )
    Path("my lines.txt").write_text("one\n")
    Path("more.txt").write_text("two\n")
    assert refused(command, path, "my line.txt") == "'my line.txt' does not exist; did you mean 'my lines.txt'?"
    assert refused(command, path, "away/five.en") == "away/five.en does not exist; check the path"
    assert refused(command, path, "my lines.txt", "more.txt") == (
        f"{command} wants RUN FILE, found also 'more.txt'; join files in a pipe: "
        f"cat 'my lines.txt' more.txt | regard {command} {path}"
    )
    assert refused(command, "more.txt", path) == (
        f"more.txt is not a run, {path} is one; write the run first: regard {command} {path} more.txt"
    )


def test_standard_streams_by_a_dash(run, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = said("translate", run("pairs"), given="one two\n")
    assert said("translate", run("pairs"), "--beam", "5", "-", "--save", "-", given="one two\n") == plain
    assert not list(tmp_path.iterdir())


def test_what_is_read_is_not_written_over(run, refused, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    assert refused("translate", run("pairs"), tmp_path / "a.txt", "--output", tmp_path / "a.txt") == (
        f"{tmp_path / 'a.txt'} is also what is to be read; choose another file for --out"
    )
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_a_place_that_cannot_be_written(run, refused, tmp_path):
    assert refused("translate", run("pairs"), "--output", tmp_path / "no" / "a.txt", given="one\n") == (
        f"cannot write {tmp_path / 'no' / 'a.txt'}: No such file or directory; "
        "check the folder and the space left on it"
    )


# Lines


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


def test_a_line_without_a_tab(run, said):
    code, out, err = said("score", run("pairs"), given="one\tone\ntwo\nthree\tthree\n")
    assert (code, out.count("\n")) == (1, 1)
    assert err == "regard: line 2 has no tab, a translator scores source<TAB>target; join two files with paste\n"


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_a_length_penalty_that_is_no_number(run, refused, command):
    assert refused(command, run("pairs"), "--length-penalty", "long") == (
        "--length-penalty wants a number or 'average', found 'long'"
    )


def test_a_spreadsheet_has_no_lines(run, refused, tmp_path):
    sheet = tmp_path / "own.xlsx"
    sheet.write_bytes(b"PK\x03\x04 and what else is packed")
    for command, kind in (("translate", "pairs"), ("score", "lm")):
        assert refused(command, run(kind), sheet) == (
            f"{sheet} is a spreadsheet or an archive; save its column as text, a line for each row"
        )
