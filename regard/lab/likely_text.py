"""Argmax, sampling, beam: the likelier a text, the less there is in it; and where beam search hurts."""

from collections.abc import Sequence
from itertools import islice
from statistics import mean
from typing import Any

from regard.config import LanguageModel
from regard.config.decoding import Writing
from regard.data.corpora.phrases import phrases, split_words
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import STYLES, cells, recipe
from regard.lab.room import Room
from regard.look.pictures.style import LINES

LENGTH, GRAM = 30, 3
WAYS = {
    "sampled": Writing(length=LENGTH),
    "sampled, top-p 0.9": Writing(length=LENGTH, top_p=0.9),
    "sampled at 0.5": Writing(length=LENGTH, temperature=0.5),
    "argmax": Writing(length=LENGTH, choose="argmax"),
    "beam of 4": Writing(length=LENGTH, choose="beam", beam=4),
    "beam of 16": Writing(length=LENGTH, choose="beam", beam=16),
}


def measure(room: Room) -> Numbers:
    drawn = islice(phrases("french", "train", room.seed), room.by_effort(5000, 50_000))
    sentences = [" ".join(split_words(one.source)) for one in drawn]
    file = room.file("text.txt", sentences[100:])
    width, steps = room.by_effort((128, 350), (256, 5000))
    run = room.train("run", recipe(file, LanguageModel(cells("lstm", width)), steps, batch=1600, length=32))
    prompts = [" ".join(one.split()[:3]) for one in sentences[:30]]
    texts = {
        name: [f"{prompt}{run.samples(prompt, way)[0]}" for prompt in prompts] for name, way in WAYS.items()
    }  # fmt: skip
    texts["corpus"] = [" ".join(sentences[at : at + 4]) for at in range(0, 100, 4)]
    numbers: Numbers = {"ways": list(texts), "likely": [], "different": []}
    for name, each in texts.items():
        cut = [" ".join(text.split()[: LENGTH + 3]) for text in each]
        logs = [log for scored in run.score(cut) for log in scored.logs[3:]]
        numbers["likely"].append(mean(logs))
        numbers["different"].append(mean(different(text) for text in cut))
        numbers[f"log p of a word, {name}"] = numbers["likely"][-1]
        numbers[f"share of different word triples, {name}"] = numbers["different"][-1]
    likely, new = dict(zip(texts, numbers["likely"], strict=True)), dict(zip(texts, numbers["different"], strict=True))
    numbers["difference in log p of a word, beam of 16 − sampled"] = likely["beam of 16"] - likely["sampled"]
    numbers["difference in log p of a word, beam of 16 − corpus"] = likely["beam of 16"] - likely["corpus"]
    numbers["difference in different triples, sampled − beam of 16"] = new["sampled"] - new["beam of 16"]
    numbers["difference in different triples, corpus − beam of 16"] = new["corpus"] - new["beam of 16"]
    return numbers


def different(text: str) -> float:
    """Which share of the runs of three words in a text is there for the first time."""
    words = split_words(text)
    runs = [tuple(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1)]
    return len(set(runs)) / max(len(runs), 1)


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    for place, name in enumerate(seeds[0]["ways"]):
        x, y = ([numbers[key][place] for numbers in seeds] for key in ("likely", "different"))
        axes.plot(x, y, STYLES[place][0], color=LINES[place], markersize=7, label=name)
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    axes.margins(0.1)
    axes.set(xlabel="mean log p of a word (further right: likelier)", ylabel="share of word triples that are new")


CLAIM = Claim(
    name="likely-text",
    says="Argmax, sampling, beam: what is likelier is less diverse, and in open writing beam search hurts",
    equation="argmax_y p(y), or y ~ p(y)^{1/T}",
    paper="Holtzman et al. 2020; Stahlberg and Byrne 2019",
    setup="An LSTM learns English phrases and goes on with thirty beginnings for thirty words. Likely: mean log p of "
    "a word, by the model itself. Diverse: the share of word triples in a text that were not in it before. Beside "
    "them, what was written in the corpus. Quick: width 128, 350 updates; full: 256, 5000.",
    marks=(
        Mark("difference in log p of a word, beam of 16 − sampled", above=0.5),
        Mark("difference in log p of a word, beam of 16 − corpus", above=0.3),
        Mark("difference in different triples, sampled − beam of 16", above=0.1),
        Mark("difference in different triples, corpus − beam of 16", above=0.1),
    ),
    measure=measure,
    draw=draw,
    next="In translation a wide beam without length normalisation gives ever shorter answers: try length_penalty 0.",
)
