"""How well a language model does at the beginning of a text, from an empty state: its loss by position."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.look.pictures.style import GREY, LINES, WIDTH, figure, save_figure
from regard.models.model import Model
from regard.special import START

PASSAGES, LONG = 128, 64  # how many, and how many tokens of each
AT_ONCE = 4  # passages that are scored together
FIRST = 10  # tokens that count as the beginning


def passages(tokens: Int[np.ndarray, " N"], length: int) -> Int[Tensor, "B T"]:
    """Pieces of a text, evenly spread over it, each begun as a text is: behind the start token."""
    long = min(LONG, length, len(tokens) - 1)
    begins = np.linspace(0, len(tokens) - long, min(PASSAGES, len(tokens) - long + 1)).astype(int)
    found = torch.from_numpy(np.stack([tokens[begin : begin + long] for begin in begins]).astype(np.int64))
    return torch.cat([torch.full((len(found), 1), START), found], 1)


@torch.no_grad()
def loss_by_position(model: Model, tokens: Int[Tensor, "B T"]) -> Float[Tensor, " T-1"]:
    """The mean of −log p(y_t | y_1 … y_{t−1}) at each t since the start, over all passages."""
    training = model.training
    device = next(model.parameters()).device
    model.eval()
    losses = []
    for some in tokens.split(AT_ONCE):
        scores, _ = model(some[:, :-1].to(device), model.start(batch=len(some)))
        wanted = some[:, 1:]
        nats = F.cross_entropy(scores.float().flatten(0, 1).cpu(), wanted.flatten(), reduction="none")
        losses.append(nats.view(wanted.shape))  # (B, T)
    model.train(training)
    return torch.cat(losses).mean(0)


def in_words(losses: Float[Tensor, " T"]) -> str:
    """The beginning against the rest."""
    first, rest = losses[:FIRST].mean().item(), losses[FIRST:].mean().item()
    told = f"{first:.2f} nats over the first {FIRST} tokens of a text, {rest:.2f} over the next {len(losses) - FIRST}"
    return f"from an empty state: {told}"


def draw_by_position(path: Path, losses: Float[Tensor, " T"]) -> None:
    """Loss against the number of tokens since the start."""
    drawn = figure(WIDTH, 3.2)
    axes = drawn.add_subplot()
    axes.axhline(losses[FIRST:].mean().item(), color=GREY, linewidth=1, label=f"mean from token {FIRST + 1} on")
    axes.plot(
        range(1, len(losses) + 1),
        losses.tolist(),
        color=LINES[0],
        marker="o",
        markersize=3,
        label="from an empty state",
    )
    axes.set_xlabel("tokens since the start")
    axes.set_ylabel("loss (nats per token)")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
    save_figure(drawn, path)
