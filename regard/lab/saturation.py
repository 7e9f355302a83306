"""Dot products need scaling: softmax saturates and its gradient goes with the width of keys, unless divided by √D_Q."""

from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any

import torch
from torch.autograd.functional import jacobian

from regard.config import Similarity, Tagger, Transformer
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import by_doubling, curve, draw_lines, held_out, letters, looked_up, recipe, tagged
from regard.lab.room import Room
from regard.layers.attention import similarity

WIDTHS = (4, 16, 64, 256, 1024)
KEYS, DRAWS = 32, 200
KINDS: dict[str, Similarity] = {"q·k": "dot", "q·k/√D": "scaled"}


def measure(room: Room) -> Numbers:
    numbers: Numbers = {"widths": list(WIDTHS), "largest weight": {}, "gradient": {}, "loss": {}}
    for name, kind in KINDS.items():
        found = [saturation(room, kind, width) for width in WIDTHS]
        numbers["largest weight"][name] = [weight for weight, _ in found]
        numbers["gradient"][name] = [gradient for _, gradient in found]
        numbers[f"largest weight at D = 1024, {name}"], numbers[f"gradient at D = 1024, {name}"] = found[-1]
    random = Random(room.seed)
    rows = [letters(random, 16) for _ in range(4000)]
    file = room.file("shift.tsv", tagged((row, looked_up(row, [1])) for row in rows))
    width, steps = room.by_effort((512, 200), (1024, 1000))
    for name, kind in KINDS.items():
        encoder = Transformer(width=64, layers=1, heads=1, key_width=width, similarity=kind, dropout=0.0)
        run = room.train(kind, recipe(file, Tagger(encoder), steps, rate=0.002))
        numbers["steps"], numbers["loss"][name] = curve(run)
        numbers[f"held-out loss, {name}"] = held_out(run)
    small, large = (max(numbers[f"gradient at D = 1024, {name}"], 1e-12) for name in KINDS)
    numbers["ratio of gradients at D = 1024, scaled to not scaled"] = large / small
    plain, scaled = (numbers[f"held-out loss, {name}"] for name in KINDS)
    numbers["ratio of held-out losses, not scaled to scaled"] = plain / scaled
    return numbers


def saturation(room: Room, kind: str, width: int) -> tuple[float, float]:
    """The largest of 32 weights, and ‖∂a/∂e‖; medians over queries and keys of independent numbers of variance 1."""
    random, compare = room.random(), similarity(kind, width, width)
    weights, gradients = [], []
    for _ in range(DRAWS):
        query, keys = (torch.randn(1, 1, n, width, generator=random) for n in (1, KEYS))
        scores = compare(query, keys)[0, 0, 0]
        weights.append(float(torch.softmax(scores, 0).max()))
        gradients.append(float(jacobian(lambda e: torch.softmax(e, 0), scores).norm()))
    return median(weights), median(gradients)


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    weights, gradients, losses = figure.subplots(1, 3)
    draw_lines(weights, seeds, "largest weight", "widths")
    by_doubling(weights, WIDTHS)
    weights.set(xlabel="width of keys D", ylabel=f"largest of {KEYS} weights", ylim=(0, 1.03))
    draw_lines(gradients, seeds, "gradient", "widths")
    by_doubling(gradients, WIDTHS)
    gradients.set(yscale="log", xlabel="width of keys D", ylabel="‖∂a/∂e‖")
    draw_lines(losses, seeds, "loss", "steps")
    losses.set(xlabel="updates", ylabel="training loss")


CLAIM = Claim(
    name="saturation",
    says="Dot products need scaling: without it softmax saturates as keys get wider, and learning suffers",
    equation="e = q·k has variance D_Q;  e = q·k / √D_Q has variance 1",
    paper="Vaswani et al. 2017 (3.2.1)",
    setup="Queries and 32 keys of independent numbers of variance 1, 200 draws at each width: medians. Then one block "
    "with one head learns to name the letter before, with and without scaling. Quick: keys of width 512, 200 updates; "
    "full: 1024, 1000.",
    marks=(
        Mark("largest weight at D = 1024, q·k", above=0.9),
        Mark("largest weight at D = 1024, q·k/√D", below=0.3),
        Mark("ratio of gradients at D = 1024, scaled to not scaled", above=10),
        Mark("ratio of held-out losses, not scaled to scaled", above=1.1),
    ),
    measure=measure,
    draw=draw,
    next="Start with smaller matrices instead of scaling: is that the same? Try similarity 'additive' at the same "
    "width.",
)
