"""What a person sees while data is prepared, and data that comes through pipes."""

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
import refusals
import tiny
from refusals import write
from rich.console import Console
from test_formats import OMEGAT, PAIRS, as_ods, book

from regard.cli import main
from regard.data.survey import Survey, told
from regard.disk import replacing
from regard.folder import Folder
from regard.training.report import Report

pytestmark = pytest.mark.usefixtures("here")
said, refused = refusals.said, refusals.refused
SMALL = [
    "--train.steps",
    "2",
    "--train.evaluate",
    "2",
    "--train.batch",
    "64",
    "--data.share",
    "0.3",
    "--text.kind",
    "words",
]
LABELS = ["--model.kind", "classifier", "--model.encoder.kind", "rnn", "--model.encoder.width", "8"]
TRANSLATE = ["--model.kind", "seq2seq", "--model.encoder.width", "8", "--model.decoder.width", "8"]
REVIEWS = "review,sentiment\n" + "".join(f"film {n} is {'good' if n % 2 else 'bad'},{n % 2}\n" for n in range(40))


def shown(text: str) -> list[str]:
    """What was said before the training began."""
    return text.partition(" parameters")[0].splitlines()[:-1]


def test_two_examples_as_they_were_understood(said):
    code, text = said("train", "--data.train", write("own2.csv", REVIEWS), "--data.columns", "review", "sentiment",
                      *LABELS, *SMALL)  # fmt: skip
    assert code == 0
    first, *lines = shown(text)
    assert first == "preparing own2.csv"
    assert [re.sub(r"\d+", "N", line) for line in lines] == [
        "  text   film N is good",
        "  label  N",
        "  text   film N is bad",
        "  label  N",
    ]


def test_a_long_preparation_is_not_silent(said, monkeypatch):
    monkeypatch.setattr("regard.training.report.SILENCE", 0.001)
    code, text = said("train", "--data.train", write("own2.csv", REVIEWS), *LABELS, *SMALL)
    assert code == 0
    assert re.search(r"^still preparing: \d+ MB written, 1 second so far$", text.partition(" parameters")[0], re.M)
    assert "still preparing" not in text.partition(" parameters")[2]


def test_a_spinner_says_how_far_preparing_has_come():
    told, report = io.StringIO(), Report()
    report.console = Console(file=told, force_terminal=True)
    seen = Event()
    with report.meanwhile(lambda: seen.set() or "4 MB written"):
        assert seen.wait(20)
        time.sleep(0.2)  # the spinner draws eight times a second
    assert "4 MB written, " in told.getvalue()


def test_what_is_prepared_is_counted_while_it_is_written(tmp_path):
    folder = Folder(tmp_path)
    assert folder.bytes_prepared() == 0
    with replacing(folder.tokens("train.tokens")) as partial:
        partial.write_bytes(b"1234567")
        assert folder.bytes_prepared() == 7
    assert folder.bytes_prepared() == 7


def test_what_is_likely_not_meant_so_is_said():
    survey = Survey()
    for sides in (("a", "b"), ("a", "b"), ("café", "x"), ("cafe\u0301", "x"), ("c", "c")):
        survey.note("train", sides)
    survey.note("valid", ("a", "b"))
    survey.note("valid", ("d", "e"))
    assert list(told(survey.facts, ("source", "target"))) == [
        "  source  a",
        "  target  b",
        "  source  a",
        "  target  b",
        "repeated: 1 of 5 examples, seen before",
        "the same on both sides: 1 of 5 examples",
        "in both parts: 1 of 2 held-out examples, also learnt from, so figures will be too good; take out of one file "
        "what is in both",
        "accents are written in two ways, as one character (NFC, in 1) and as two (NFD, in 1), which differ to a "
        "model; make them one: uconv -x nfc < OLD > NEW",
    ]
    assert list(told(Survey().facts, ("text",))) == []


def test_what_is_odd_far_down_in_one_text_is_said(said):
    lines = [f"la fille {n} va au café\n" for n in range(400)]
    lines[200] = "un\0e ligne\n"
    lines[300] = "le cafe\u0301\n"
    code, text = said("train", "--data.train", write("a.txt", "".join(lines)), "--model", "rnn", *SMALL)
    assert code == 0
    assert "left out 1 line with a zero byte (first: line 201 of a.txt)\n" in text
    assert "accents are written in two ways" in text


def test_a_held_out_file_that_repeats_the_training_file_is_said_to(said):
    write("a.tsv", "".join(f"one {n}\teins {n}\n" for n in range(20)))
    write("b.tsv", "".join(f"one {n}\teins {n}\n" for n in range(15, 25)))
    _, text = said("train", "--data.train", "a.tsv", "--data.valid", "b.tsv", *TRANSLATE, *SMALL)
    assert "in both parts: 5 of 10 held-out examples, also learnt from" in text


def test_training_bytes_are_those_that_are_trained_on():
    text = tiny.write_text(Path.cwd())
    main(["train", "--data.train", text.name, "--model.kind", "language-model", "--model.layer.width", "8", *SMALL])
    facts = json.loads(Path("runs/mine/tokens/facts.json").read_text())
    size = len(re.sub(r"\s", "", text.read_text()))
    assert 0 < facts["train_bytes"] < text.stat().st_size * 0.75
    assert facts["train_bytes"] + facts["valid_bytes"] >= size


# Every kind of file, trained on and judged by


@pytest.mark.parametrize("name", ["a.xlsx", "a.tmx", "a.ods", "a.parquet", "a.json", "a.csv"])
def test_a_table_of_any_format_is_trained_on_and_judged_by(name, said):
    rows = [("source", "target"), *((f"one {n} {PAIRS[n % 3][0]}", f"un {n}") for n in range(30))]
    if name == "a.xlsx":
        book(rows)
    elif name == "a.tmx":
        unit = '<tu><tuv lang="EN-US"><seg>{}</seg></tuv><tuv lang="FR-FR"><seg>{}</seg></tuv></tu>'
        units = "".join(unit.format(f"one {n}", f"un {n}") for n in range(30))
        write(name, OMEGAT.replace("</body>", f"{units}</body>"))
    elif name == "a.ods":
        cell = '<c:table-cell o:value-type="string"><x:p>{}</x:p></c:table-cell>'
        cells = ["".join(cell.format(field.partition(" <")[0]) for field in row) for row in rows]
        body = "".join(f"<c:table-row>{row}</c:table-row>" for row in cells)
        write(name, as_ods(f'<a xmlns:c="c" xmlns:o="o" xmlns:x="x"><c:table c:name="S">{body}</c:table></a>'))
    elif name == "a.parquet":
        tables = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        import pyarrow

        columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
        tables.write_table(pyarrow.table({key: list(value) for key, value in columns.items()}), name)
    elif name == "a.json":
        write(name, json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]))
    else:
        write(name, "sep=;\n" + "".join('"{}";"{}"\n'.format(*(f.replace('"', '""') for f in row)) for row in rows))
    code, text = said("train", "--data.train", name, *TRANSLATE, *SMALL)
    assert (code, "  target  " in text) == (0, True), text
    assert said("evaluate", "runs/mine", "--data", name)[0] == 0


# Pipes


def test_process_substitution_and_standard_input():
    write("a.tsv", "".join(f"one {n}\teins {n}\n" for n in range(30)))
    command = " ".join(tiny.command("train", "--data.train", "{}", *TRANSLATE, *SMALL, "--run", "{}"))
    for number, (where, before) in enumerate({"<(cat a.tsv)": "", "-": "cat a.tsv | "}.items()):
        line = before + command.format(where, number)
        done = subprocess.run(["bash", "-c", line], env=tiny.environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "  source  one 1\n  target  eins 1\n" in done.stderr
        assert not list(Path(str(number)).glob(".stream*"))
    assert 'train = "-"' in Path("1/config.toml").read_text()


def test_a_fifo_is_read_once_and_looked_at_for_what_it_is(said):
    os.mkfifo("pipe")
    text = "".join(json.dumps({"source": f"one {n}", "target": f"eins {n}"}) + "\n" for n in range(30))
    with subprocess.Popen([sys.executable, "-c", f"open('pipe', 'w').write({text!r})"]):
        code, told_ = said("train", "--data.train", "pipe", *TRANSLATE, *SMALL)
    assert code == 0
    assert "  source  one 1\n  target  eins 1\n" in told_


def test_an_empty_pipe(refused):
    os.mkfifo("pipe")
    with subprocess.Popen([sys.executable, "-c", "open('pipe', 'w')"]):
        assert re.fullmatch(r"\S+ is empty; give a file with text in it", refused("train", "--data.train", "pipe"))
    assert not list(Path("runs/mine").glob("*"))


# Pictures


@pytest.mark.parametrize("path", ["../../../../etc/passwd", "/etc/hostname", "out/a.png"])
def test_a_picture_outside_its_folder_is_refused(path, refused):
    Path("photos").mkdir()
    Path("elsewhere").mkdir()
    Path("photos/out").symlink_to(Path("elsewhere").absolute())
    write("photos/captions.tsv", f"a.png\tone\n{path}\ttwo\n")
    assert refused("train", "--data.train", "photos/captions.tsv", "--data.kind", "captions") == (
        f"line 2 of photos/captions.tsv names {path}, which is outside the pictures' folder photos; "
        "name the folder that all are in with [pictures] folder, or take the line out"
    )
