"""Cells can be read: the finder on quotes, comments, depth and the position in a line, with its controls."""

from collections.abc import Sequence
from typing import Any

from regard.config import LanguageModel
from regard.config.looking import Effort
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import CHARACTERS, cells, python_source, recipe
from regard.lab.room import Room
from regard.look.pictures.style import INK, LINES

PROPERTIES = ("quotes", "comment", "depth", "position_in_line")


def measure(room: Room) -> Numbers:
    width, steps, taught, asked = room.by_effort((128, 1000, 1_000_000, 60_000), (512, 8000, 8_000_000, 400_000))
    file = room.file("source.txt", [python_source("train", taught)])
    run = room.train("run", recipe(file, LanguageModel(cells("lstm", width)), steps, batch=2048, text=CHARACTERS))
    effort = Effort(units=("cells",), number=1, shifts=room.by_effort(60, 200), controls=4, seed=room.seed)
    found = run.find(PROPERTIES, python_source("test", asked), effort)
    numbers: Numbers = {"scores": {}, "failed": {}}
    for one in found:
        numbers["scores"][one.property] = {
            "best cell": one.score,
            "by chance": one.null,
            "untrained": one.untrained,
            "last characters": one.last_characters,
        }
        numbers[f"{one.property}: {one.measure} of the best cell"] = one.score
        numbers[f"{one.property}: controls failed"] = len(one.failed)
        numbers["failed"][one.property] = list(one.failed)
    numbers["properties with a cell that is above chance and above new weights"] = sum(
        1 for one in found if not {"null", "untrained"} & set(one.failed)
    )
    numbers["properties with a cell that passes every control"] = sum(1 for one in found if not one.failed)
    return numbers


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    kinds = ("best cell", "last characters", "untrained", "by chance")
    for place, name in enumerate(seeds[0]["scores"]):
        for shift, kind in enumerate(kinds):
            values = [numbers["scores"][name][kind] for numbers in seeds if numbers["scores"][name][kind] is not None]
            x = place + 0.2 * (shift - 1.5)
            axes.bar(x, sum(values) / max(len(values), 1), 0.18, color=LINES[shift], label=kind if not place else None)
            axes.plot([x] * len(values), values, "o", color=INK, markersize=2.5)
    axes.set_xticks(range(len(seeds[0]["scores"])), list(seeds[0]["scores"]))
    axes.set(ylabel="how well it follows (AUROC or Spearman)", ylim=(0, 1.03))
    axes.legend(frameon=False, fontsize=9, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.15))


CLAIM = Claim(
    name="cells",
    says="Cells can be read: single cells of an LSTM follow quotes, comments, depth or the position in a line",
    equation="max over cells of AUROC(c_t, inside quotes), chosen on one part and held out on another",
    paper="Karpathy et al. 2016",
    setup="An LSTM learns Python source, character by character. For each property the best of its cells is chosen on "
    "one part of a text and judged on another: against chance (labels shifted in a circle, the best of all cells), "
    "the same model untrained, the best guess from the last characters, and the effect of holding the cell still. "
    "Quick: width 128, 1000 updates; full: 512, 8000.",
    marks=(
        Mark("properties with a cell that is above chance and above new weights", above=1.5),
        Mark("properties with a cell that passes every control", above=0.5),
    ),
    measure=measure,
    draw=draw,
    next="`regard find RUN FILE` with a property of your own, a small function from text to one label a character.",
    changed="The set-up: a longer training; after fewer updates no cell passed every control.",
)
