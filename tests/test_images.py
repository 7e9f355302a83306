"""Pictures: read, made square, kept, changed in training; captions as people write them down."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regard.config import Pictures, Vision
from regard.data.album import changed
from regard.data.captions import readable, together
from regard.data.images import Unreadable, read_picture, read_pictures, write_pictures
from regard.data.tables import Row
from regard.errors import UserError


def save(path: Path, width: int = 40, height: int = 40, mode: str = "RGB") -> Path:
    """A picture that gets redder to the right and greener downwards."""
    y, x = np.mgrid[:height, :width]
    colours = np.stack([255 * x / width, 255 * y / height, np.full_like(x, 50)], -1).astype(np.uint8)
    Image.fromarray(colours).convert(mode).save(path)
    return path


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "gif", "tiff", "webp"])
def test_every_usual_format(ending, tmp_path):
    pixels = read_picture(save(tmp_path / f"one.{ending}"), 16)
    assert pixels.shape == (3, 16, 16)
    assert pixels.dtype == np.uint8
    assert pixels[0, 8, 13] > pixels[0, 8, 2] + 100, "red grows to the right"
    assert pixels[1, 13, 8] > pixels[1, 2, 8] + 100, "green grows downwards"


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "LA"])
def test_every_mode_becomes_red_green_and_blue(mode, tmp_path):
    assert read_picture(save(tmp_path / f"one.{'tiff' if mode == 'CMYK' else 'png'}", mode=mode), 8).shape == (3, 8, 8)


def test_the_middle_square_is_kept_without_squeezing(tmp_path):
    """In a picture three times as wide as high, the middle third is the square."""
    wide = np.zeros((20, 60, 3), np.uint8)
    wide[:, 20:40] = 200
    Image.fromarray(wide).save(tmp_path / "wide.png")
    Image.fromarray(wide.transpose(1, 0, 2)).save(tmp_path / "high.png")
    for name in ("wide", "high"):
        assert (read_picture(tmp_path / f"{name}.png", 10)[:, 2:-2, 2:-2] == 200).all()


def test_what_is_transparent_is_white_and_what_lies_on_its_side_is_turned(tmp_path):
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "glass.png")
    assert (read_picture(tmp_path / "glass.png", 9) == 255).all()
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera was held on its side
    Image.open(save(tmp_path / "up.png", 32, 32)).save(tmp_path / "side.jpg", exif=turned, quality=95)
    up, side = (read_picture(tmp_path / name, 32).astype(int) for name in ("up.png", "side.jpg"))
    assert abs(np.rot90(up, -1, (1, 2)) - side).mean() < 6


def unreadable(path: Path) -> Unreadable:
    with pytest.raises(Unreadable) as error:
        read_picture(path, 8)
    assert "\n" not in str(error.value)
    return error.value


def test_pictures_that_cannot_be_read_say_why(tmp_path):
    good = save(tmp_path / "good.jpg", 200, 200).read_bytes()
    cases = {"text.jpg": b"once upon a time", "cut.jpg": good[: len(good) // 2], "empty.png": b""}
    cases["cut.png"] = save(tmp_path / "good.png", 200, 200).read_bytes()[:300]
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    assert str(unreadable(tmp_path / "text.jpg")) == (
        f"{tmp_path}/text.jpg is not a picture, whatever its name says; give a JPEG, PNG, WebP, GIF, BMP or TIFF"
    )
    assert (
        str(unreadable(tmp_path / "cut.jpg")) == f"{tmp_path}/cut.jpg is damaged or cut short; fetch or save it again"
    )
    assert unreadable(tmp_path / "cut.png").reason == "damaged or cut short"
    assert unreadable(tmp_path / "empty.png").reason == "not a picture"
    assert str(unreadable(tmp_path / "god.jpg")) == (
        f"{tmp_path}/god.jpg does not exist; did you mean '{tmp_path}/good.jpg'?"
    )
    assert unreadable(tmp_path).reason == "a folder"


@pytest.mark.parametrize("most", [100, 1000])  # Pillow itself refuses twice as many, and only warns of fewer
def test_a_picture_that_would_fill_the_memory_is_refused(most, tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    said = str(unreadable(save(tmp_path / "huge.png")))
    assert said == f"{tmp_path}/huge.png has more than {most:,} pixels; make it smaller"


@given(count=st.integers(0, 5), side=st.integers(1, 6))
def test_pictures_come_back_from_the_disk_as_they_were(tmp_path_factory, count, side):
    pictures = np.random.default_rng(count).integers(0, 256, (count, 3, side, side), dtype=np.uint8)
    path = tmp_path_factory.mktemp("store") / "all.pixels"
    write_pictures(path, iter(pictures))
    assert np.array_equal(read_pictures(path, side), pictures)


SOME = np.random.default_rng(0).integers(0, 256, (6, 3, 20, 20), dtype=np.uint8)
NOTHING = {"shift": 0.0, "colour": 0.0, "flip": False}


def change(seed: int, **settings) -> np.ndarray:
    return changed(SOME, Pictures(**{**NOTHING, **settings}), np.random.default_rng(seed))


def test_changes_follow_from_the_seed_alone():
    everything = {"shift": 0.1, "colour": 0.2, "flip": True}
    assert np.array_equal(change(1, **everything), change(1, **everything))
    assert not np.array_equal(change(1, **everything), change(2, **everything))
    assert np.array_equal(change(1), SOME), "no change where none is asked for"
    assert change(1, **everything).dtype == np.uint8


def test_a_flip_mirrors_some_and_only_if_asked():
    flipped = change(3, flip=True)
    same = [np.array_equal(a, b) for a, b in zip(flipped, SOME, strict=True)]
    assert any(same)
    assert not all(same)
    assert all(same[i] or np.array_equal(flipped[i], SOME[i][..., ::-1]) for i in range(len(SOME)))


def test_a_shift_moves_the_middle_as_one_piece_and_not_too_far():
    moved, most = change(4, shift=0.1), 2
    distances = set()
    for before, after in zip(SOME, moved, strict=True):
        inner = after[:, most : 20 - most, most : 20 - most]
        found = [
            (down, across)
            for down in range(-most, most + 1)
            for across in range(-most, most + 1)
            if np.array_equal(before[:, most + down : 20 - most + down, most + across : 20 - most + across], inner)
        ]
        assert len(found) == 1
        distances |= set(found)
    assert len(distances) > 1


def test_colours_change_by_no_more_than_asked():
    brighter = change(5, colour=0.1).astype(int) - SOME
    assert 0 < abs(brighter).max() <= 0.1 * 255 + 0.1 * 255 + 1
    assert all(len(np.unique(np.sign(picture))) for picture in brighter)
    ranks = [np.argsort(picture.ravel(), kind="stable") for picture in SOME]
    for picture, order in zip(change(5, colour=0.1), ranks, strict=True):
        assert (np.diff(picture.ravel()[order].astype(int)) >= 0).all(), "darker stays darker"


def test_captions_of_one_picture_come_together_in_order(tmp_path):
    said = [("b.jpg#0", "two  dogs"), ("a.jpg", "a cat"), ("b.jpg#1", "dogs")]
    rows, table = [Row(number, fields) for number, fields in enumerate(said, 1)], tmp_path / "table.tsv"
    found = list(together(rows, table, tmp_path))
    assert [(one.name, one.captions) for one in found] == [("b.jpg", ("two dogs", "dogs")), ("a.jpg", ("a cat",))]
    listed = list(together(rows, table, tmp_path, ["a.jpg", "", "a.jpg"]))
    assert [one.name for one in listed] == ["a.jpg"]
    with pytest.raises(UserError, match=r"image 'c.jpg' is listed, but no line of the captions names it"):
        list(together(rows, table, tmp_path, ["c.jpg"]))


def test_unreadable_pictures_are_left_out_counted_and_named(tmp_path):
    save(tmp_path / "good.jpg")
    (tmp_path / "text.jpg").write_text("no picture")
    names = ("gone.jpg", "text.jpg", "good.jpg", "away.jpg")
    rows = [Row(number, (name, "something")) for number, name in enumerate(names, 1)]
    skipped: Counter[str] = Counter()
    found = list(readable(together(rows, tmp_path / "table.tsv", tmp_path), 8, skipped))
    assert [(one.name, pixels.shape) for one, pixels in found] == [("good.jpg", (3, 8, 8))]
    assert skipped == {"picture not there (first: gone.jpg)": 2, "picture not a picture (first: text.jpg)": 1}


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"kind": "vgg16"},
            "kind 'vgg16' is too large to learn from few pictures and wants weights = FILE, found none; "
            "name a file, or use kind 'residual'",
        ),
        ({"weights": "x.pth"}, "weights are for kind vgg16, resnet50 or lite0, found kind 'residual'; leave them out"),
        ({"frozen": True}, "frozen keeps a body as its weights have it, and there are none; leave it out"),
    ],
)
def test_settings_that_cannot_be(settings, text):
    with pytest.raises(UserError) as error:
        Vision(**settings)
    assert str(error.value) == text
