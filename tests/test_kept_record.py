"""A record that was saved, looked at later: on the terminal, in a file and on the page; and files that are none."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import asking
import pages
import pytest
import tabs
import tiny
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from regard.cli import main
from regard.errors import UserError
from regard.look.coding import NAME, load_record, save_record
from regard.page.kept import Kept
from regard.page.server import Server

runs = asking.runs  # an LSTM and a Transformer that write, a translator, a captioner
browser = tabs.browser
TEXTS = ["day 7: the tide", "day 7: the tide", "one two three", None]


@pytest.fixture(scope="module")
def files(runs, tmp_path_factory) -> list[Path]:
    """A record of each run."""
    folder, found = tmp_path_factory.mktemp("kept"), []
    for number, (run, text) in enumerate(zip(runs, TEXTS, strict=True)):
        asked = text or torch.zeros(3, 16, 16, dtype=torch.uint8)
        save_record(run.record(asked), folder / f"{number}.trace")
        found.append(folder / f"{number}.trace")
    return found


# On the terminal and in files


@pytest.mark.parametrize("words", [["--view", "map"], ["--view", "text"], ["--view", "heads"], ["--view", "beam"]])
def test_a_saved_record_is_seen_as_its_run_would_be(runs, tmp_path, words):
    run, saved = str(runs[2].folder.path), tmp_path / "a.trace"
    assert main(["look", run, "one two three", "--save", str(saved), "--exact"]) == 0
    for name, what in (("before.json", [run, "one two three"]), ("after.json", [str(saved)])):
        assert main(["look", *what, *words, "--save", str(tmp_path / name)]) == 0
    before, after = (json.loads((tmp_path / name).read_text()) for name in ("before.json", "after.json"))
    assert before.pop("made_by", None) != after.pop("made_by", None), "each says by which command it was made"
    assert after == before


def test_it_is_shown_on_the_terminal(files, capsys):
    assert main(["look", str(files[2]), "--view", "map"]) == 0
    assert "where it looked, not why it answered" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--view", "gradients"], "this asks the model again, and a saved record is without it; look at the run"),
        (["--measure", "off"], "this asks the model again, and a saved record is without it; look at the run"),
        (["--measure", "norms"], "this asks the model again, and a saved record is without it; look at the run"),
        (["four five"], "2.trace holds what was read and answered; leave out what to read, or look at its run"),
        (["--beam", "3"], "2.trace holds what was read and answered; leave out what to read, or look at its run"),
        (["--save", "b.trace"], "2.trace is a trace already; copy it, or save a picture of it: --save map.svg"),
    ],
)
def test_what_a_record_cannot_say_is_said(files, capsys, words, said):
    assert main(["look", str(files[2]), *words]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


# On the page


def test_the_page_answers_with_the_record_and_asks_no_model(files, runs):
    answers = Kept(files[2])
    with pages.serving_of(answers) as server:
        (about,) = json.loads(asking.request(server, "GET", "/api/runs")[2])
        status, content = asking.ask(server, "/api/record", run=0)
        refused = [
            asking.ask(server, path, **asked)
            for path, asked in (
                ("/api/record", {"text": "four"}),
                ("/api/record", {"head": "decoder.layer.attention[0]"}),
                ("/api/write", {}),
                ("/api/gradients", {}),
                ("/api/attribution", {}),
                ("/api/find", {"property": "digits"}),
            )
        ]
    assert (about["task"]["name"], about["text"]) == ("translator", "one two three")
    assert status == 200
    assert content == files[2].read_bytes()
    for _, content in refused:
        assert json.loads(content) == {"error": about["kept"]}
    assert about["kept"].endswith(f"look at the run: regard look {runs[2].folder.path}")


@pytest.mark.skipif(tabs.BROWSER is None, reason="the browser tests want chromium, and there is none on the path")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", range(4))
def test_every_view_opens_without_the_run(files, browser, number):
    with pages.serving_of(Kept(files[number])) as server:
        tab = tabs.Tab(browser, server)
        tab.page.goto(server.address)
        tab.page.wait_for_selector("#save-svg")
        for view in tabs.VIEWS:
            tab.page.click(f"#view-{view}")
            tab.page.wait_for_selector(f"#view-{view}[aria-current=page]")
            tab.settled()
            assert len(tab.text("#figure")) > 20
            assert "broke" not in tab.text("#figure")
            if view in ("memory", "compare"):
                assert "a saved record is without its model; for this look at the run" in tab.text("#figure")
        assert "A saved record" in tab.text(".composer")
        assert tab.page.locator("#text").count() == 0
        assert tab.strangers == []
        assert [one for one in tab.wrong if "422" not in one] == []  # the browser's own note of what was refused
        tab.context.close()


# Files that are no records


def damaged(path: Path, to: Path, change: Any) -> Path:
    """A file whose header, or whose blobs, have been changed."""
    with safe_open(path, "pt") as file:
        header = json.loads(file.metadata()[NAME])
    blobs = load_file(path)
    change(header, blobs)
    save_file({name: blob.contiguous() for name, blob in blobs.items()}, to, {NAME: json.dumps(header)})
    return to


def first(header: dict[str, Any]) -> dict[str, Any]:
    return next(iter(header["seen"].values()))


WRONG = {
    "another version": lambda h, b: h.update(version="1"),
    "no kind": lambda h, b: h.update(kind=7),
    "nothing written": lambda h, b: h["sequences"].pop("written"),
    "an unknown side": lambda h, b: h["sequences"].update(elsewhere=h["sequences"]["written"]),
    "no tokens": lambda h, b: h["sequences"]["source"].update(tokens=[]),
    "fewer tokens than columns": lambda h, b: h["sequences"]["source"]["tokens"].pop(),
    "a token below zero": lambda h, b: h["sequences"]["source"]["tokens"][0].update(id=-1),
    "a piece that is no hexadecimal": lambda h, b: h["sequences"]["source"]["tokens"][0].update(piece="zz"),
    "a token with more": lambda h, b: h["sequences"]["source"]["tokens"][0].update(more=1),
    "a grid that does not fit": lambda h, b: h["sequences"]["source"].update(grid=3),
    "seen is a list": lambda h, b: h.update(seen=[]),
    "axes too many": lambda h, b: first(h)["axes"].append("D"),
    "rows of nobody": lambda h, b: first(h).update(rows="elsewhere"),
    "an unknown role": lambda h, b: first(h).update(role="eval"),
    "more steps than tokens": lambda h, b: b.update({"top.tokens": torch.zeros(99, 2, dtype=torch.int32)}),
    "alternatives that are no tokens": lambda h, b: b.update({"top.tokens": b["top.tokens"].float()}),
    "an alternative without a name": lambda h, b: h["names"].popitem(),
    "a name that is no text": lambda h, b: h["names"].update({next(iter(h["names"])): 3}),
    "no calls": lambda h, b: h.update(calls=[]),
    "a tree in a circle": lambda h, b: h["tree"][0].update(parent=len(h["tree"]) - 1),
    "an unknown fate": lambda h, b: h["tree"][0].update(fate="<b>"),
    "a picture of one colour": lambda h, b: b.update(picture=torch.zeros(1, 4, 4, dtype=torch.uint8)),
    "about is a list": lambda h, b: h.update(about=[1]),
}


OPEN = """
import json, sys
from pathlib import Path
from regard.errors import UserError
from regard.look.coding import load_record

for path in sys.argv[1:]:
    try:
        print(json.dumps(str(load_record(Path(path)))))
    except UserError as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def said(files, tmp_path_factory) -> dict[str, str]:
    """What is said of every damaged file, in a program of its own: tests check types that nobody else checks."""
    folder = tmp_path_factory.mktemp("damaged")
    paths = [damaged(files[2], folder / f"{n}.trace", change) for n, change in enumerate(WRONG.values())]
    words = [sys.executable, "-c", OPEN, *map(str, paths)]
    lines = subprocess.run(words, env=tiny.environment(), capture_output=True, check=True, text=True).stdout
    return dict(zip(WRONG, map(json.loads, lines.splitlines()), strict=True))


@pytest.mark.parametrize("how", WRONG)
def test_a_damaged_file_is_said_to_be_so_in_one_line(said, how):
    assert re.fullmatch(r".*\d+\.trace is damaged \(.+\); make it again", said[how])


def test_a_whole_file_is_not(files, tmp_path):
    load_record(damaged(files[2], tmp_path / "a.trace", lambda header, blobs: None))


class Bomb:
    """What a pickle would do when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("how", ["cut", "huge", "nothing", "text", "zip", "pickle", "deep"])
def test_a_foreign_file_is_refused_and_nothing_in_it_is_executed(files, tmp_path, how, capsys):
    content, mark, path = files[2].read_bytes(), tmp_path / "executed", tmp_path / "a.trace"
    deep = json.dumps({"__metadata__": {NAME: "[" * 100_000}}).encode()
    found = {
        "cut": content[: len(content) // 2],
        "huge": (2**62).to_bytes(8, "little") + content[8:],
        "nothing": b"",
        "text": b"where it looked, not why it answered",
        "zip": b"PK\x03\x04" + bytes(60),
        "pickle": pickle.dumps(Bomb(mark)),
        "deep": len(deep).to_bytes(8, "little") + deep,
    }
    path.write_bytes(found[how])
    for words in (["--view", "map"], ["--no-open"]):
        assert main(["look", str(path), *words]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"regard: {path} is ")
        assert error.count("\n") == 1
    assert not mark.exists()


def test_a_record_of_an_unknown_task_is_refused_on_the_page(files, tmp_path):
    path = damaged(files[2], tmp_path / "a.trace", lambda header, blobs: header.update(kind="oracle"))
    with pytest.raises(UserError, match="is a record of a 'oracle', which this regard does not know; update it"):
        Server(Kept(path))
