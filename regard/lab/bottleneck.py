"""One vector is a bottleneck: how right a copy is against its length, for the four forms of the notes."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

from regard.config import ModelConfig, Seq2Seq
from regard.data.corpora.phrases import phrases
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, cells, draw_lines, letters, means, recipe, translated
from regard.lab.room import Room

LONGEST = 16
EDGES = (1, 5, 9, 13, 17)  # lengths of a source in four groups


def forms(width: int) -> dict[str, ModelConfig]:
    side = blocks(width, 2, 4)
    one, both = cells("gru", width), cells("gru", width, both_ways=True)
    return {
        "RNN, s₀ = h": Seq2Seq(one, one, context="none"),
        "RNN, fixed context": Seq2Seq(one, one, context="fixed"),
        "RNN, attention": Seq2Seq(both, one, context="attention"),
        "Transformer": Seq2Seq(side, side),
    }


def measure(room: Room) -> Numbers:
    edges, train, test = room.by_effort(copies, translations)(room)
    file = room.file("pairs.tsv", (f"{source}\t{target}" for source, target in train))
    curves: dict[str, list[float]] = {}
    for name, model in forms(room.by_effort(64, 256)).items():
        run = room.train(f"run {len(curves)}", recipe(file, model, room.by_effort(350, 6000), batch=1200, rate=0.006))
        right = translated(run, test)
        curves[name] = means(right, (len(source.split()) for source, _ in test), edges)
    fall = {name: points[0] - points[-1] for name, points in curves.items()}
    middles = [(low + high - 1) / 2 for low, high in pairwise(edges)]
    return {
        "lengths": middles,
        "right": curves,
        **{f"right at the longest, {name}": points[-1] for name, points in curves.items()},
        "fall from short to long, RNN, fixed context": fall["RNN, fixed context"],
        "fall from short to long, RNN, attention": fall["RNN, attention"],
        "difference at the longest, attention − fixed context": (
            curves["RNN, attention"][-1] - curves["RNN, fixed context"][-1]
        ),
    }


def copies(room: Room) -> tuple[Sequence[int], list[tuple[str, str]], list[tuple[str, str]]]:
    """Letters to be said again."""
    random = Random(room.seed)
    rows = [" ".join(letters(random, random.randint(1, LONGEST), "abcdefghij")) for _ in range(20_400)]
    pairs = [(row, row) for row in rows]
    return EDGES, pairs[400:], pairs[:400]


def translations(room: Room) -> tuple[Sequence[int], list[tuple[str, str]], list[tuple[str, str]]]:
    """English and French of up to 40 words."""
    train, test = phrases("french", "train", room.seed), phrases("french", "test", room.seed)
    return (
        (1, 11, 21, 31, 41),
        [(one.source, one.target) for _, one in zip(range(100_000), train, strict=False)],
        [(one.source, one.target) for _, one in zip(range(1000), test, strict=False)],
    )


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "right", "lengths")
    axes.set(xlabel="words in the source", ylabel="share of the answer that is right", ylim=(0, 1.03))


CLAIM = Claim(
    name="bottleneck",
    says="One vector is a bottleneck: what must pass through it gets worse with length, attention does not",
    equation="c = h_T for every step, against c_t = Σ_i a_{t,i} h_i",
    paper="Cho et al. 2014; Bahdanau et al. 2015 (figure 2)",
    setup="Four encoder–decoders of one width. Quick: GRUs and a two-block Transformer of width 64 learn to copy 1 to "
    "16 letters, 350 updates each. Full: width 256, English to French of up to 40 words. Right: 1 − edits over words.",
    marks=(
        Mark("fall from short to long, RNN, fixed context", above=0.2),
        Mark("fall from short to long, RNN, attention", below=0.1),
        Mark("difference at the longest, attention − fixed context", above=0.2),
    ),
    measure=measure,
    draw=draw,
    next="Make the vector wider, and see at which length it is full. Turn the source around (Sutskever 2014).",
)
