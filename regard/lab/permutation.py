"""Self-attention does not know order: f(s(x)) = s(f(x)) to rounding, until positions are added."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.config import Tagger, Transformer
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.room import Room
from regard.models.build import build
from regard.models.model import Source

LENGTHS = (4, 16, 64)


def measure(room: Room) -> Numbers:
    """Largest difference between permuting before and after, in float64, with and without positions."""
    numbers: Numbers = {"lengths": list(LENGTHS)}
    for positions in ("none", "sinusoid", "rotary"):
        config = Tagger(Transformer(width=64, layers=2, heads=4, positions=positions))
        model = build(config, 10, 50).double().eval()
        worst = []
        for length in LENGTHS:
            tokens = torch.randint(50, (8, length), generator=room.random())
            order = torch.randperm(length, generator=room.random())
            fed = torch.ones(8, length, dtype=torch.long)
            with torch.no_grad():
                plain, _ = model(fed, model.start(Source(tokens)))
                permuted, _ = model(fed, model.start(Source(tokens[:, order])))
            worst.append(float((permuted - plain[:, order]).abs().max()))
        numbers[f"differences, positions {positions}"] = worst
        numbers[f"largest difference, positions {positions}"] = max(worst)
    return numbers


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    for positions, style in (("none", "o-"), ("sinusoid", "s--"), ("rotary", "^:")):
        for seed, numbers in enumerate(seeds):
            axes.plot(
                numbers["lengths"], [max(d, 1e-17) for d in numbers[f"differences, positions {positions}"]], style,
                color={"none": "#0072b2", "sinusoid": "#d55e00", "rotary": "#009e73"}[positions],
                label=f"positions: {positions}" if seed == 0 else None,
            )  # fmt: skip
    axes.set(yscale="log", xscale="log", xlabel="tokens", ylabel="|f(s(x)) − s(f(x))|, largest")
    axes.legend(frameon=False)


CLAIM = Claim(
    name="permutation",
    says="Self-attention does not know order",
    equation="f(s(x)) = s(f(x)) for every permutation s",
    paper="Vaswani et al. 2017; Lee et al. 2019 (Set Transformer)",
    setup="A two-layer self-attention encoder with new weights reads random tokens, and the same in another order, in "
    "float64; with no positions, sinusoids, and rotary positions. Quick and full are the same.",
    marks=(
        Mark("largest difference, positions none", below=1e-12),
        Mark("largest difference, positions sinusoid", above=1e-3),
        Mark("largest difference, positions rotary", above=1e-3),
    ),
    measure=measure,
    draw=draw,
    next="Give only one of the two layers positions. Train it to sort, and see what it does with equal tokens.",
)
