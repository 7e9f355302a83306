"""Where each word looked, as a picture."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from regard.look.pictures.overlay import draw_overlay, lit


def size(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def test_only_the_cell_that_was_looked_at_is_bright():
    picture = torch.full((3, 12, 12), 255, dtype=torch.uint8)
    weights = torch.zeros(9)
    weights[5] = 0.7  # middle row, last column
    light = lit(picture, weights, rows=3)
    assert light.shape == (12, 12, 3)
    assert np.allclose(light[4:8, 8:12], 1)
    light[4:8, 8:12] = 0.35
    assert np.allclose(light, 0.35)


def test_a_picture_that_is_not_square_and_a_grid_that_does_not_divide_it():
    picture = torch.randint(256, (3, 10, 25), dtype=torch.uint8)
    even = torch.full((15,), 1 / 15)
    assert np.allclose(lit(picture, even, rows=3), picture.permute(1, 2, 0).numpy() / 255)


def test_the_file_has_the_picture_once_for_each_word(tmp_path):
    path = tmp_path / "overlay.png"
    words = ["a", "small", "red", "ring", "on", "a", "large", "blue", "square"]
    draw_overlay(path, torch.full((3, 32, 32), 255, dtype=torch.uint8), words, torch.rand(9, 16))
    tall = size(path)
    draw_overlay(path, torch.full((3, 32, 32), 255, dtype=torch.uint8), words[:4], torch.rand(4, 16))
    assert size(path)[1] < tall[1]
