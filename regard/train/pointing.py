"""Does it look at the red circle when it says "red circle"? Scored where the true region of every word is known."""

from typing import NamedTuple

import numpy as np
import torch

from regard.data.corpora.scenes import Scene, cells_of
from regard.look.alignment import attention_to_source
from regard.models.model import Model
from regard.text import START, Tokenizer


class Pointing(NamedTuple):
    """Means over the words that name something."""

    hits: float  # how often the region that most weight is on touches what the word names
    mass: float  # how much of all weight is on such regions
    chance: float  # both figures, if it looked anywhere
    words: int


def pointing(model: Model, tokenizer: Tokenizer, scenes: list[Scene], side: int) -> Pointing:
    """The model is fed the true caption; the weights with which it predicts each word are held against the truth."""
    found: list[tuple[float, float, float]] = []
    for scene in scenes:
        tokens = tokenizer.encode(scene.caption)
        fed = torch.tensor([START, *tokens[:-1]])
        weights = attention_to_source(model, torch.from_numpy(scene.pixels(side)), fed).numpy()  # (T, S)
        grid = round(weights.shape[1] ** 0.5)
        regions = scene.regions()
        for place, row in enumerate(weights):
            word = len(tokenizer.decode(tokens[: place + 1]).split()) - 1
            region = regions[word]
            if region is not None:
                cells = cells_of(region, grid, grid).flatten()
                found.append((float(cells[row.argmax()]), float(row[cells].sum()), float(cells.mean())))
    hits, mass, chance = np.mean(found, 0)
    return Pointing(float(hits), float(mass), float(chance), len(found))
