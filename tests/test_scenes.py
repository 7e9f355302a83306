"""Drawn scenes: a caption is a function of its picture, and the region of every word is where the thing is."""

from itertools import islice

import numpy as np
import pytest

from regard.data.corpora.scenes import COLOURS, SHAPES, SIDE, Group, Scene, cells_of, scenes
from regard.data.corpora.sizes import SCENES
from regard.data.examples import SPLITS

SOME = list(islice(scenes("train"), 400))
CONTENT = {
    "two",
    "three",
    "large",
    "small",
    *COLOURS,
    *SHAPES,
    *(f"{shape}s" for shape in set(SHAPES) - {"cross"}),
    "crosses",
}


def test_the_same_every_time():
    again = list(islice(scenes("train"), 5))
    assert again == SOME[:5]
    assert all(np.array_equal(one.draw(), other.draw()) for one, other in zip(again, SOME, strict=False))
    assert again[0].caption == "a small blue cross left of a small yellow square left of a small white ring"
    assert int(again[0].draw().sum(dtype=np.int64)) == CHECKSUM


CHECKSUM = 885423  # drawn once; another number here would mean another corpus under the same name


def test_no_caption_is_in_two_parts():
    said = {split: {scene.caption for scene in scenes(split)} for split in SPLITS}
    assert not said["train"] & said["test"]
    assert not said["train"] & said["valid"]
    assert not said["valid"] & said["test"]
    assert {split: sum(1 for _ in scenes(split)) for split in SPLITS} == SCENES


def test_all_that_is_promised_is_there():
    words = {word for scene in SOME for word in scene.words}
    assert words == CONTENT | {"a", "left", "of", "above", "on"}


def test_every_content_word_has_a_region_and_no_other_has():
    for scene in SOME:
        regions = scene.regions()
        assert len(regions) == len(scene.words)
        for word, region in zip(scene.words, regions, strict=True):
            assert (region is not None) == (word in CONTENT), word
            assert region is None or region.any(), f"{word} is nowhere in {scene.caption}"


def test_a_region_has_the_colour_that_its_word_says():
    """Told from the pixels alone: the nearest of the colours, at nearly every pixel of the region."""
    names, colours = list(COLOURS), np.array(list(COLOURS.values()))
    for scene in SOME[:100]:
        pixels = scene.draw().astype(int)
        for word, region in zip(scene.words, scene.regions(), strict=True):
            if word in COLOURS:
                distances = ((pixels[:, region].T[:, None] - colours) ** 2).sum(-1)
                assert (distances.argmin(1) == names.index(word)).mean() > 0.9, scene.caption


def test_things_stand_as_the_caption_says():
    """Left, above and on, told from the regions: the caption can be read off the picture."""

    def centre(region: np.ndarray) -> tuple[float, float]:
        y, x = np.nonzero(region)
        return y.mean(), x.mean()

    for scene in SOME:
        for join, one, other in zip(scene.joins, scene.groups, scene.groups[1:], strict=False):
            (y, x), (below, right) = centre(one.mask), centre(other.mask)
            if join == "left of":
                assert np.nonzero(one.mask)[1].max() < np.nonzero(other.mask)[1].min()
            elif join == "above":
                assert np.nonzero(one.mask)[0].max() < np.nonzero(other.mask)[0].min()
                assert abs(x - right) < 1
            else:
                assert abs(y - below) < 4  # a triangle hangs low
                assert abs(x - right) < 1
                assert one.colour != other.colour


def test_a_large_thing_covers_more_than_a_small_one_and_stays_in_the_picture():
    for shape in SHAPES:
        large, small = (Group(size, "red", shape, ((32.0, 32.0),)).mask.sum() for size in ("large", "small"))
        assert large > 2 * small
    for scene in SOME:
        edge = np.ones((SIDE, SIDE), bool)
        edge[1:-1, 1:-1] = False
        assert not any((group.mask & edge).any() for group in scene.groups)


def test_groups_are_counted_as_they_are_drawn():
    """The pieces of a group that do not touch each other are as many as its number says."""
    for scene in SOME:
        for group in scene.groups:
            rows = group.mask.any(1)
            pieces = int((np.diff(rows.astype(int), prepend=0) == 1).sum())
            assert ("a", "two", "three").index(group.words[0]) + 1 == pieces


@pytest.mark.parametrize("grid", [4, 8])
def test_cells_are_those_that_a_region_touches(grid):
    step = SIDE // grid
    for scene in SOME[:50]:
        for region in scene.regions():
            if region is not None:
                by_hand = region.reshape(grid, step, grid, step).any((1, 3))
                assert np.array_equal(cells_of(region, grid, grid), by_hand)


def test_what_lies_on_a_thing_hides_it():
    centre = ((32.0, 32.0),)
    scene = Scene((Group("small", "red", "circle", centre), Group("large", "blue", "square", centre)), ("on",), 0)
    assert scene.caption == "a small red circle on a large blue square"
    upper, lower = scene.regions()[3], scene.regions()[8]
    assert not (upper & lower).any()
    assert upper[32, 32]
