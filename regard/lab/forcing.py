"""Teacher forcing drifts, student forcing less: how errors grow along an answer."""

import dataclasses
from collections.abc import Sequence
from random import Random
from statistics import mean
from typing import Any

import torch

from regard.config import Recipe, Seq2Seq
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import cells, draw_lines, letters, recipe
from regard.lab.room import Room
from regard.models.model import Source
from regard.runs import Run
from regard.special import START, STOP

LENGTH = 12
Pairs = Sequence[tuple[str, str]]


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [" ".join(letters(random, LENGTH, "abcdefgh")) for _ in range(room.by_effort(8300, 50_300))]
    pairs = [(row, row) for row in rows]
    file = room.file("copy.tsv", (f"{source}\t{target}" for source, target in pairs[300:]))
    width, steps = room.by_effort((64, 400), (128, 4000))
    model = Seq2Seq(cells("gru", width), cells("gru", width), context="fixed")
    numbers: Numbers = {"place": list(range(1, LENGTH + 1)), "wrong": {}}
    for name, student in (("teacher", 0.0), ("student", 0.5)):
        run = room.train(name, fed(recipe(file, model, steps, rate=0.006), student))
        truth, own = wrong_when_fed_the_truth(run, pairs[:300]), wrong_when_fed_itself(run, pairs[:300])
        numbers["wrong"][f"{name} forcing, fed the truth"] = truth
        numbers["wrong"][f"{name} forcing, fed itself"] = own
        numbers[f"wrong, {name} forcing, fed the truth"] = mean(truth)
        numbers[f"wrong, {name} forcing, fed itself"] = mean(own)
        numbers[f"drift in the last third, {name} forcing"] = mean(own[-4:]) - mean(truth[-4:])
    teacher, student = (numbers[f"drift in the last third, {name} forcing"] for name in ("teacher", "student"))
    numbers["difference in drift, teacher − student"] = teacher - student
    numbers["difference in wrong, fed itself, teacher − student"] = (
        numbers["wrong, teacher forcing, fed itself"] - numbers["wrong, student forcing, fed itself"]
    )
    return numbers


def fed(plan: Recipe, student: float) -> Recipe:
    """The same, but the model is fed its own prediction so often at the end of training."""
    return dataclasses.replace(plan, train=dataclasses.replace(plan.train, student=student))


def wrong_when_fed_the_truth(run: Run, pairs: Pairs) -> list[float]:
    """Which share of tokens is not the most probable one, at each place, when all before it are right."""
    sources = torch.tensor([[*run.source_tokenizer.encode(source), STOP] for source, _ in pairs])
    wanted = torch.tensor([run.tokenizer.encode(target) for _, target in pairs])
    tokens = torch.cat([torch.full((len(wanted), 1), START), wanted[:, :-1]], 1)
    with torch.no_grad():
        scores, _ = run.model(tokens, run.model.start(Source(sources)))
    return (scores.argmax(-1) != wanted).float().mean(0).tolist()


def wrong_when_fed_itself(run: Run, pairs: Pairs) -> list[float]:
    """The same when it writes by itself, as at test time."""
    said = [one.split() for one in run.translate([source for source, _ in pairs], beam=1)]
    wanted = [target.split() for _, target in pairs]
    return [
        mean(float(place >= len(ours) or ours[place] != true[place]) for ours, true in zip(said, wanted, strict=True))
        for place in range(LENGTH)
    ]


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    axes = figure.subplots()
    draw_lines(axes, seeds, "wrong", "place")
    axes.set(xlabel="place in the answer", ylabel="share of letters wrong", ylim=(0, 1))
    axes.set_xticks(seeds[0]["place"])


CLAIM = Claim(
    name="forcing",
    says="Teacher forcing drifts: fed its own words a model errs more and more; student forcing drifts less",
    equation="p(y_t | y_1 … y_{t−1}) in training, p(y_t | ŷ_1 … ŷ_{t−1}) at test time",
    paper="Bengio et al. 2015 (scheduled sampling); Ranzato et al. 2016",
    setup="A GRU copies twelve letters through one vector, which is too little for all of them. Fed the truth in "
    "training, or at last half of the time its own prediction. Drift: how much more often a letter is wrong when it "
    "writes by itself than when it is fed the truth; to drift less is not yet to be better. Quick: width 64, 400 "
    "updates; full: 128, 4000.",
    marks=(
        Mark("drift in the last third, teacher forcing", above=0.03),
        Mark("difference in drift, teacher − student", above=0.02),
    ),
    measure=measure,
    draw=draw,
    next="Feed it its own prediction always (student = 1): does it still learn? Give it attention: is there any drift "
    "left?",
)
