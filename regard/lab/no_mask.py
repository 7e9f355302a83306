"""Without the mask the model cheats: it reads the answer instead of predicting it, and cannot write."""

from collections.abc import Callable, Sequence
from itertools import islice
from statistics import mean
from typing import Any

import torch

from regard.config import LanguageModel, Tagger
from regard.data.corpora.phrases import phrases
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, curve, draw_bars, draw_lines, held_out, recipe, tagged
from regard.lab.room import Room
from regard.runs import Run
from regard.special import START

ROW, PAST, WRITTEN = 64, 24, 40  # letters
SPACE = "_"
NAMES = {"masked": "with the mask", "unmasked": "without"}
Texts = Sequence[Sequence[str]]
Follow = Callable[[Run, Texts], list[str]]


def measure(room: Room) -> Numbers:
    sentences = islice(phrases("french", "train", room.seed), room.by_effort(4000, 40_000))
    text = list(SPACE.join(one.source.lower().replace(" ", SPACE) for one in sentences))
    known = set("".join(text).split(SPACE))
    rows = [text[at : at + ROW + 1] for at in range(0, len(text) - ROW, ROW)]
    asked, taught = rows[:200], rows[200:]
    layer, steps = room.by_effort((blocks(64, 2, 4), 250), (blocks(256, 4, 8), 3000))
    file = room.file("text.txt", (" ".join(row[:-1]) for row in taught))
    masked = room.train("masked", recipe(file, LanguageModel(layer), steps, batch=1600, length=ROW))
    file = room.file("next.tsv", tagged((row[:-1], row[1:]) for row in taught))
    unmasked = room.train("unmasked", recipe(file, Tagger(layer), steps, batch=3200))
    numbers: Numbers = {"loss": {}}
    follows: dict[str, tuple[Run, Follow]] = {"masked": (masked, predicted), "unmasked": (unmasked, called)}
    for name, (run, follow) in follows.items():
        numbers["updates"], numbers["loss"][NAMES[name]] = curve(run)
        numbers[f"held-out loss, {name}"] = held_out(run)
        said = follow(run, [row[:PAST] for row in asked])
        numbers[f"next letter right from the past alone, {name}"] = mean(
            float(one == row[PAST]) for one, row in zip(said, asked, strict=True)
        )
        words = [word for text in written(run, follow, asked[:30]) for word in "".join(text).split(SPACE)[1:-1]]
        numbers[f"written words that exist, {name}"] = sum(word in known for word in words) / max(len(words), 1)
    for number in ("next letter right from the past alone", "written words that exist"):
        hidden, seen = (numbers[f"{number}, {name}"] for name in NAMES)
        numbers[f"difference in {number}, masked − unmasked"] = hidden - seen
    return numbers


@torch.no_grad()
def predicted(run: Run, past: Texts) -> list[str]:
    """The most probable next letter of a language model, for each text."""
    fed = torch.tensor([[START, *run.tokenizer.encode(" ".join(text))] for text in past])
    scores, _ = run.model.prefill(fed, run.model.start(batch=len(fed)))
    return [run.tokenizer.decode([token]) for token in scores.argmax(-1).tolist()]


def called(run: Run, past: Texts) -> list[str]:
    """The same of a tagger that was taught to call each letter by the next: behind the last there is none to see."""
    return [tags[-1] for tags in run.tag(past)]


def written(run: Run, follow: Follow, starts: Texts) -> list[list[str]]:
    """What is written behind each beginning, every letter fed back; less the beginning."""
    texts = [list(start[:PAST]) for start in starts]
    for _ in range(WRITTEN):
        for text, letter in zip(texts, follow(run, texts), strict=True):
            text.append(letter or SPACE)
    return [text[PAST:] for text in texts]


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    losses, right, words = figure.subplots(1, 3, width_ratios=(1.6, 1, 1))
    draw_lines(losses, seeds, "loss", "updates")
    losses.set(xlabel="updates", ylabel="training loss", ylim=(0, None))
    for axes, number, label in (
        (right, "next letter right from the past alone", "next letter right, from the past"),
        (words, "written words that exist", "written words that exist"),
    ):
        draw_bars(axes, seeds, {f"{number}, {name}": said.replace(" the ", "\n") for name, said in NAMES.items()})
        axes.set(ylabel=label, ylim=(0, 1.03))


CLAIM = Claim(
    name="no-mask",
    says="Without the mask the model cheats: its loss falls towards zero, and what it writes is worthless",
    equation="a_{t,i} = 0 for i > t",
    paper="Vaswani et al. 2017 (3.2.3)",
    setup="The same blocks learn to say the next letter of English phrases, 64 at a time: as a language model, whose "
    "mask hides what comes later, and as an encoder that sees all 64 (but nothing behind the last, the only letter "
    "that it must really predict). Then each gets 24 letters and no more, as at test time, and writes forty. Quick: "
    "two blocks of width 64, 250 updates; full: four of 256, 3000.",
    marks=(
        Mark("held-out loss, unmasked", below=0.1),
        Mark("held-out loss, masked", above=0.5),
        Mark("difference in next letter right from the past alone, masked − unmasked", above=0.15),
        Mark("difference in written words that exist, masked − unmasked", above=0.2),
    ),
    measure=measure,
    draw=draw,
    next="Count different words: one that is written over and over exists too, which flatters a model without a mask. "
    "Mask only the next letter, and let it see the one after that: how much does this give away?",
    changed="Set-up and rule: letters in place of words, of which 4,000 phrases teach too few; so the marks "
    "are differences.",
)
