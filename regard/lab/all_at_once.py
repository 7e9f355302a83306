"""Training is parallel: all positions at once give what one after the other gives, in less time."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from regard.config import LanguageModel
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, cells, draw_times, seconds
from regard.lab.room import Room
from regard.models.build import build
from regard.models.model import Model

LENGTHS = (16, 32, 64, 128, 256)


def measure(room: Room) -> Numbers:
    width, layers = room.by_effort((128, 2), (512, 6))
    numbers: Numbers = {"lengths": list(LENGTHS), "milliseconds": {}}
    for name, layer in (("attention", blocks(width, layers, 4)), ("LSTM", cells("lstm", 2 * width))):
        model = build(LanguageModel(layer), 50).eval()
        tokens = torch.randint(50, (1, max(LENGTHS)), generator=room.random())
        once = [1000 * seconds(partial(at_once, model, tokens[:, :n])) for n in LENGTHS]
        steps = [1000 * seconds(partial(by_steps, model, tokens[:, :n]), 3) for n in LENGTHS]
        numbers["milliseconds"] |= {f"{name}, all at once": once, f"{name}, one by one": steps}
        numbers[f"{name}: ratio of times at 256, one by one to all at once"] = steps[-1] / once[-1]
        exact = model.double()
        numbers[f"{name}: largest difference"] = float((at_once(exact, tokens) - by_steps(exact, tokens)).abs().max())
    return numbers


@torch.inference_mode()
def at_once(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    return model(tokens, model.start())[0]


@torch.inference_mode()
def by_steps(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    state, scores = model.start(), []
    for token in tokens.unbind(1):
        score, state = model.step(token, state)
        scores.append(score)
    return torch.stack(scores, 1)


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    draw_times(figure, seeds, "tokens T", "milliseconds for all of them")


CLAIM = Claim(
    name="all-at-once",
    says="Training is parallel: all positions at once give the same as one after the other, and faster",
    equation="f(x_1 … x_T) = f(x_1), f(x_2), …, f(x_T), each from the state behind the one before",
    paper="Vaswani et al. 2017 (table 1)",
    setup="A language model of attention blocks and an LSTM with new weights read T tokens both ways: in float64 for "
    "the difference, in float32 for the time (the shortest of several, batch 1). An LSTM's positions wait for each "
    "other also inside `all at once`: there only the loop is faster. Quick: width 128, two blocks; full: 512, six.",
    marks=(
        Mark("attention: largest difference", below=1e-9),
        Mark("LSTM: largest difference", below=1e-9),
        Mark("attention: ratio of times at 256, one by one to all at once", above=4),
    ),
    measure=measure,
    draw=draw,
    next="Give it more threads (OMP_NUM_THREADS) or a GPU: which of the four lines falls?",
)
