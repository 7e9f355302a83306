"""Weights between 0 and 1 that sum to 1; mixing that depends on the input beats mixing that does not."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch

from regard.config import Classifier, Pooled
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import cells, classified, draw_lines, marked, recipe
from regard.lab.room import Room
from regard.look.pictures.style import GREY
from regard.look.trace import trace
from regard.models.model import Source
from regard.special import START

MIXINGS: dict[str, Pooled] = {"attention": "attention", "uniform": "mean", "last state": "stop"}
LENGTH = 24
DISTANCES = (2, 6, 10, 14, 18, 22)


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [marked(random, random.randint(1, LENGTH), LENGTH) for _ in range(room.by_effort(6000, 20_000))]
    file = room.file("marked.tsv", (f"{label}\t{text}" for label, text in rows))
    width, steps = room.by_effort((32, 300), (128, 2000))
    numbers: Numbers = {"distances": list(DISTANCES), "right": {}}
    for name, pooling in MIXINGS.items():
        run = room.train(pooling, recipe(file, Classifier(cells("rnn", width), pooling), steps, batch=2500))
        right = [classified(run, [marked(random, far, LENGTH) for _ in range(100)]) for far in DISTANCES]
        numbers["right"][name] = right
        numbers[f"accuracy, {name}"] = sum(right) / len(right)
        if name == "attention":
            tokens = torch.tensor([run.source_tokenizer.encode(text) for _, text in rows[:100]])
            with trace(run.model, "weights") as seen, torch.no_grad():
                run.model(torch.full((len(tokens), 1), START), run.model.start(Source(tokens)))
            (weights,) = seen.values()  # (B, 1, 1, S)
            numbers["smallest weight"] = float(weights.min())
            numbers["largest weight"] = float(weights.max())
            numbers["furthest sum of weights from 1"] = float((weights.sum(-1) - 1).abs().max())
    numbers["difference in accuracy, attention − uniform"] = (
        numbers["accuracy, attention"] - numbers["accuracy, uniform"]
    )
    numbers["difference in accuracy, attention − last state"] = (
        numbers["accuracy, attention"] - numbers["accuracy, last state"]
    )
    return numbers


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "right", "distances")
    axes.axhline(1 / 8, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlabel="how far from the end the marked letter stands", ylabel="share named right", ylim=(0, 1.03))
    axes.set_xticks(DISTANCES)


CLAIM = Claim(
    name="mixing",
    says="Attention mixes with weights from 0 to 1 that sum to 1, and mixing by the input beats fixed mixing",
    equation="c = Σ_i a_i h_i, a = softmax(e): against a_i = 1/S, and against c = h_S",
    paper="Bahdanau et al. 2015; Yang et al. 2016",
    setup="A vanilla RNN reads 24 letters (8 kinds) and a mark; which letter stands behind the mark? Its states are "
    "mixed by attention, evenly, or the last one is taken. Quick: width 32, 300 updates; full: width 128, 2000. "
    "Chance: 1/8.",
    marks=(
        Mark("smallest weight", above=-1e-9),
        Mark("furthest sum of weights from 1", below=1e-5),
        Mark("difference in accuracy, attention − uniform", above=0.05),
        Mark("difference in accuracy, attention − last state", above=0.05),
    ),
    measure=measure,
    draw=draw,
    next="Put two marks, and ask for both letters. Take an LSTM: how far does its last state reach?",
)
