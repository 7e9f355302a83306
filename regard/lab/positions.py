"""Positions repair it: learned or fixed, added or concatenated; and what happens beyond the trained length."""

from collections.abc import Sequence
from random import Random
from typing import Any

from regard.config import Join, PositionScheme, Tagger, Transformer
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import draw_lines, letters, looked_up, recipe, tagged, tags_right
from regard.lab.room import Room
from regard.look.pictures.style import FAINT, GREY

LONGEST = 12
LENGTHS = (6, 12, 18, 24, 36)
SCHEMES: dict[str, tuple[PositionScheme, Join]] = {
    "none": ("none", "add"),
    "learned, added": ("learned", "add"),
    "learned, concatenated": ("learned", "concatenate"),
    "sinusoid, added": ("sinusoid", "add"),
    "sinusoid, concatenated": ("sinusoid", "concatenate"),
    "rotary": ("rotary", "add"),
}


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    file = room.file("shift.tsv", tagged(sentence(random, random.randint(4, LONGEST)) for _ in range(6000)))
    width, layers, steps = room.by_effort((64, 1, 250), (128, 2, 2000))
    numbers: Numbers = {"lengths": list(LENGTHS), "right": {}}
    for name, (positions, join) in SCHEMES.items():
        encoder = Transformer(
            width=width, layers=layers, heads=2, positions=positions, join=join, longest=64, dropout=0.0
        )  # fmt: skip
        run = room.train(f"{positions} {join}", recipe(file, Tagger(encoder), steps, rate=0.006))
        right = [tags_right(run, [sentence(random, length) for _ in range(40)]) for length in LENGTHS]
        numbers["right"][name] = right
        numbers[f"right at length {LONGEST}, {name}"] = right[LENGTHS.index(LONGEST)]
    for name in list(SCHEMES)[1:]:
        numbers[f"right at length 36, {name}"] = numbers["right"][name][-1]
    repaired = [numbers[f"right at length {LONGEST}, {name}"] for name in list(SCHEMES)[1:]]
    numbers["right at length 12, the worst with positions"] = min(repaired)
    return numbers


def sentence(random: Random, length: int) -> tuple[list[str], list[str]]:
    """Letters, and for each the one before it."""
    words = letters(random, length)
    return words, looked_up(words, [1])


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "right", "lengths")
    axes.axvspan(0, LONGEST, color=GREY, alpha=0.12, linewidth=0)
    axes.text(LONGEST - 0.3, 0.02, "trained", ha="right", fontsize=9, color=FAINT)
    axes.set(xlabel="letters in a row", ylabel="share named right", ylim=(0, 1.03), xlim=(4, max(LENGTHS) + 1))


CLAIM = Claim(
    name="positions",
    says="Positions repair it: learned or fixed, added or concatenated; beyond the trained length a table knows "
    "nothing",
    equation="x_t + p_t  or  [x_t; p_t]  or  (R_t q)·(R_s k)",
    paper="Vaswani et al. 2017; Shaw et al. 2018; Su et al. 2021",
    setup="An encoder names for each letter the one before it. Trained on rows of 4 to 12 letters, asked about rows "
    "of up to 36. Quick: one block of width 64, 250 updates each; full: two of 128, 2000.",
    marks=(
        Mark("right at length 12, none", below=0.5),
        Mark("right at length 12, the worst with positions", above=0.9),
        Mark("right at length 36, learned, added", below=0.6),
        Mark("right at length 36, learned, concatenated", below=0.6),
    ),
    measure=measure,
    draw=draw,
    next="Train on rows of up to 36 that begin anywhere in the table. Ask for the letter five before instead of one.",
)
