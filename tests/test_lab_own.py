"""A teacher's own claim, in a file beside the work: `regard lab ./my_claim.py`."""

import json
import re
import sys
from pathlib import Path

import pytest

from regard.cli import main
from regard.lab import claims
from regard.page import open as opening

HEAD = """from regard.lab.claim import Claim, Mark


def draw(figure, seeds):
    figure.subplots().plot([numbers["number"] for numbers in seeds])


def measure(room):
    return {"number": 1.0}


def claim(name, measure=measure, draw=draw, number="number"):
    marks = (Mark(number, above=0.5),)
    return Claim(name, f"{name} is so", "1 = 1", "Nobody 2026", "none", marks, measure, draw, "nothing")


"""


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """Writes a file of one's own and types `regard lab`; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def typed(code: str, *words: str) -> tuple[int, str, str]:
        Path("my_claim.py").write_text(HEAD + code)
        code_of_exit = main(["lab", *(words or ("./my_claim.py",))])
        return code_of_exit, *capsys.readouterr()

    return typed


def test_claims_of_ones_own_are_run_and_reported(lab):
    code, out, err = lab("FIRST = claim('first')\nSECOND = claim('second')\nAGAIN = FIRST\n")
    assert code == 0, err
    assert err.splitlines()[0] == "regard: running the code in my_claim.py, which holds claims"
    assert [line.split()[2] for line in out.splitlines()[:2]] == ["first", "second"]
    assert out.splitlines()[-1] == "report: lab/my_claim.html"
    page = Path("lab/my_claim.html").read_text()
    assert page.count("<section") == 2
    assert "regard lab ./my_claim.py --quick --seeds 1" in page


def test_they_stand_beside_those_of_the_notes(lab, monkeypatch):
    ours = {"cache": claims.CLAIMS["cache"]}
    monkeypatch.setattr(claims, "CLAIMS", ours)
    monkeypatch.setattr("regard.lab.cache.seconds", lambda call, repeats=5: 1.0)
    code, out, err = lab("CLAIM = claim('mine')\n", "cache", "./my_claim.py", "--no-open")
    assert code == 0, err
    assert [line.split()[-1] for line in out.splitlines()[-1:]] == ["lab/cache-my_claim.html"]
    assert [Path(f"lab/quick/{name}/seed-0.json").exists() for name in ("cache", "mine")] == [True, True]


def test_what_was_measured_is_kept_until_the_file_changes(lab):
    count = "def measure(room):\n    with open('count', 'a') as file:\n        file.write('x')\n"
    count += "    return {'number': %s}\n\n\n"
    made = "CLAIM = claim('mine', measure)\n"
    assert [lab(count % number + made)[0] for number in ("1.0", "1.0", "2.0")] == [0, 0, 0]
    assert Path("count").read_text() == "xx"
    assert json.loads(Path("lab/quick/mine/seed-0.json").read_text())["numbers"] == {"number": 2.0}


FAILS = "def fails(*_):\n    return {}['wanted']\n\n\nCLAIM = claim('mine', "


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("", r"my_claim\.py has no claim; end it with CLAIM = Claim\(name=…, …\), as docs/lab\.md shows"),
        ("CLAIM = claim('cache')", r"\./my_claim\.py: there is a claim called 'cache' already; give yours another .*"),
        ("A = claim('a')\nB = claim('a')", r"\./my_claim\.py: there is a claim called 'a' already; .*"),
        ("CLAIM = claim('../mine')", r"my_claim\.py: a claim is called by small letters and hyphens, found '\.\./.*"),
        (FAILS + "fails)", r"my_claim\.py, line 18: KeyError: 'wanted'; put it right there"),
        (FAILS + "draw=fails)", r"my_claim\.py, line 18: KeyError: 'wanted'; put it right there"),
        ("CLAIM = claim('mine', lambda room: 3)", r"my_claim\.py: measure must hand back numbers by name, found int"),
        ("CLAIM = claim('mine', lambda room: {'number': {1}})", r"claim 'mine' measured what cannot be kept as .*"),
        ("CLAIM = claim('mine', number='numbr')", r"a mark asks for a number that was not measured: 'numbr' does .*"),
        ("CLAIM = Claim('mine')", r"my_claim\.py, line 17: TypeError: .*; put it right there"),
        ("1 +", r"my_claim\.py, line 17: SyntaxError: invalid syntax; put it right there"),
    ],
)  # fmt: skip
def test_a_mistake_in_it_is_one_line(lab, code, said):
    done, _, err = lab(code + "\n")
    assert done == 1
    assert "Traceback" not in err
    first, *_, last = err.splitlines()
    assert first == "regard: running the code in my_claim.py, which holds claims"
    assert re.fullmatch(f"regard: {said}", last), last


def test_a_file_that_is_not_there(lab):
    assert lab("", "./mine.py") == (1, "", "regard: claim 'mine.py' is no file; check its path\n")


# The page at the end


@pytest.mark.parametrize(
    ("terminal", "screen", "words", "opened"),
    [(True, ":0", [], 1), (True, ":0", ["--no-open"], 0), (False, ":0", [], 0), (True, "", [], 0)],
)
def test_the_page_is_opened_where_somebody_sits_before_a_screen(lab, monkeypatch, terminal, screen, words, opened):
    addresses = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(opening.webbrowser, "open", addresses.append)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", screen)
    code, out, _ = lab("CLAIM = claim('mine')\n", "./my_claim.py", *words)
    assert code == 0
    assert "lab/my_claim.html" in out
    assert addresses == [Path("lab/my_claim.html").resolve().as_uri()] * opened
