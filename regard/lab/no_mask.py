"""Without the mask the model cheats: it reads the answer instead of predicting it, and cannot write."""

from collections.abc import Sequence
from itertools import islice, pairwise
from random import Random
from statistics import mean
from typing import Any

import torch

from regard.config import LanguageModel, Tagger
from regard.data.corpora.phrases import phrases, split_words
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, curve, draw_bars, draw_lines, held_out, recipe, tagged
from regard.lab.room import Room
from regard.runs import Run
from regard.text import START

ROW = 16  # words
NAMES = {"masked": "with the mask", "unmasked": "without"}


def measure(room: Room) -> Numbers:
    sentences = islice(phrases("french", "train", room.seed), room.by_effort(4000, 40_000))
    words = [word for one in sentences for word in split_words(one.source.lower())]
    rows = [words[at : at + ROW + 1] for at in range(0, len(words) - ROW, ROW)]
    asked, taught = rows[:200], rows[200:]
    layer, steps = room.by_effort((blocks(64, 2, 4), 250), (blocks(256, 4, 8), 3000))
    text = room.file("text.txt", (" ".join(row[:-1]) for row in taught))
    masked = room.train("masked", recipe(text, LanguageModel(layer), steps, batch=1600, length=ROW))
    file = room.file("next.tsv", tagged((row[:-1], row[1:]) for row in taught))
    unmasked = room.train("unmasked", recipe(file, Tagger(layer), steps, batch=3200))
    numbers: Numbers = {"loss": {}, "known": sorted({f"{a} {b}" for a, b in pairwise(words)})}
    for name, run in (("masked", masked), ("unmasked", unmasked)):
        numbers["updates"], numbers["loss"][NAMES[name]] = curve(run)
        numbers[f"held-out loss, {name}"] = held_out(run)
    random = Random(room.seed)
    starts = [random.choice(asked)[:4] for _ in range(50)]
    known = set(numbers.pop("known"))
    for name, run, follow in (("masked", masked, predicted), ("unmasked", unmasked, tagged_next)):
        said = [follow(run, row[:8]) for row in asked]
        numbers[f"next word right from the past alone, {name}"] = mean(
            float(one == row[8]) for one, row in zip(said, asked, strict=True)
        )
        pairs = [pair for start in starts for pair in pairwise(written(run, follow, start)[3:])]
        numbers[f"pairs of written words that exist, {name}"] = mean(float(f"{a} {b}" in known) for a, b in pairs)
    return numbers


@torch.no_grad()
def predicted(run: Run, past: Sequence[str]) -> str:
    """The most probable next word of a language model."""
    fed = torch.tensor([[START, *run.tokenizer.encode(" ".join(past))]])
    scores, _ = run.model.read(fed, run.model.start())
    return run.tokenizer.decode([int(scores[0].argmax())])


def tagged_next(run: Run, past: Sequence[str]) -> str:
    """The same of a tagger that was taught to call each word by the next: at the last word there is none to see."""
    (tags,) = run.tag([past])
    return tags[-1]


def written(run: Run, follow: Any, start: Sequence[str]) -> list[str]:
    """Twelve words behind these, each fed back."""
    text = list(start)
    for _ in range(12):
        text.append(follow(run, text) or ".")
    return text


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    losses, right, pairs = figure.subplots(1, 3, width_ratios=(1.6, 1, 1))
    draw_lines(losses, seeds, "loss", "updates")
    losses.set(xlabel="updates", ylabel="training loss", ylim=(0, None))
    for axes, number, label in (
        (right, "next word right from the past alone", "next word right, from the past"),
        (pairs, "pairs of written words that exist", "written word pairs that exist"),
    ):
        draw_bars(axes, seeds, {f"{number}, {name}": said for name, said in NAMES.items()})
        axes.set(ylabel=label, ylim=(0, 1.03))
        axes.tick_params(axis="x", labelsize=8)


CLAIM = Claim(
    name="no-mask",
    says="Without the mask the model cheats: its loss falls towards zero, and what it writes is worthless",
    equation="a_{t,i} = 0 for i > t",
    paper="Vaswani et al. 2017 (3.2.3)",
    setup="The same blocks learn to say the next word of English phrases twice: as a language model, whose mask hides "
    "what comes later, and as an encoder that sees all words. Then each gets the past alone, as at test time, and "
    "writes twelve words. Quick: two blocks of width 64, 250 updates; full: four of 256, 3000.",
    marks=(
        Mark("held-out loss, unmasked", below=0.1),
        Mark("held-out loss, masked", above=0.5),
        Mark("next word right from the past alone, unmasked", below=0.1),
        Mark("next word right from the past alone, masked", above=0.2),
        Mark("pairs of written words that exist, unmasked", below=0.5),
    ),
    measure=measure,
    draw=draw,
    next="Mask only the next word, and let it see the one after that: how much does this give away?",
)
