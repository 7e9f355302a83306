"""`regard translate --terms` as translators type it; and bytes that no text should have, in every line command."""

import json

import pytest
import tiny
import typed

from regard.training.loop import train
from regard.training.report import Report

run, said, refused = typed.run, typed.said, typed.refused


@pytest.mark.usefixtures("here")
def test_terms_that_are_met_and_their_report(run, said, tmp_path):
    (tmp_path / "in.txt").write_text("one two\nthree\n")
    (tmp_path / "g.tsv").write_text("one\tfour\n")
    code, out, err = said("translate", run("pairs"), "in.txt", "--terms", "g.tsv", "--report", "r.tsv")
    assert (code, err) == (0, "")
    assert "four" in out.splitlines()[0].split()
    assert (tmp_path / "r.tsv").read_text() == "1\tone\tfour\tmet\n"
    code, out, err = said("translate", run("pairs"), "in.txt", "--terms", "g.tsv", "--json")
    assert (code, err) == (0, "")
    first, second = map(json.loads, out.splitlines())
    assert first["terms"] == [{"source": "one", "targets": ["four"], "met": True}]
    assert second["terms"] == []


@pytest.mark.usefixtures("here")
def test_a_term_that_is_not_met_is_said_and_the_line_answered(run, said, tmp_path):
    (tmp_path / "in.txt").write_text("two\none two\n")
    (tmp_path / "g.tsv").write_text("one\tzymurgy\n")  # a word that the run has no token for
    words = ["translate", run("pairs"), "in.txt", "--terms", "g.tsv"]
    code, out, err = said(*words, "--report", "r.tsv")
    assert (code, len(out.splitlines())) == (0, 2)
    assert err == "regard: 1 of 1 term not met: 'one' of line 2 is not 'zymurgy'; --report FILE lists all\n"
    assert (tmp_path / "r.tsv").read_text() == "2\tone\tzymurgy\tnot met\n"
    code, out, _ = said(*words, "--json")
    assert [json.loads(line)["terms"] for line in out.splitlines()] == [
        [],
        [{"source": "one", "targets": ["zymurgy"], "met": False}],
    ]
    assert code == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("one two\n", "line 1 of g.tsv has no tab; write source term<TAB>target term"),
        ("", "g.tsv has no terms; write source term<TAB>target term, one on each line"),
        (None, "g.tsv does not exist; check the path"),
        ("folder", "g.tsv is a folder where a file is wanted; name a file in it"),
    ],
    ids=["no tab", "empty", "missing", "folder"],
)
def test_a_glossary_that_is_none(run, refused, tmp_path, given, expected):
    (tmp_path / "in.txt").write_text("one\n")
    if given == "folder":
        (tmp_path / "g.tsv").mkdir()
    elif given is not None:
        (tmp_path / "g.tsv").write_text(given)
    assert refused("translate", run("pairs"), "in.txt", "--terms", "g.tsv") == expected


@pytest.mark.usefixtures("here")
def test_a_zero_byte_is_a_character_like_any_other(run, said, tmp_path):
    """A line that has one is answered, and those around it as without it."""
    lines = ["one two", "th\0ree", "four"]
    code, out, err = said("translate", run("pairs"), given="\n".join(lines))
    assert (code, err, out.count("\n")) == (0, "", 3)
    assert out.split("\n")[::2] == said("translate", run("pairs"), given="one two\nfour\n")[1].split("\n")[:2]
    code, out, err = said("score", run("lm"), given="\n".join(lines))
    assert (code, err, out.count("\n")) == (0, "", 3)
    train(tiny.recipe(tmp_path, "classifier-lstm", steps=2), tmp_path / "c", Report(quiet=True))
    code, out, err = said("classify", "c", given="\n".join(lines))
    assert (code, err, out.count("\n")) == (0, "", 3)


@pytest.mark.usefixtures("here")
def test_other_data_than_it_learnt_from_is_told_what_to_give(run, refused, tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    assert refused("evaluate", run("pairs"), "--data", "a.txt") == (
        "a.txt holds text, this run was trained on pairs; "
        "give a .tsv file of source and target, or two files, line by line"
    )
