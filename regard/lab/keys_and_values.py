"""Separate keys and values: what is matched and what is answered are two things."""

from collections.abc import Sequence
from random import Random
from typing import Any

from regard.config import Seq2Seq, Similarity
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import cells, draw_lines, held_out, recipe, translated
from regard.lab.room import Room
from regard.models.count import count

LENGTH = 8
KINDS: tuple[tuple[str, Similarity, int], ...] = (("inputs for both", "dot", 4), ("keys of their own", "bilinear", 0))


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [question(random) for _ in range(20_000)]
    file = room.file("asked.tsv", (f"{source}\t{target}" for source, target in rows[200:]))
    width, steps = room.by_effort((48, 500), (128, 3000))
    numbers: Numbers = {"loss": {}}
    for name, kind, wider in KINDS:
        encoder, decoder = cells("gru", width + wider, both_ways=True), cells("gru", width + wider)
        run = room.train(kind, recipe(file, Seq2Seq(encoder, decoder, similarity=kind), steps))
        looks = [entry for entry in run.folder.read_log() if "held_out" in entry]
        numbers["updates"] = [entry["step"] for entry in looks]
        numbers["loss"][name] = [entry["held_out"]["loss"] for entry in looks]
        numbers[f"held-out loss, {name}"] = held_out(run)
        right = translated(run, rows[:200])
        numbers[f"right, {name}"] = sum(right) / len(right)
        numbers[f"parameters, {name}"] = count(run.model).total
    both, own = numbers["held-out loss, inputs for both"], numbers["held-out loss, keys of their own"]
    numbers["ratio of held-out losses, inputs for both to keys of their own"] = both / own
    return numbers


def question(random: Random) -> tuple[str, str]:
    """Letters, each with a digit behind it; asked for are the digits, in the order of the letters' alphabet."""
    names = random.sample("abcdefghijklmnop", LENGTH)
    values = dict(zip(names, random.choices("0123456789", k=LENGTH), strict=True))
    return " ".join(f"{name} {values[name]}" for name in names), " ".join(values[name] for name in sorted(names))


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "loss", "updates")
    axes.set(xlabel="updates", ylabel="held-out loss (nats per digit)", ylim=(0, None))


CLAIM = Claim(
    name="keys-and-values",
    says="Separate keys and values help, over using the inputs for both",
    equation="e_i = s·h_i, c = Σ_i a_i h_i,  against  e_i = s·(W_K h_i)",
    paper="Luong et al. 2015 (dot and general); Vaswani et al. 2017",
    setup="A GRU with attention reads eight letters, each with a digit, and says the digits in the order of the "
    "alphabet: the letter is to be matched, the digit to be said. Values pass a matrix behind attention in both; only "
    "one has a matrix for keys. The other is made wider, so that it has no fewer parameters. Quick: width 48, 500 "
    "updates; full: 128, 3000.",
    marks=(Mark("ratio of held-out losses, inputs for both to keys of their own", above=1.1),),
    measure=measure,
    draw=draw,
    next="Try similarity 'additive', the notes' first. Look at the weights of both with `regard translate "
    "--alignments`.",
)
