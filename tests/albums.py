"""Small pictures with captions, and captioners of them; a test file takes the fixture `run` by name."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.config import Data, Pictures, Recipe, Recurrent, Seq2Seq, Text, Train, Transformer, Vision
from regard.training.loop import train
from regard.training.report import Report

COLOURS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230)}
EYES = Vision("residual", width=16, stages=2, channels=4, dropout=0.1)
DECODERS = {
    "one-vector": Seq2Seq(EYES, Recurrent("gru", width=16, layers=1), context="none"),
    "attention": Seq2Seq(EYES, Recurrent("gru", width=16, layers=1), similarity="bilinear"),
    "transformer": Seq2Seq(EYES, Transformer(width=16, layers=1, heads=2)),
}
USUAL = {
    "steps": 6,
    "evaluate": 3,
    "checkpoint": 2,
    "batch": 40,
    "rate": 0.01,
    "warmup": 2,
    "mixed_precision": "float32",
}


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
