"""Scenes: pictures that we draw, with a caption by a grammar and the true region of every word that names something.

A scene has one to three places from left to right. At each stands a thing, two or three alike, one thing above another,
or a small one on a large one: "two small blue rings left of a small white cross on a large green square". The caption
is a function of the picture, so it is right or wrong as a whole.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regard.data.corpora.sizes import SCENES
from regard.data.examples import Captioned, Split, own_split
from regard.data.images import as_pixels

SIDE = 64
LARGE, SMALL = 10, 6  # half of a thing's side, in pixels
MOST = 3  # groups of things in one scene
NUMBERS = ("a", "two", "three")
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (60, 90, 235),
    "yellow": (235, 215, 50),
    "purple": (165, 60, 190),
    "white": (240, 240, 240),
}
Mask = NDArray[np.bool_]
SHAPES: dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], Mask]] = {
    # Over the square from −1 to 1, y downwards.
    "circle": lambda x, y: x**2 + y**2 <= 1,
    "square": lambda x, y: np.maximum(abs(x), abs(y)) <= 0.95,
    "triangle": lambda x, y: (abs(x) <= (y + 1) / 2) & (y <= 0.9),
    "cross": lambda x, y: (np.minimum(abs(x), abs(y)) <= 0.3) & (np.maximum(abs(x), abs(y)) <= 1),
    "ring": lambda x, y: (x**2 + y**2 <= 1) & (x**2 + y**2 >= 0.3),
}
PLURALS = {"cross": "crosses"}


@dataclass(frozen=True)
class Group:
    """One to three things alike."""

    size: str  # "large" or "small"
    colour: str
    shape: str
    centres: tuple[tuple[float, float], ...]  # x and y of each, in pixels

    @property
    def words(self) -> list[str]:
        noun = self.shape if len(self.centres) == 1 else PLURALS.get(self.shape, self.shape + "s")
        return [NUMBERS[len(self.centres) - 1], self.size, self.colour, noun]

    @property
    def mask(self) -> Mask:
        """Which pixels (Y, X) it covers."""
        half = LARGE if self.size == "large" else SMALL
        y, x = np.mgrid[:SIDE, :SIDE] + 0.5
        covered = [SHAPES[self.shape]((x - across) / half, (y - down) / half) for across, down in self.centres]
        together: Mask = np.logical_or.reduce(covered)
        return together


@dataclass(frozen=True)
class Scene:
    """Groups in the order in which the caption names them, and the words that join each to the one before."""

    groups: tuple[Group, ...]
    joins: tuple[str, ...]
    seed: int

    @property
    def words(self) -> list[str]:
        said = self.groups[0].words
        for join, group in zip(self.joins, self.groups[1:], strict=True):
            said = [*said, *join.split(), *group.words]
        return said

    @property
    def caption(self) -> str:
        return " ".join(self.words)

    def regions(self) -> list[Mask | None]:
        """For each word of the caption the pixels (Y, X) that it speaks of; None for a, on, above, left, of.

        What stands on a thing hides it there: those pixels belong to the upper one alone.
        """
        found: list[Mask | None] = []
        for number, group in enumerate(self.groups):
            mask = group.mask
            if number and self.joins[number - 1] == "on":
                mask &= ~self.groups[number - 1].mask
            if number:
                found += [None] * len(self.joins[number - 1].split())
            found += [None if len(group.centres) == 1 else mask, mask, mask, mask]
        return found

    def pixels(self, side: int) -> NDArray[np.uint8]:
        """The picture (3, side, side), drawn and then made larger or smaller."""
        drawn = self.draw()
        return drawn if side == SIDE else as_pixels(Image.fromarray(drawn.transpose(1, 2, 0)), side)

    def draw(self) -> NDArray[np.uint8]:
        """Pixels (3, Y, X): dark grey, things of nearly their colour, the last named drawn first, and noise."""
        chance = np.random.default_rng(self.seed)
        picture = np.full((3, SIDE, SIDE), chance.uniform(20, 90))
        for group in reversed(self.groups):
            colour = np.array(COLOURS[group.colour]) + chance.uniform(-15, 15, 3)
            picture[:, group.mask] = colour[:, None]
        return np.clip(picture + chance.normal(0, 8, picture.shape), 0, 255).astype(np.uint8)


def scenes(split: Split) -> Iterator[Scene]:
    """The scenes of a part. Captions, not pictures, are split: what the test part says was never said in training."""
    drawn = (_scene(seed) for seed in _counting())
    return islice((scene for scene in drawn if own_split(scene.caption) == split), SCENES[split])


def captioned(split: Split) -> Iterator[Captioned]:
    """The same as any other pictures with captions."""
    return (Captioned(f"scene {scene.seed}", (scene.caption,), scene.pixels) for scene in scenes(split))


def cells_of(mask: Mask, rows: int, columns: int) -> Mask:
    """Which cells (rows, columns) of a grid over the picture the region touches."""
    y, x = np.nonzero(mask)
    cells = np.zeros((rows, columns), bool)
    cells[y * rows // SIDE, x * columns // SIDE] = True
    return cells


def _counting() -> Iterator[int]:
    seed = 0
    while True:
        yield seed
        seed += 1


def _scene(seed: int) -> Scene:
    draw = random.Random(seed).random  # the one method whose numbers stay the same in every version of Python
    places = 1 + int(draw() * MOST)
    left = MOST - places  # groups that may still be added to a place
    groups: list[Group] = []
    joins: list[str] = []
    for place in range(places):
        across = SIDE * (place + 0.5) / places + (draw() - 0.5) * max(0.0, SIDE / places - 2 * LARGE - 2)
        if place:
            joins.append("left of")
        kind = draw()
        if left and kind < 0.5:
            left -= 1
            relation = "above" if kind < 0.25 else "on"
            groups += _two(relation, across, draw)
            joins.append(relation)
        else:
            count = 1 if kind < 0.75 else 2 if kind < 0.9 else 3
            groups.append(_alike(count, across, draw))
    return Scene(tuple(groups), tuple(joins), seed)


def _alike(count: int, across: float, draw: Callable[[], float]) -> Group:
    """Things one under the other, none touching the next."""
    room = SIDE / count
    centres = tuple(
        (across, room * (number + 0.5) + (draw() - 0.5) * max(0.0, room - 2 * LARGE - 2)) for number in range(count)
    )
    return Group(
        _one_of(("large", "small"), draw), _one_of(tuple(COLOURS), draw), _one_of(tuple(SHAPES), draw), centres
    )


def _two(relation: str, across: float, draw: Callable[[], float]) -> tuple[Group, Group]:
    """A thing above another, or a small one on a large one of another colour."""
    first, second = _one_of(tuple(COLOURS), draw), _one_of(tuple(COLOURS), draw)
    shapes = _one_of(tuple(SHAPES), draw), _one_of(tuple(SHAPES), draw)
    if relation == "above":
        heights = SIDE / 4 + (draw() - 0.5) * 10, SIDE * 3 / 4 + (draw() - 0.5) * 10
        sizes = _one_of(("large", "small"), draw), _one_of(("large", "small"), draw)
        if (sizes[0], first, shapes[0]) == (sizes[1], second, shapes[1]):
            sizes = ("large", "small")  # two alike would have to be called two
        above, below = (
            Group(size, colour, shape, ((across, y),))
            for size, colour, shape, y in zip(sizes, (first, second), shapes, heights, strict=True)
        )
        return above, below
    if first == second:
        second = tuple(COLOURS)[(tuple(COLOURS).index(first) + 1) % len(COLOURS)]
    down = LARGE + 2 + draw() * (SIDE - 2 * LARGE - 4)
    centre = ((across, down),)
    return Group("small", first, shapes[0], centre), Group("large", second, shapes[1], centre)


def _one_of(names: tuple[str, ...], draw: Callable[[], float]) -> str:
    return names[int(draw() * len(names))]
