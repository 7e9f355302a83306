"""Self-attention does not know order: f(s(x)) = s(f(x)) to rounding; it can count, but not say which came first."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch

from regard.config import Classifier, PositionScheme, Tagger
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, by_doubling, classified, draw_bars, draw_lines, letters, recipe
from regard.lab.room import Room
from regard.look.pictures.style import GREY
from regard.models.build import build
from regard.models.model import Source

LENGTHS = (4, 16, 64)
SCHEMES: tuple[PositionScheme, ...] = ("none", "sinusoid", "rotary")
TASKS = {"count": "which is\nmore?", "order": "which is\nfirst?"}


def measure(room: Room) -> Numbers:
    numbers: Numbers = {"lengths": list(LENGTHS), "differences": {}}
    for positions in SCHEMES:
        worst = [difference(room, positions, length) for length in LENGTHS]
        numbers["differences"][f"positions: {positions}"] = worst
        numbers[f"largest difference, positions {positions}"] = max(worst)
    random = Random(room.seed)
    for task in TASKS:
        rows = [example(random, task) for _ in range(7000)]
        file = room.file(f"{task}.tsv", (f"{label}\t{text}" for label, text in rows[1000:]))
        for positions in SCHEMES[:2]:
            model = Classifier(blocks(*room.by_effort((32, 2, 2), (64, 4, 4)), positions), pooling="mean")
            run = room.train(f"{task} {positions}", recipe(file, model, room.by_effort(200, 1000), batch=2000))
            numbers[f"accuracy, {task}, positions {positions}"] = classified(run, rows[:1000])
    return numbers


def difference(room: Room, positions: PositionScheme, length: int) -> float:
    """The largest difference between permuting before and after, in float64."""
    model = build(Tagger(blocks(64, 2, 4, positions)), 10, 50).double().eval()
    tokens = torch.randint(50, (8, length), generator=room.random())
    order = torch.randperm(length, generator=room.random())
    fed = torch.ones(8, length, dtype=torch.long)
    with torch.no_grad():
        plain, _ = model(fed, model.start(Source(tokens)))
        permuted, _ = model(fed, model.start(Source(tokens[:, order])))
    return max(float((permuted - plain[:, order]).abs().max()), 1e-17)  # 0 has no place on a scale of powers


def example(random: Random, task: str) -> tuple[str, str]:
    """Which letter there is more of; or, among others, which of two comes first."""
    if task == "count":
        text = random.choices("ab", k=11)
        return max("ab", key=text.count), " ".join(text)
    text = letters(random, 9, "cdefgh")
    first, second = random.sample("ab", 2)
    low, high = sorted(random.sample(range(11), 2))
    text.insert(low, first)
    text.insert(high, second)
    return first, " ".join(text)


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    equal, tasks = figure.subplots(1, 2)
    draw_lines(equal, seeds, "differences", "lengths")
    equal.set(yscale="log", xlabel="tokens", ylabel="largest |f(s(x)) − s(f(x))|")
    by_doubling(equal, LENGTHS)
    names = {
        f"accuracy, {task}, positions {p}": f"{said}\n({p})"
        for task, said in TASKS.items()
        for p in ("none", "sinusoid")
    }
    draw_bars(tasks, seeds, names)
    tasks.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    tasks.tick_params(axis="x", labelsize=8)
    tasks.set(ylabel="share right", ylim=(0, 1.03))


CLAIM = Claim(
    name="permutation",
    says="Self-attention does not know order",
    equation="f(s(x)) = s(f(x)) for every permutation s",
    paper="Vaswani et al. 2017; Lee et al. 2019 (Set Transformer)",
    setup="A two-block encoder with new weights reads random tokens, and the same in another order, in float64. Then "
    "one learns two tasks of eleven letters, without positions and with sinusoids: are there more a or more b (a bag "
    "of words is enough), and which of a and b comes first. Quick: width 32, 200 updates; full: four blocks of 64, "
    "1000 updates.",
    marks=(
        Mark("largest difference, positions none", below=1e-12),
        Mark("largest difference, positions sinusoid", above=1e-3),
        Mark("largest difference, positions rotary", above=1e-3),
        Mark("accuracy, count, positions none", above=0.9),
        Mark("accuracy, order, positions none", below=0.6),
        Mark("accuracy, order, positions sinusoid", above=0.9),
    ),
    measure=measure,
    draw=draw,
    next="Give only one of the two blocks positions. Train it to sort, and see what it does with equal tokens.",
)
