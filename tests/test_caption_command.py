"""From a folder of pictures to captions, as people type it; and what they read when something is wrong."""

import json
from pathlib import Path

import albums
import tiny
from albums import album, recipe

from regard.cli import main
from regard.training.loop import train
from regard.training.report import Report

run = albums.run


# Captioning


def test_caption_says_a_line_for_each_picture_and_draws_where_it_looked(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    album(tmp_path, 3)
    assert main(["caption", str(run.folder.path), "0.png"]) == 0
    alone = capsys.readouterr().out
    assert main(["caption", str(run.folder.path), "0.png", "1.png", "--save", "looks.png"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["0.png", "1.png"]
    assert lines[0] == f"0.png\t{alone.rstrip()}"
    assert sorted(path.name for path in tmp_path.glob("looks*")) == ["looks-0.png", "looks-1.png"]
    assert main(["caption", str(run.folder.path), "0.png", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"image": "0.png", "caption": alone.rstrip()}


def test_several_captions_of_a_picture_best_first(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    album(tmp_path, 2)
    images, path = ["0.png", "1.png"], str(run.folder.path)
    assert main(["caption", path, *images, "--n-best", "3"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [image for image, _, _ in rows] == ["0.png"] * 3 + ["1.png"] * 3
    for some in (rows[:3], rows[3:]):
        assert len({text for _, text, _ in some}) == 3
        assert [float(score) for _, _, score in some] == sorted((float(score) for _, _, score in some), reverse=True)
    assert main(["caption", path, *images]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{image}\t{text}" for image, text, _ in (rows[0], rows[3])]
    assert main(["caption", path, "1.png", "--n-best", "3", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["image"], one["caption"], f"{one['score']:.4f}") for one in found] == [*map(tuple, rows[3:])]
    assert main(["caption", path, "1.png", "--must", "blue", "--precision", "int8", "--ensemble", path]) == 0
    assert "blue" in capsys.readouterr().out.split()


def test_captions_before_a_picture_that_cannot_be_read_are_said(run, tmp_path, capsys):
    album(tmp_path, 1)
    assert main(["caption", str(run.folder.path), str(tmp_path / "0.png"), str(tmp_path / "9.png")]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{tmp_path}/0.png\t")
    assert shown.err.startswith(f"regard: {tmp_path}/9.png does not exist")


# Mistakes


def refused(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("preparing ")]
    assert len(said) == 1, said
    return said[0].removeprefix("regard: ")


def test_pictures_that_cannot_be_captioned(run, tmp_path, capsys):
    good = album(tmp_path, 1).with_name("0.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(good[:60])
    (tmp_path / "text.jpg").write_text("no picture")
    path = run.folder.path
    assert refused(capsys, "caption", path, tmp_path / "1.png").startswith(
        f"{tmp_path}/1.png does not exist; did you mean"
    )
    assert "text.jpg is not a picture, whatever its name says" in refused(
        capsys, "caption", path, tmp_path / "text.jpg"
    )
    assert "cut.png is damaged or cut short" in refused(capsys, "caption", path, tmp_path / "cut.png")
    assert refused(capsys, "caption", path, tmp_path / "0.png", "--save", "x.doc") == (
        "--save wants a name that ends in .png, .svg or .pdf, found 'x.doc'"
    )


def test_a_run_that_is_no_captioner(tmp_path, capsys):
    train(tiny.recipe(tmp_path, "lm-rnn", steps=2, evaluate=2), tmp_path / "run", Report(quiet=True))
    assert refused(capsys, "caption", tmp_path / "run", "x.png") == (
        f"{tmp_path}/run is a language model, caption wants a captioner; use write"
    )


def test_a_captioner_without_attention_has_no_overlay(tmp_path, capsys):
    train(recipe(tmp_path, "one-vector"), tmp_path / "run", Report(quiet=True))
    assert refused(capsys, "caption", tmp_path / "run", tmp_path / "0.png", "--save", tmp_path / "x.png") == (
        "this model has no attention over a source, so there is no alignment to show"
    )


# Training


def write_captions(where: Path, text: str, **pictures) -> list[str]:
    (where / "captions.tsv").write_text(text)
    settings = [word for key, value in pictures.items() for word in (f"--pictures.{key}", str(value))]
    model = ["--model.kind", "seq2seq", "--model.encoder.kind", "residual"]
    return ["train", "--data.train", str(where / "captions.tsv"), *model, *settings, "--run", str(where / "run")]


def test_captions_that_cannot_be_trained_on(tmp_path, capsys):
    album(tmp_path, 2)
    assert refused(capsys, *write_captions(tmp_path, "0.png\ta dog\n1.png a cat\n")) == (
        f"line 2 of {tmp_path}/captions.tsv, '1.png a cat', has no tab; write the image, a tab, the caption"
    )
    assert refused(capsys, *write_captions(tmp_path, "8.png\ta dog\n9.png\ta cat\n")) == (
        f"{tmp_path}/captions.tsv has no picture to train on (2 pictures not there (first: 8.png)); "
        "check [pictures] folder and the data"
    )
    assert refused(capsys, *write_captions(tmp_path, "0.png\ta dog\n", folder="nowhere")) == (
        "[pictures] folder 'nowhere' does not exist; name the folder that the images are in"
    )


def test_pictures_left_out_in_training_are_named_and_counted(tmp_path, capsys):
    where = album(tmp_path)
    (tmp_path / "5.png").unlink()
    (tmp_path / "7.png").write_text("no picture")
    words = write_captions(tmp_path, where.read_text(), side=16)
    small = ["--train.steps", "1", "--train.batch", "64", "--data.share", "0.3", "--model.encoder.channels", "4"]
    assert main([*words, *small, "--model.encoder.stages", "2", "--text.kind", "words"]) == 0
    said = capsys.readouterr().err
    assert "1 picture not there (first: 5.png)" in said
    assert "1 picture not a picture (first: 7.png)" in said


def test_captions_want_a_model_that_reads_pictures(tmp_path, capsys):
    said = refused(
        capsys, "train", "--data.train", album(tmp_path), "--data.kind", "captions", "--data.share", "0.3",
        "--model.kind", "seq2seq",
        "--text.kind", "words", "--run", tmp_path / "run",
    )  # fmt: skip
    assert said == (
        "data.train holds captions, which wants a model of kind 'seq2seq' that reads pictures, found 'seq2seq'; "
        "change [model], or the data"
    )
