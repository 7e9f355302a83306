"""The stop token's vector stands for the sentence: what can be read off it, against the mean, and against chance."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from torch import Tensor

from regard.config import Classifier
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, classified, draw_bars, marked, recipe
from regard.lab.room import Room
from regard.look.pictures.style import GREY
from regard.models import classifier as models
from regard.models.encoder import Encoder
from regard.models.model import Model, Source
from regard.runs import Run
from regard.special import STOP

LENGTH = 12
READ = {
    "stop": "at the stop",
    "mean": "mean of all",
    "first": "at the first",
    "new weights": "at the stop,\nnew weights",
    "random": "random\nnumbers",
}


def measure(room: Room) -> Numbers:
    random = Random(room.seed)
    rows = [marked(random, random.randint(1, LENGTH), LENGTH) for _ in range(room.by_effort(7000, 30_000))]
    file = room.file("marked.tsv", (f"{label}\t{text}" for label, text in rows[1000:]))
    size, steps = room.by_effort(((32, 2, 2), 350), ((128, 4, 4), 2000))
    runs = {
        pooling: room.train(pooling, recipe(file, Classifier(blocks(*size), pooling), steps, batch=2500))
        for pooling in ("stop", "mean")
    }
    numbers: Numbers = {f"accuracy, trained on {name}": classified(run, rows[:300]) for name, run in runs.items()}
    for name, vectors in read(runs["stop"], rows[:1000], room).items():
        numbers[f"probe, {name}"] = probed(vectors, [label for label, _ in rows[:1000]])
    stop, mean = (numbers[f"accuracy, trained on {name}"] for name in runs)
    numbers["difference in accuracy, stop − mean"] = stop - mean
    for other in ("mean", "first", "new weights", "random"):
        numbers[f"difference in probe, stop − {other}"] = numbers["probe, stop"] - numbers[f"probe, {other}"]
    return numbers


def encoder_of(model: Model) -> Encoder:
    assert isinstance(model, models.Classifier)
    return model.encoder


@torch.no_grad()
def read(run: Run, rows: Sequence[tuple[str, str]], room: Room) -> dict[str, Tensor]:
    """What stands for each text, (N, D), in several ways."""
    tokens = torch.tensor([[*run.source_tokenizer.encode(text), STOP] for _, text in rows])
    encoded, new = (encoder_of(model)(Source(tokens)) for model in (run.model, run.new_model().eval()))
    return {
        "stop": encoded.summary,
        "mean": encoded.vectors.mean(1),
        "first": encoded.vectors[:, 0],
        "new weights": new.summary,
        "random": torch.randn(encoded.summary.shape, generator=room.random()),
    }


def probed(vectors: Tensor, labels: Sequence[str]) -> float:
    """How often a linear probe, fitted by least squares with a little decay to one half, is right on the other."""
    names = sorted(set(labels))
    wanted = torch.tensor([names.index(label) for label in labels])
    x = torch.cat([(vectors - vectors.mean(0)) / (vectors.std(0) + 1e-6), torch.ones(len(vectors), 1)], 1).double()
    y = torch.nn.functional.one_hot(wanted, len(names)).double()
    half = len(x) // 2
    fitted = torch.linalg.solve(x[:half].T @ x[:half] + torch.eye(x.shape[1]), x[:half].T @ y[:half])
    return float(((x[half:] @ fitted).argmax(1) == wanted[half:]).float().mean())


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    trained, probes = figure.subplots(1, 2, width_ratios=(1, 2.2))
    draw_bars(trained, seeds, {"accuracy, trained on stop": "stop", "accuracy, trained on mean": "mean"})
    trained.set(ylabel="share right", title="trained on", ylim=(0, 1.03))
    draw_bars(probes, seeds, {f"probe, {name}": said for name, said in READ.items()})
    probes.set(title="read off by a linear probe", ylim=(0, 1.03))
    probes.tick_params(axis="x", labelsize=8)
    for axes in (trained, probes):
        axes.axhline(1 / 8, color=GREY, linewidth=0.8, linestyle=":")


CLAIM = Claim(
    name="stop-vector",
    says="The stop token's vector stands for the whole sentence",
    equation="c = h_S at the stop token;  p(class) = softmax(W c)",
    paper="The notes' summary; Devlin et al. 2019 ([CLS]); Conneau et al. 2018 (probes)",
    setup="A Transformer encoder learns which letter (8 kinds) stands behind the mark among twelve, by the vector at "
    "the stop token, or by the mean of all. Then a linear probe reads the answer off the first one's vectors: at the "
    "stop, their mean, at the first token; at the stop of new weights; off random numbers. That the first token knows "
    "it nearly as well is no failure of the claim: in an encoder every vector has seen all. Quick: two blocks of "
    "width 32, 350 updates; full: four of 128, 2000. Chance: 1/8.",
    marks=(
        Mark("difference in accuracy, stop − mean", above=-0.05),
        Mark("difference in probe, stop − mean", above=-0.05),
        Mark("difference in probe, stop − new weights", above=0.1),
        Mark("difference in probe, stop − random", above=0.1),
    ),
    measure=measure,
    draw=draw,
    next="Probe a language model's last vector for a property that it was never taught.",
    changed="The rule: a first one asked the stop to do better than the first token, which the claim does not say.",
)
