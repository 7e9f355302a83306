"""Pictures without a browser: every view in every format, and the numbers in them."""

import csv
import html.parser
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import tiny
import torch
from PIL import Image
from test_record import MODELS, recorded
from zoo import make

from regard import UserError
from regard.cli import main
from regard.config.looking import Choice, Recording
from regard.look.coding import load_record
from regard.look.gradients import memory
from regard.look.pictures.maps import Map
from regard.look.pictures.save import save
from regard.look.pictures.style import HONEST, blue, signed
from regard.look.pictures.views import gradients_view, view_of
from regard.runs import load_run
from regard.training.loop import train
from regard.training.report import Report

NAMES = ("lm-lstm", "lm-transformer", "seq2seq-rnn-attention", "classifier-lstm", "tagger-rnn")
TEXTS = {"lm": "day 3: the tide", "seq2seq": "one two three", "classifier": "two one four", "tagger": "one two"}
ANSWER = Recording(answer="abc")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, str]:
    """Runs that have not learnt much, by the name of their model."""
    found = {}
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        train(tiny.recipe(folder, name, steps=2), folder / "run", Report(quiet=True))
        found[name] = str(folder / "run")
    return found


def look(runs, name, *words) -> int:
    return main(["look", runs[name], TEXTS[name.partition("-")[0]], *map(str, words)])


@pytest.fixture
def refused(runs, capsys):
    """A command that must fail with one line."""

    def run(*words) -> str:
        assert look(runs, *words) == 1
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("regard: ")

    return run


class Plain(html.parser.HTMLParser):
    """What a page shows, and whatever it would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.wrong, self.open = "", [], []

    def handle_starttag(self, tag, attributes):
        self.wrong += [tag] if tag in ("script", "link", "iframe") else []
        for name, value in attributes:
            if name in ("src", "href") and not value.startswith("data:"):
                self.wrong.append(value)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "tags close in order"

    def handle_data(self, data):
        self.text += data


def read_page(path) -> str:
    page = Plain()
    page.feed(path.read_text(encoding="utf-8"))
    assert not page.wrong
    assert not page.open
    return page.text


def rows_of(path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


APPLIES = [
    ("lm-lstm", "text"), ("lm-lstm", "gradients"), ("lm-transformer", "map"), ("lm-transformer", "heads"),
    ("lm-transformer", "gradients"), ("seq2seq-rnn-attention", "map"), ("seq2seq-rnn-attention", "beam"),
    ("seq2seq-rnn-attention", "text"), ("classifier-lstm", "text"), ("classifier-lstm", "map"), ("tagger-rnn", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "view"), APPLIES)
def test_every_view_in_every_format(runs, name, view, tmp_path):
    for kind in ("svg", "png", "html", "json", "csv", "npz"):
        assert look(runs, name, "--view", view, "--save", tmp_path / f"out.{kind}") == 0
    drawn = "".join(ET.parse(tmp_path / "out.svg").getroot().itertext())
    for text in (drawn, read_page(tmp_path / "out.html")):
        assert HONEST in text
        assert {"from", "to"} <= {*re.findall(r"\w+", text)}, "it says from what to what"
    with Image.open(tmp_path / "out.png") as image:
        assert 800 <= image.size[0] <= 1500
        image.verify()
    assert HONEST in json.loads((tmp_path / "out.json").read_text())["note"]
    assert len(rows_of(tmp_path / "out.csv")) > 1
    assert HONEST in str(np.load(tmp_path / "out.npz")["note"])
    assert {path.name for path in tmp_path.iterdir()} == {
        f"out.{kind}" for kind in ("svg", "png", "html", "json", "csv", "npz")
    }


def test_the_numbers_are_the_tensors(runs, tmp_path):
    for kind in ("json", "csv", "npz", "trace"):
        look(runs, "lm-transformer", "--layer", 0, "--head", 1, "--exact", "--save", tmp_path / f"a.{kind}")
    record = load_run(runs["lm-transformer"]).record(TEXTS["lm"])
    (seen,) = record.attention().values()
    wanted = seen.values[1].numpy()
    hidden = seen.masked.numpy()
    found = np.load(tmp_path / "a.npz")
    np.testing.assert_array_equal(found["weights"][~hidden], wanted[~hidden])
    assert np.isnan(found["weights"][hidden]).all()
    assert list(found["from"]) == record.written.words == list(found["to"])
    said = json.loads((tmp_path / "a.json").read_text())["weights"]
    assert [[value is None for value in row] for row in said] == hidden.tolist()
    np.testing.assert_array_equal(np.float32([v for row in said for v in row if v is not None]), wanted[~hidden])
    head, *rows = rows_of(tmp_path / "a.csv")
    assert head[1:] == record.written.words
    np.testing.assert_array_equal(np.float32([v for row in rows for v in row[1:] if v]), wanted[~hidden])
    saved = load_record(tmp_path / "a.trace")
    assert torch.equal(saved.attention().popitem()[1].values, seen.values)


def test_the_colours_of_a_map_are_its_weights():
    """Masked is hatched and named so; 0 is white; the largest is the darkest."""
    view = Map("t", "", np.float32([[1.0, np.nan], [0.0, 0.5]]), ["a", "b"], ["c", "d"])
    page = view.page()
    assert f'style="background:{blue(1.0)}" title="from a to c: 1.0000"' in page
    assert 'class="masked" title="from a to d: masked"' in page
    assert 'style="background:#ffffff" title="from b to c: 0.0000"' in page
    assert view.table()[1:] == [["a", 1.0, ""], ["b", 0.0, 0.5]]
    pixels = np.asarray(view.figure().axes[0].images[0].to_rgba(view.weights, norm=True))
    assert pixels[0, 0].sum() < pixels[1, 1].sum() < pixels[1, 0].sum()


def test_scales_are_not_red_and_green():
    for colour in (blue(1.0), signed(1.0)):
        red, green, most = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
        assert most > max(red, green)
    assert signed(-1.0) == "#e66101"
    assert signed(0.0) == blue(0.0) == "#ffffff"


@pytest.mark.parametrize("tokens", [64, 65, 512])
def test_a_long_map_has_ticks_in_place_of_names(tokens, tmp_path):
    words = [f"word{n}" for n in range(tokens)]
    weights = np.random.default_rng(0).random((tokens, tokens)).astype(np.float32)
    view = Map("t", "", weights, words, words)
    save(view, tmp_path / "a.svg")
    text = "".join(ET.parse(tmp_path / "a.svg").getroot().itertext())
    assert ("word63" in text) == (tokens <= 64)
    assert (tmp_path / "a.svg").stat().st_size < 3e6
    save(view, tmp_path / "a.html")
    assert f"word{tokens - 1}" in read_page(tmp_path / "a.html")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_looked_at_without_a_wish(name, tmp_path):
    record = recorded(name, ANSWER)
    view = view_of(record, Choice(), make(name, torch.float32))
    save(view, tmp_path / "a.html")
    assert HONEST in read_page(tmp_path / "a.html")
    assert view.terminal(80).plain


@pytest.mark.parametrize("measure", ["attention", "norms", "rollout", "gradient", "off"])
def test_every_measure_of_a_map(measure, tmp_path):
    record, model = recorded("lm-transformer-none"), make("lm-transformer-none", torch.float32)
    view = view_of(record, Choice(view="map", measure=measure), model)
    save(view, tmp_path / "a.png")
    assert np.isnan(view.numbers()["weights"]).any()
    assert "explain" not in view.page().lower()


def test_rows_read_as_fed_and_as_predicted():
    record, model = recorded("seq2seq-transformer", ANSWER), make("seq2seq-transformer", torch.float32)
    fed, predicted = (view_of(record, Choice(reading=reading), model).numbers() for reading in ("fed", "predicted"))
    assert fed["from"] == ["<start>", "a", "b", "c"]
    assert predicted["from"] == ["a", "b", "c", "<stop>"]
    np.testing.assert_array_equal(fed["weights"], predicted["weights"])


def test_several_runs_over_each_other(runs, tmp_path):
    code = look(runs, "lm-lstm", "--view", "gradients", "--also", runs["lm-transformer"], "--save", tmp_path / "a.csv")
    assert code == 0
    head = (tmp_path / "a.csv").read_text().splitlines()[0]
    assert head == "k,run: layer.layers.1.hidden,run 2: embedding.vectors"


def test_on_the_terminal(runs, capsys):
    for name in NAMES:
        assert look(runs, name, "--beam", 4) == 0
        assert HONEST in capsys.readouterr().out


def test_one_clear_line_for_what_cannot_be(runs, refused, tmp_path, capsys):
    assert refused("lm-lstm", "--view", "map") == (
        "this language model has no attention, so there is no map and no heads; look at its cells instead: "
        "--view text --unit 'layer.layers.0.cells[0]'"
    )
    assert "has no attention" in refused("tagger-rnn", "--view", "heads")
    assert refused("lm-lstm", "--view", "mop") == "view 'mop' does not exist; did you mean 'map'?"
    assert refused("lm-transformer", "--layer", 4) == "this attention has layers 0 to 0, found 4"
    assert refused("lm-transformer", "--head", 2) == "this attention has heads 0 to 1, found 2"
    assert refused("lm-transformer", "--head", "x") == "--head wants a whole number, found 'x'"
    assert refused("lm-lstm", "--view", "text", "--unit", "cell 7").startswith("no tap matches 'cell 7'")
    assert refused("lm-lstm", "--view", "text", "--unit", "layer.layers.0.cells") == (
        "a unit is written path[number], found 'layer.layers.0.cells'; for example layer.layers.0.input_gate[0]"
    )
    assert refused("lm-lstm", "--view", "text", "--unit", "layer.layers.0.cells[99]") == (
        "layer.layers.0.cells has units 0 to 11, found 99"
    )
    assert refused("lm-lstm", "--view", "beam").endswith("there is no beam tree; let it write: --length 20")
    assert refused("seq2seq-rnn-attention", "--view", "beam", "--beam", 1).endswith("search with --beam 5")
    for name in ("classifier-lstm", "tagger-rnn"):
        assert refused(name, "--view", "beam").endswith("it answers in one pass: look at --view map or text")
    assert "--save wants a name that ends in svg" in refused("lm-lstm", "--save", tmp_path / "a.gif")
    assert refused("lm-lstm", "--view", "text", "--also", runs["lm-transformer"]).endswith("add --view gradients")
    assert "cannot write" in refused("lm-lstm", "--save", "/proc/nowhere/a.png")
    assert main(["look", runs["lm-lstm"], "", "--view", "text"]) == 1
    assert "there is no text to look at; write it behind the run" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_too_many_numbers_for_a_text_file(tmp_path):
    many = np.zeros((1001, 1000), np.float32)
    view = Map("t", "", many, ["a"] * 1001, ["b"] * 1000)
    with pytest.raises(UserError, match=r"this view has 1,001,000 numbers, too many for a text file; save it as npz"):
        save(view, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_text_that_could_be_taken_for_markup(tmp_path):
    view = Map("<b>&", "", np.float32([[1.0]]), ["<script>"], ["$x_1$"])
    save(view, tmp_path / "a.html")
    assert "<script>" in read_page(tmp_path / "a.html")
    save(view, tmp_path / "a.svg")
    assert "$x_1$" in "".join(ET.parse(tmp_path / "a.svg").getroot().itertext())


def test_gradients_of_a_place_by_its_path():
    record, model = recorded("lm-gru"), make("lm-gru", torch.float32)
    found = {"runs/a": memory(model, record)}
    assert list(gradients_view(found, "layer.layers.0.hidden").numbers()) == ["a: layer.layers.0.hidden"]
    with pytest.raises(UserError, match=r"path 'layer\.layers\.7\.hidden' does not exist; did you mean"):
        gradients_view(found, "layer.layers.7.hidden")
