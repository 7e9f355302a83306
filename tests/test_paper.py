"""Figures for papers: fonts that publishers take, exactly as wide as asked, in one's own style, with their command."""

import json
import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest
import tiny
from PIL import Image

from regard import UserError
from regard.cli import main
from regard.config.looking import PaperWishes
from regard.look.pictures.paper import style_in
from regard.training.loop import train
from regard.training.report import Report

CM = 72 / 2.54  # points


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(tiny.recipe(folder, "seq2seq-transformer", steps=2, evaluate=2), folder / "fr", Report(True))
    return folder / "fr"


@pytest.fixture
def look(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def typed(*words: str) -> str:
        code = main(["look", str(run), "one two three", *words])
        err = capsys.readouterr().err
        assert (code == 1) == bool(err), err
        return err

    return typed


def unpacked(path: Path) -> bytes:
    """A PDF with what is compressed in it laid open."""
    data = path.read_bytes()
    found = [data]
    for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            found.append(zlib.decompress(match[1]))
        except zlib.error:
            continue
    return b"\n".join(found)


VIEWS = ("map", "heads", "text", "gradients", "beam")


@pytest.mark.parametrize("view", VIEWS)
def test_a_pdf_has_truetype_fonts_and_is_as_wide_as_asked(look, view):
    look("--view", view, "--save", "figure.pdf", "--width", "8.5cm")
    inside = unpacked(Path("figure.pdf"))
    assert b"/Type3" not in inside
    assert b"/CIDFontType2" in inside
    left, _, right, _ = map(float, re.search(rb"/MediaBox \[([^\]]+)\]", inside)[1].split())
    assert right - left == pytest.approx(8.5 * CM, abs=0.05)


@pytest.mark.parametrize(("width", "points"), [("8.5cm", 8.5 * CM), ("85mm", 8.5 * CM), ("3.5in", 252), ("240pt", 240)])
def test_every_unit_of_length(look, width, points):
    look("--view", "map", "--save", "figure.svg", "--width", width)
    root = ET.parse("figure.svg").getroot()
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(points, abs=0.05)
    assert root.find(".//{http://www.w3.org/2000/svg}text") is not None, "text stays text"
    look("--view", "map", "--save", "figure.png", "--width", width)
    with Image.open("figure.png") as picture:
        assert picture.width / picture.info["dpi"][0] * 72 == pytest.approx(points, abs=0.5)


@pytest.mark.parametrize("width", ["8.5", "8,5cm", "0.5in", "9m", "1e9cm"])
def test_a_width_that_is_none(look, width):
    wanted = "--width wants a length from 1in to 40in, such as 8.5cm, 85mm, 3.35in or 240pt"
    assert look("--save", "figure.pdf", "--width", width) == f"regard: {wanted}, found '{width}'\n"
    assert PaperWishes().inches is None


def test_letters_keep_their_size(look):
    sizes = []
    for more in ((), ("--width", "8.5cm")):
        look("--view", "gradients", "--save", "figure.svg", *more)
        sizes.append({*re.findall(r"font(?:-size)?: ([0-9.]+)px", Path("figure.svg").read_text())})
    assert sizes[0] == sizes[1]


# What made it


def test_every_kind_of_file_says_what_made_it(look, run):
    def command(kind: str) -> str:
        look("--view", "map", "--save", f"map.{kind}")
        return f"regard look {run} 'one two three' --view map --save map.{kind}; {run}: model.safetensors sha256 "

    said = command("png")
    with Image.open("map.png") as picture:
        assert picture.text["Description"].startswith(said)
    said = command("svg")
    assert said in Path("map.svg").read_text().replace("&apos;", "'").replace("&#x27;", "'")
    command("pdf")
    subject = unpacked(Path("map.pdf"))
    assert b"/Subject" in subject
    assert b"regard look" in subject or "regard look".encode("utf-16-be") in subject
    said = command("html")
    assert said.replace("'", "&#x27;") in Path("map.html").read_text()
    said = command("json")
    assert json.loads(Path("map.json").read_text())["made_by"].startswith(said)
    said = command("npz")
    assert str(np.load("map.npz")["made_by"]).startswith(said)


# A style of one's own


def test_a_style_is_seen(look):
    Path("mine.mplstyle").write_text(
        "# mine\nfont.family: serif\naxes.prop_cycle: cycler('color', ['#123456', 'k'])\n\n"
    )
    look("--view", "gradients", "--save", "figure.svg", "--style", "mine.mplstyle")
    drawn = Path("figure.svg").read_text()
    assert "#123456" in drawn
    assert "serif" in drawn
    look("--view", "gradients", "--save", "plain.svg")
    assert "#123456" not in Path("plain.svg").read_text(), "and is gone behind it"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("backend: TkAgg", "a style may set fonts, axes, ticks, lines, grids and legends, found 'backend'"),
        ("image.cmap: jet", "found 'image.cmap'"),
        ("text.usetex: True", "found 'text.usetex'"),
        ("savefig.bbox: tight", "found 'savefig.bbox'"),
        ("figure.hooks: os:system", "found 'figure.hooks'"),
        ("just words", "found 'just words'"),
        ("font.size: large", "see matplotlib's style sheets"),
        ("font.sizes: 3", "see matplotlib's style sheets"),
        ("axes.prop_cycle: cycler('color', [print('run')])", "see matplotlib's style sheets"),
        (
            "axes.prop_cycle: __import__('os').system('true')",
            "axes.prop_cycle wants cycler('color', [...]) with colours",
        ),
    ],
)
def test_a_style_says_how_things_look_and_nothing_else(tmp_path, capsys, line, said):
    path = tmp_path / "mine.mplstyle"
    path.write_text(f"axes.grid: True\n{line}\n")
    with pytest.raises(UserError) as error:
        style_in(path)
    assert str(error.value).startswith(f"line 2 of {path}: ")
    assert said in str(error.value)
    assert capsys.readouterr().out == "", "nothing in it runs"


def test_a_style_that_is_not_there(look):
    assert look("--save", "figure.pdf", "--style", "none.mplstyle").startswith(
        "regard: cannot read the style none.mplstyle"
    )


# Findings and heads


@pytest.mark.parametrize("kind", ["svg", "png", "pdf", "html", "csv", "npz"])
def test_heads_are_saved_as_a_picture(run, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    assert main(["heads", str(run), "--number", "3", "--save", f"heads.{kind}", "--width", "12cm"]) == 0
    assert Path(f"heads.{kind}").stat().st_size > 100
    if kind == "csv":
        first, *_, last = Path("heads.csv").read_text().splitlines()
        assert first.startswith("head,confidence,entropy,first")
        assert last.startswith("uniform,")


def test_findings_are_saved_as_a_picture(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.look.find.find.LEAST", 20)
    words = ["find", str(run), "--property", "position_in_line", "--shifts", "20", "--number", "2"]
    assert main([*words, "--save", "found.pdf", "--width", "8.5cm"]) == 0
    assert b"/Type3" not in unpacked(Path("found.pdf"))
    assert main([*words, "--save", "found.csv"]) == 0
    assert Path("found.csv").read_text().startswith("property,side,unit,measure,score,low,high,null")
