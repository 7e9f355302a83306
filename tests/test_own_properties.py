"""Properties of the user's own, typed as people type them: a function in a file, a regular expression."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import tiny

import regard
from regard.cli import main
from regard.config.looking import Effort
from regard.look.find.own import own_properties
from regard.training.loop import train
from regard.training.report import Report

MINE = '''"""Mine."""


def vowels(text):
    return [letter in "aeiou" for letter in text]


def place(text):
    return range(len(text))


def short(text):
    return [True] * 3


def one(text):
    return True


def strange(text):
    return [None] * len(text)


def endless(text):
    return [float("inf")] * len(text)


def fails(text):
    wanted = {}
    return [wanted[letter] for letter in text]
'''


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(tiny.recipe(folder, "lm-rnn", steps=2, evaluate=2), folder / "run", Report(True))
    return folder / "run"


@pytest.fixture
def find(run, tmp_path, monkeypatch, capsys):
    """Types `regard find` beside a file of one's own; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.look.find.passages.LONG", 128)
    monkeypatch.setattr("regard.look.find.passages.LENGTH", 64)
    Path("my.py").write_text(MINE)

    def typed(*words: str) -> tuple[int, str, str]:
        code = main(["find", str(run), "--data", str(run.parent / "tides.txt"), "--shifts", "20", *words])
        return code, *capsys.readouterr()

    return typed


def test_a_function_in_a_file_beside_a_property_of_ours(find):
    code, out, err = find(
        "--property", "my.py:vowels", "--property", "digits", "--property", "my.py:place", "--json", "--number", "1"
    )
    assert code == 0, err
    assert err.splitlines()[0] == "regard: running the code in my.py, which --property names"
    assert err.count("running") == 1
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["property"], one["measure"]) for one in found] == [
        ("my.py:vowels", "AUROC"),
        ("digits", "AUROC"),
        ("my.py:place", "Spearman"),
    ]


def test_an_expression_runs_nothing(find):
    code, out, err = find("--property", "regex:[aeiou]", "--json", "--number", "1")
    assert (code, "running" in err) == (0, False)
    (found,) = map(json.loads, out.splitlines())
    assert found["property"] == "regex:[aeiou]"


def test_an_expression_says_what_a_function_would(find):
    Path("my.py").write_text(MINE)
    mine, expression = own_properties(["my.py:vowels", "regex:[aeiou]"]).values()
    text = "a boat lies on the sand"
    np.testing.assert_array_equal(mine(text), expression(text))
    assert own_properties(["regex:bo+"]).popitem()[1]("a boo").tolist() == [False, False, True, True, True]


def test_the_same_from_python(run, find):
    text = (run.parent / "tides.txt").read_text()
    effort = Effort(number=1, shifts=20, controls=1)
    (named,) = regard.load(run).find("my.py:vowels", text, effort)
    (given,) = regard.load(run).find("regex:[aeiou]", text, effort)
    assert (named.property, given.property) == ("my.py:vowels", "regex:[aeiou]")
    assert (named.unit, named.score) == (given.unit, given.score)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("my.py:short", r"property short \(line 12 of my\.py\) must give one label for each of [\d,]+ characters, "
         r"found an array of shape \[3\]"),
        ("my.py:one", r"property one \(line 16 of my\.py\) must give one label for each of [\d,]+ characters, "
         r"found bool"),
        ("my.py:strange", r"property strange \(line 20 of my\.py\) must give True or False, numbers or names, found "
         r"labels of type object"),
        ("my.py:endless", r"property endless \(line 24 of my\.py\) .* found numbers that are not finite"),
        ("my.py:fails", r"my\.py, line 30: KeyError: 'd'; put it right there"),
        ("my.py:vowel", r"in my\.py the function 'vowel' does not exist; did you mean 'vowels'\?"),
        ("broken.py:vowels", r"broken\.py, line 2: SyntaxError: .*; put it right there"),
        ("leaves.py:vowels", r"leaves\.py, line 1: SystemExit: 3; put it right there"),
        ("empty.py:vowels", r"empty\.py has no function 'vowels', nor any other; write: def vowels\(text\): …"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_it_is_one_line(find, typed, said):
    Path("broken.py").write_text("def vowels(text):\n    return [\n")
    Path("leaves.py").write_text("raise SystemExit(3)\n")
    Path("empty.py").write_text("")
    code, out, err = find("--property", typed)
    assert (code, out) == (1, "")
    running, line = err.splitlines()
    assert running == f"regard: running the code in {typed.partition(':')[0]}, which --property names"
    assert re.fullmatch(f"regard: {said}", line), line


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("regex:[aeiou", r"property 'regex:\[aeiou' is no regular expression: .*; see Python's re"),
        ("none.py:vowels", r"--property names none\.py, which is no file; check its path"),
        ("vowels", r"property 'vowels' does not exist; choose one of .*"),
    ],
)
def test_what_means_nothing_is_said_before_anything_runs(find, typed, said):
    code, out, err = find("--property", typed)
    assert (code, out) == (1, "")
    assert re.fullmatch(f"regard: {said}\n", err), err


def test_the_page_runs_no_file(run, tmp_path):
    """Whoever reaches the page asks for properties of ours alone."""
    from regard.page.finding import search

    (tmp_path / "my.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(regard.UserError, match="does not exist"):
        next(search(regard.load(run), f"{tmp_path}/my.py:vowels"))
