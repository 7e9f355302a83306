"""Depth: one to six blocks of equal parameters, on a question that takes two steps."""

from collections.abc import Sequence
from random import Random
from typing import Any

from regard.config import Tagger, Transformer
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import draw_lines, held_out, letters, recipe, tagged
from regard.lab.room import Room
from regard.models.count import count

DEPTHS = {1: 96, 2: 64, 4: 48, 6: 40}  # blocks: their width
HEADS = 4


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [letters(random, 16, "abcdefgh") for _ in range(room.by_effort(4000, 40_000))]
    file = room.file("again.tsv", tagged((row, followers(row)) for row in rows))
    larger, steps = room.by_effort((1, 500), (2, 4000))
    numbers: Numbers = {"blocks": list(DEPTHS), "accuracy": {"equal parameters": []}}
    for layers, width in DEPTHS.items():
        run = room.train(f"blocks {layers}", recipe(file, Tagger(stack(layers, larger * width, larger)), steps))
        numbers[f"parameters, L = {layers}"] = count(run.model)["encoder.layer"]
        numbers[f"held-out loss, L = {layers}"] = held_out(run)
        numbers["accuracy"]["equal parameters"].append(held_out(run, "accuracy"))
        numbers[f"accuracy, L = {layers}"] = held_out(run, "accuracy")
    sizes = [numbers[f"parameters, L = {layers}"] for layers in DEPTHS]
    numbers["ratio of parameters, most to fewest"] = max(sizes) / min(sizes)
    numbers["difference in accuracy, two blocks − one"] = numbers["accuracy, L = 2"] - numbers["accuracy, L = 1"]
    numbers["difference in accuracy, six blocks − one"] = numbers["accuracy, L = 6"] - numbers["accuracy, L = 1"]
    return numbers


def stack(layers: int, width: int, larger: int) -> Transformer:
    """Blocks whose inner width makes up for what a narrower one saves: 4 w² + 2 w F numbers each."""
    budget = 12 * (96 * larger) ** 2 // layers
    return Transformer(
        width=width, layers=layers, heads=HEADS, inner=(budget - 4 * width**2) // (2 * width), dropout=0.0
    )


def followers(row: Sequence[str]) -> list[str]:
    """For each letter the one that followed it when it came last; `.` where it comes for the first time."""
    seen: dict[str, str] = {}
    found = []
    for place, letter in enumerate(row):
        found.append(seen.get(letter, "."))
        if place + 1 < len(row):
            seen[letter] = row[place + 1]
    return found


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "accuracy", "blocks")
    axes.set(xlabel="blocks L", ylabel="share of letters right", ylim=(0, 1.03))
    axes.set_xticks(list(DEPTHS))


CLAIM = Claim(
    name="depth",
    says="Depth: more blocks do better than one of the same number of parameters",
    equation="h^(l) = block(h^(l−1)), l = 1 … L, at L · (4 w² + 2 w F) = constant",
    paper="Vaswani et al. 2017; Olsson et al. 2022 (induction heads)",
    setup="For each letter of a row: which letter followed it when it came last? That is to find the last time, and "
    "to look one further: two steps. One, two, four and six blocks of about 110,000 parameters. Quick: 500 updates "
    "each; full: four times as large, 4000.",
    marks=(
        Mark("ratio of parameters, most to fewest", below=1.1),
        Mark("difference in accuracy, two blocks − one", above=0.05),
        Mark("difference in accuracy, six blocks − one", above=0.05),
    ),
    measure=measure,
    draw=draw,
    next="Look at the heads of two blocks: one looks one back, one for the same letter. Train it longer: does one "
    "catch up?",
    changed="The set-up: shorter rows and more updates, for after 350 four blocks had not yet begun to learn.",
)
