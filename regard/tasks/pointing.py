"""Does it look at the red circle when it says "red circle"? Scored where the true region of every word is known."""

from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from regard.data.corpora.scenes import Scene, cells_of
from regard.look.align.weights import attention_to_source
from regard.models.model import Model
from regard.special import START
from regard.text.tokenizer import Tokenizer


class Pointing(NamedTuple):
    """Means over the words that name something."""

    hits: float  # how often the region that most weight is on touches what the word names
    mass: float  # how much of all weight is on such regions
    chance: float  # both of these, if it looked anywhere
    things: float  # `hits` with one look for each thing named: the mean over its size, colour and shape
    words: int


def pointing(model: Model, tokenizer: Tokenizer, scenes: list[Scene], side: int) -> Pointing:
    """The model is fed the true caption; the weights with which it predicts each word are held against the truth."""
    words: list[tuple[float, float, float]] = []
    things: list[float] = []
    for scene in scenes:
        tokens = tokenizer.encode(scene.caption)
        fed = torch.tensor([START, *tokens[:-1]])
        weights = attention_to_source(model, torch.from_numpy(scene.pixels(side)), fed).numpy()  # (T, S)
        grid = round(weights.shape[1] ** 0.5)
        regions = scene.regions()
        said = [regions[len(tokenizer.decode(tokens[: place + 1]).split()) - 1] for place in range(len(tokens))]
        for _, same in groupby(zip(said, weights, strict=True), key=lambda pair: id(pair[0])):
            (region, *_), rows = zip(*same, strict=True)
            if region is None:
                continue
            cells = cells_of(region, grid, grid).flatten()
            words += [(float(cells[row.argmax()]), float(row[cells].sum()), float(cells.mean())) for row in rows]
            things.append(float(cells[np.mean(rows, 0).argmax()]))
    hits, mass, chance = map(float, np.mean(words, 0))
    return Pointing(hits, mass, chance, float(np.mean(things)), len(words))
