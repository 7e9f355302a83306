"""From a folder of pictures to captions, as people type it; and what they read when something is wrong."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from PIL import Image
from test_vision import resnet_file, vgg_file

from regard.cli import main
from regard.config import Data, Pictures, Recipe, Recurrent, Seq2Seq, Text, Train, Transformer, Vision
from regard.data.batch import Captions
from regard.data.corpora.scenes import SIDE, captioned, scenes
from regard.errors import UserError
from regard.runs import Folder, load_run
from regard.train.captions import caption_scores
from regard.train.judge import judge
from regard.train.loop import Training, train
from regard.train.parallel import World
from regard.train.pointing import pointing
from regard.train.prepare import material, prepare
from regard.train.report import Report

COLOURS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230)}
EYES = Vision("residual", width=16, stages=2, channels=4, dropout=0.1)
DECODERS = {
    "one-vector": Seq2Seq(EYES, Recurrent("gru", width=16, layers=1), context="none"),
    "attention": Seq2Seq(EYES, Recurrent("gru", width=16, layers=1), similarity="bilinear"),
    "transformer": Seq2Seq(EYES, Transformer(width=16, layers=1, heads=2)),
}
USUAL = {"steps": 6, "evaluate": 3, "checkpoint": 2, "batch": 40, "rate": 0.01, "warmup": 2, "precision": "float32"}


def album(folder: Path, count: int = 24) -> Path:
    """Pictures of one colour, each with two captions in Flickr8k's format."""
    lines = []
    for number in range(count):
        colour = list(COLOURS)[number % 3]
        pixels = np.full((20, 30, 3), COLOURS[colour], np.uint8)
        Image.fromarray(np.clip(pixels.astype(int) + number, 0, 255).astype(np.uint8)).save(folder / f"{number}.png")
        lines += [f"{number}.png#0\tit is {colour} .\n", f"{number}.png#1\tall {colour}\n"]
    path = folder / "captions.tsv"
    path.write_text("".join(lines))
    return path


def recipe(folder: Path, name: str = "attention", side: int = 16, **settings) -> Recipe:
    return Recipe(
        Data(str(album(folder)), share=0.25),
        model=DECODERS[name],
        text=Text("words"),
        pictures=Pictures(side=side, flip=True),
        train=Train(**{**USUAL, **settings}),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A captioner that has seen a few pictures."""
    folder = tmp_path_factory.mktemp("captioner")
    return train(recipe(folder, metric="cider"), folder / "run", Report(quiet=True))


def test_pixels_and_captions_come_to_the_folder_once(tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    found = material(Folder(tmp_path / "run"))
    (pictures, captions), (others, _) = found.train, found.valid
    assert len(pictures) + len(others) == 24
    assert others.pixels.shape[1:] == (3, 16, 16)
    assert len(captions) == 2 * len(pictures)
    tokenizer = load_run(tmp_path / "run").tokenizer
    for picture in range(len(pictures)):
        said = {tokenizer.decode(captions[j]) for j in range(pictures.first[picture], pictures.first[picture + 1])}
        colour = list(COLOURS)[int(pictures.pixels[picture].mean((1, 2)).argmax())]
        assert said == {f"it is {colour} .", f"all {colour}"}
    for file in tmp_path.glob("*.png"):  # the run needs them no more
        file.unlink()
    assert train(None, tmp_path / "run", Report(quiet=True)).folder.read_log()[-1]["step"] == 6


def test_each_picture_is_in_a_batch_with_all_its_captions_and_an_epoch_has_every_picture_once(tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    album_, target = material(Folder(tmp_path / "run")).train
    batches = Captions(album_, target, 40, seed=3)
    assert batches.per_epoch > 2
    seen = []
    for step in range(batches.per_epoch):
        batch = batches.at(step)
        assert (batch.source_row.bincount() == 2).all()
        assert len(batch.source) == batch.size // 2
        assert (batch.targets != -100).sum() <= 40 or len(batch.source) == 1
        assert torch.equal(batches.at(step).source, batch.source), "the same step gives the same changes"
        seen += batch.tokens[:, 1:].flatten().tolist()
    assert len(seen) >= sum(len(target[i]) for i in range(len(target)))
    first, later = batches.at(0), batches.at(batches.per_epoch * 2)
    assert first.source.shape[1:] == later.source.shape[1:]
    unchanged = torch.cat([batches.batch(batches.in_order(i)).source for i in range(batches.per_epoch)])
    assert len(unchanged) == len(album_)
    assert sorted(unchanged.float().mean((1, 2, 3)).tolist()) == sorted(
        torch.from_numpy(np.array(album_.pixels)).float().mean((1, 2, 3)).tolist()
    )


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_shares_of_a_batch_hold_the_pictures_of_their_rows(parts, tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    batch = Captions(*material(Folder(tmp_path / "run")).train, 60, seed=0).at(1)
    row = 0
    for part in range(parts):
        share = batch.rows(part, parts)
        if not share.wanted:
            continue
        for mine in range(share.size):
            theirs = batch.source[batch.source_row[row]]
            assert torch.equal(share.source[share.source_row[mine]], theirs)
            row += 1
    assert row == batch.size


def test_reading_a_picture_once_for_all_its_captions_is_reading_it_for_each(tmp_path):
    training = trained(tmp_path, steps=1)
    objective = training.objective.eval()
    batch = training.batches.at(0)
    together = objective(batch, None)
    apart = objective(batch._replace(source=batch.source[batch.source_row], source_row=None), None)
    torch.testing.assert_close(together.loss, apart.loss)
    torch.testing.assert_close(together.loss, sum(objective(batch.rows(i, 3), None).loss for i in range(3)))


def trained(folder: Path, **settings) -> Training:
    prepare(Folder(folder / "run"), recipe(folder, **settings))
    return Training(load_run(folder / "run"), World(), Report(quiet=True))


@pytest.mark.parametrize("name", DECODERS)
def test_a_run_that_stopped_goes_on_bit_for_bit(name, tmp_path):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    settings = {"name": name, "metric": "exact"}
    train(recipe(tmp_path / "one", **settings), tmp_path / "one/run", Report(quiet=True))
    stopped = trained(tmp_path / "other", **settings)
    for _ in range(4):
        stopped.update()
        if stopped.progress.step == 3:
            stopped.look()
    stopped.checkpoint()
    train(None, tmp_path / "other/run", Report(quiet=True))
    here, there = (tiny.load_file(tmp_path / name / "run/model.safetensors") for name in ("one", "other"))
    assert all(here[key].tobytes() == there[key].tobytes() for key in here)


def test_parts_of_a_batch_and_two_processes_learn_the_same(tmp_path):
    """Parts and processes share out captions, and with them pictures: some are read twice, and nothing changes."""
    eyes, cells = replace(EYES, dropout=0.0), Recurrent("gru", width=16, layers=1, dropout=0.0)
    whole = replace(recipe(tmp_path), model=Seq2Seq(eyes, cells, similarity="bilinear"))
    train(whole, tmp_path / "whole", Report(quiet=True))
    in_parts = replace(whole, train=replace(whole.train, accumulate=3))
    train(in_parts, tmp_path / "parts", Report(quiet=True))
    Folder(tmp_path).write_config(whole)
    done = tiny.in_two_processes("train", tmp_path / "config.toml", "--folder", tmp_path / "both")
    assert done.returncode == 0, done.stderr

    def losses(name: str) -> list[float]:
        return [entry["held_out"]["loss"] for entry in Folder(tmp_path / name).read_log() if "held_out" in entry]

    assert losses("parts") == pytest.approx(losses("whole"), abs=2e-5)
    assert losses("both") == pytest.approx(losses("whole"), abs=2e-5)


def test_it_learns_to_say_the_colour(tmp_path):
    made = train(
        recipe(tmp_path, "attention", steps=120, evaluate=60, metric="exact"), tmp_path / "run", Report(quiet=True)
    )
    assert judge(made.folder.path)["exact"] > 60  # by chance a third


def test_several_references(run):
    references = [["a red dog", "the dog is red"], ["two cats"]]
    perfect = caption_scores(["the dog is red", "two cats"], references)
    assert perfect["exact"].value == 100
    assert perfect["bleu_1"].value == pytest.approx(100)
    assert "nrefs:var" in perfect["bleu"].signature
    other = caption_scores(["the dog is blue", "two cats"], references)
    assert other["bleu_1"].value < 100
    assert other["chrf"].value < perfect["chrf"].value
    assert caption_scores(["a red dog", "two cats"], references)["exact"].value == 100
    figures = judge(run.folder.path)
    assert {"bleu_1", "bleu", "chrf", "cider", "exact", "cider_signature", "bits_per_byte"} <= figures.keys()
    assert "nrefs:2" in figures["bleu_signature"]


LOOKS = {
    "at the thing": lambda word: True,
    "anywhere": lambda word: False,
    "away at a size": lambda word: word not in SIZES,
}
SIZES = ("large", "small")


@pytest.mark.parametrize("look", LOOKS)
def test_pointing_is_one_for_a_model_that_knows_and_chance_for_one_that_does_not(look, run, monkeypatch):
    some = list(islice(scenes("test"), 20))
    tokenizer = run.tokenizer.learn([scene.caption for scene in some], None)
    truth = iter(some)

    def weights(model, pixels, fed):
        scene, rows = next(truth), []
        for word, region in zip(scene.words, scene.regions(), strict=True):
            there = region is not None and LOOKS[look](word)
            cells = region.reshape(8, 8, 8, 8).any((1, 3)) if there else np.ones((8, 8))
            rows.append(torch.from_numpy(cells / cells.sum()).flatten())
        return torch.stack(rows)

    monkeypatch.setattr("regard.train.pointing.attention_to_source", weights)
    found = pointing(run.model, tokenizer, some, SIDE)
    assert found.words == sum(region is not None for scene in some for region in scene.regions())
    assert 0.02 < found.chance < 0.2
    if look == "at the thing":
        assert found.hits == found.things == 1
        assert found.mass == pytest.approx(1)
    elif look == "anywhere":
        assert found.mass == pytest.approx(found.chance)
    else:  # one word of each thing is missed, the thing itself is not
        assert 0.6 < found.hits < 0.8
        assert found.things == 1


def test_scenes_are_captions_like_any_other():
    one, scene = next(captioned("test")), next(scenes("test"))
    assert one.captions == (scene.caption,)
    assert np.array_equal(one.pixels(SIDE), scene.draw())
    assert one.pixels(32).shape == (3, 32, 32)


# ---- published weights


@pytest.mark.parametrize(("kind", "file"), [("vgg16", vgg_file), ("resnet50", resnet_file)])
@pytest.mark.parametrize("frozen", [True, False])
def test_training_starts_from_published_weights_and_freezes_them_if_asked(kind, file, frozen, tmp_path):
    weights = file()
    torch.save(weights, tmp_path / "eyes.pth")
    eyes = Vision(kind, width=8, weights=str(tmp_path / "eyes.pth"), frozen=frozen)
    model = Seq2Seq(eyes, Recurrent("rnn", width=8, layers=1))
    data = Data(str(album(tmp_path, 8)), share=0.3)
    small = Train(**{**USUAL, "steps": 1, "batch": 16, "rate": 0.001})
    whole = Recipe(data, model=model, text=Text("words"), pictures=Pictures(side=32), train=small)
    made = train(whole, tmp_path / "run", Report(quiet=True))
    (tmp_path / "eyes.pth").unlink()  # the run is whole without it
    body = dict(load_run(tmp_path / "run").model.encoder.regions.body.state_dict())
    first = "stages.0.0.weight" if kind == "vgg16" else "stem.0.weight"
    published = weights["features.0.weight" if kind == "vgg16" else "conv1.weight"]
    assert torch.equal(body[first], published) == frozen
    torch.testing.assert_close(body[first], published, rtol=0, atol=0.01)
    assert made.model.training is False


def test_weights_that_are_not_there(tmp_path):
    eyes = Vision("vgg16", weights=str(tmp_path / "none.pth"))
    wanted = Recipe(Data(str(album(tmp_path))), model=Seq2Seq(eyes, Recurrent(layers=1)), text=Text("words"))
    with pytest.raises(UserError, match=r"none\.pth does not exist; give the path of a file with weights"):
        train(wanted, tmp_path / "run", Report(quiet=True))


# ---- what people type


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


def test_flickr8k_as_it_comes(tmp_path, capsys):
    where = album(tmp_path)
    for name, numbers in (("train", range(18)), ("dev", range(18, 24))):
        (tmp_path / f"{name}.txt").write_text("".join(f"{number}.png\n" for number in numbers))
    lists = Data((str(where), str(tmp_path / "train.txt")), valid=(str(where), str(tmp_path / "dev.txt")))
    small = Train(**{**USUAL, "steps": 1})
    made = Recipe(lists, model=DECODERS["attention"], text=Text("words"), pictures=Pictures(side=16), train=small)
    train(made, tmp_path / "run", Report(quiet=True))
    facts = json.loads((tmp_path / "run/tokens/facts.json").read_text())
    (tmp_path / "20.png").unlink()
    figures = judge(tmp_path / "run", (str(where), str(tmp_path / "dev.txt")))
    assert (figures["pictures"], figures["left_out"]) == (5, "1 picture not there (first: 20.png)")
    assert (facts["train_pictures"], facts["valid_pictures"]) == (18, 6)


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
