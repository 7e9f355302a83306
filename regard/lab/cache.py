"""Test time is sequential, and the KV cache makes each step cheap: one token's cost with and without it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from regard.config import LanguageModel
from regard.lab.claim import Claim, Mark, Numbers
from regard.lab.common import blocks, draw_times, seconds
from regard.lab.room import Room
from regard.layers.state import State
from regard.models.build import build
from regard.models.model import Model

LENGTHS = (16, 32, 64, 128, 256, 512)


def measure(room: Room) -> Numbers:
    width, layers = room.by_effort((128, 2), (512, 6))
    model = build(LanguageModel(blocks(width, layers, 4)), 50).eval()
    tokens = torch.randint(50, (1, max(LENGTHS)), generator=room.random())
    cached, again, worst = [], [], 0.0
    for length in LENGTHS:
        past, new = tokens[:, : length - 1], tokens[:, length - 1]
        state = read(model, past)
        cached.append(1000 * seconds(partial(step, model, new, state), 30))
        again.append(1000 * seconds(partial(afresh, model, tokens[:, :length]), 7))
        worst = max(worst, float((step(model, new, state) - afresh(model, tokens[:, :length])).abs().max()))
    return {
        "lengths": list(LENGTHS),
        "milliseconds": {"keys and values kept": cached, "all computed again": again},
        "largest difference": worst,
        "ratio of times at 512, computed again to kept": again[-1] / cached[-1],
        "ratio of times kept, at 512 to at 16": cached[-1] / cached[0],
        "ratio of times computed again, at 512 to at 16": again[-1] / again[0],
    }


@torch.inference_mode()
def read(model: Model, past: torch.Tensor) -> State:
    return model(past, model.start())[1]


@torch.inference_mode()
def step(model: Model, token: torch.Tensor, state: State) -> torch.Tensor:
    return model.step(token, state)[0]


@torch.inference_mode()
def afresh(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    return model.prefill(tokens, model.start())[0]


def draw(figure: Any, seeds: Sequence[Numbers]) -> None:
    draw_times(figure, seeds, "tokens so far", "milliseconds for the next one")


CLAIM = Claim(
    name="cache",
    says="Test time is sequential, and keeping keys and values makes each step cheap",
    equation="h_t from q_t and the kept k_1 … k_t, v_1 … v_t;  without them k and v of all t again",
    paper="Vaswani et al. 2017; Shazeer 2019",
    setup="A Transformer with new weights makes the next token after t others, from its state (the cache) and from "
    "nothing; the shortest of several times, batch 1. Quick: two blocks of width 128; full: six of 512.",
    marks=(
        Mark("largest difference", below=1e-3),
        Mark("ratio of times at 512, computed again to kept", above=4),
        Mark("ratio of times kept, at 512 to at 16", below=3),
    ),
    measure=measure,
    draw=draw,
    next="How many bytes does the cache hold at 512? Compare an LSTM: its state does not grow at all.",
)
