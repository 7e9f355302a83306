"""More data and more parameters lower the loss: a small scaling fit with its residuals."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.config import Data, LanguageModel, Text
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import by_doubling, cells, held_out, python_source, recipe
from regard.lab.room import Room
from regard.look.pictures.style import GREY, LINES
from regard.models.count import count


def measure(room: Room) -> Numbers:
    widths, sizes = room.by_effort(
        ((16, 32, 64), (5_000, 20_000, 80_000)), ((64, 128, 256, 512), (10**5, 10**6, 10**7))
    )
    steps = room.by_effort(250, 4000)
    valid = room.file("valid.txt", [python_source("valid", room.by_effort(30_000, 300_000))])
    points: list[tuple[float, float, float]] = []
    for size in sizes:
        file = room.file(f"{size}.txt", [python_source("train", size)])
        for width in widths:
            plan = recipe(file, LanguageModel(cells("gru", width)), steps, rate=0.008, text=Text("bytes"))
            run = room.train(f"{size} {width}", replace(plan, data=Data(file, valid=valid)))
            layer = count(run.model)
            points.append((size, layer.total - layer["embedding"], held_out(run)))
    data, parameters, losses = (list(column) for column in zip(*points, strict=True))
    fit = fitted(data, parameters, losses)
    by_size = np.array(losses).reshape(len(sizes), len(widths))
    return {
        "data": data,
        "parameters": parameters,
        "losses": losses,
        "fit": fit["losses"],
        "falls with more data, of all steps": float((np.diff(by_size, axis=0) < 0).mean()),
        "falls with more parameters, at the most data": float((np.diff(by_size[-1]) < 0).mean()),
        "loss, least of both": losses[0],
        "loss, most of both": losses[-1],
        "exponent of parameters": fit["alpha"],
        "exponent of data": fit["beta"],
        "loss that stays": fit["rest"],
        "largest residual (nats)": max(abs(a - b) for a, b in zip(losses, fit["losses"], strict=True)),
        "explained share of the variance": 1 - float(np.var(np.array(losses) - fit["losses"]) / np.var(losses)),
    }


def fitted(data: Sequence[float], parameters: Sequence[float], losses: Sequence[float]) -> dict[str, Any]:
    """L = E + A N^−α + B D^−β: the exponents by trying, the rest by least squares, none of E, A and B below zero."""
    d, n, wanted = (np.array(column, float) for column in (data, parameters, losses))
    best: dict[str, Any] = {}
    for alpha, beta in itertools.product(np.arange(0.02, 1.5, 0.02), repeat=2):
        columns = np.stack([np.ones_like(n), (n / n.min()) ** -alpha, (d / d.min()) ** -beta], 1)
        factors = np.linalg.lstsq(columns, wanted, rcond=None)[0]
        error = float(((columns @ factors - wanted) ** 2).sum())
        if factors.min() >= 0 and error < best.get("error", np.inf):
            rest = float(factors[0])
            best = {"alpha": float(alpha), "beta": float(beta), "rest": rest, "error": error}
            best["losses"] = (columns @ factors).tolist()
    return best or {"alpha": 0.0, "beta": 0.0, "rest": float(wanted.mean()), "losses": [float(wanted.mean())] * len(d)}


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    losses, residuals = figure.subplots(1, 2, width_ratios=(1.6, 1))
    for numbers in seeds:
        rows = list(zip(numbers["data"], numbers["parameters"], numbers["losses"], numbers["fit"], strict=True))
        for place, size in enumerate(sorted({row[1] for row in rows})):
            x, loss, fit = zip(*((d, l, f) for d, n, l, f in rows if n == size), strict=True)
            colour = LINES[place % len(LINES)]
            losses.plot(x, loss, "o", color=colour, markersize=4, label=f"{size:,}" if numbers is seeds[0] else None)
            losses.plot(x, fit, "-", color=colour, linewidth=1.2 if len(seeds) == 1 else 0.7)
        residuals.plot(numbers["fit"], [row[2] - row[3] for row in rows], "o", color=LINES[0], markersize=4)
    by_doubling(losses, sorted(set(seeds[0]["data"])))
    losses.set(xlabel="characters of training text", ylabel="held-out loss (nats)")
    losses.legend(frameon=False, fontsize=9, title="parameters", loc="best")
    residuals.axhline(0, color=GREY, linewidth=0.8)
    residuals.set(xlabel="loss by the fit", ylabel="measured − fit (nats)")


CLAIM = Claim(
    name="scaling-law",
    says="More data and more parameters lower the loss, along a law that can be fitted",
    equation="L(N, D) = E + A/N^α + B/D^β",
    paper="Kaplan et al. 2020; Hoffmann et al. 2022",
    setup="GRUs of three widths learn three amounts of Python source, character by character; the best look at one "
    "held-out text counts. N: parameters without the embedding; D: characters. Quick: widths 16 to 64, 5,000 to "
    "80,000 characters, 250 updates each; full: 64 to 512, 100,000 to 10,000,000, 4000.",
    marks=(
        Mark("falls with more data, of all steps", above=0.99),
        Mark("falls with more parameters, at the most data", above=0.99),
        Mark("explained share of the variance", above=0.9),
        Mark("largest residual (nats)", below=0.1),
    ),
    measure=measure,
    draw=draw,
    next="Predict the loss of a model twice as wide from the fit, then train it. Where do more parameters stop "
    "helping?",
    changed="The set-up: less text, so that text is what lacks.",
)
