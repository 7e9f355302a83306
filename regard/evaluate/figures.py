"""How good a model is on what it was not trained on: one pass over the held-out part."""

from collections.abc import Iterable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import IGNORED, Batch
from regard.data.material import Units
from regard.evaluate.loss import Objective
from regard.layers.state import State
from regard.metrics.score import Score, share_right
from regard.metrics.text import bits_per_byte, perplexity


@torch.no_grad()
def held_out_sums(objective: Objective, batches: Iterable[Batch]) -> Float[Tensor, "3"]:
    """Nats, number of tokens, and how many of them were predicted right; sums that processes can add up."""
    training = objective.training
    objective.eval()
    state: State = None
    sums = torch.zeros(3, dtype=torch.double)
    for batch in batches:
        outcome = objective(batch, None if batch.fresh or objective.model.grows else state)
        state = outcome.state
        assert outcome.right is not None
        sums += torch.tensor([outcome.loss.item(), batch.wanted, outcome.right.item()], dtype=torch.double)
    objective.train(training)
    return sums


def figures(sums: Float[Tensor, "3"], tokens: int, size: int) -> dict[str, float]:
    """What these sums say; bits per byte where there is a text, of so many tokens and so many bytes."""
    nats, counted, right = sums.tolist()
    loss = nats / max(counted, 1)
    found = {"loss": loss, "perplexity": perplexity(loss)}
    if tokens:
        found["bits_per_byte"] = bits_per_byte(loss * tokens, size)
    return {**found, "accuracy": right / max(counted, 1)}


@torch.no_grad()
def sums_by_unit(objective: Objective, batches: Iterable[Batch], units: Units) -> Float[np.ndarray, "3 N"]:
    """Nats, number of tokens, and how many of them were predicted right, in each unit by itself."""
    sums, state = np.zeros((3, len(units.sizes))), None
    for batch, places in zip(batches, units.places, strict=True):
        scores, state = objective.read(batch, None if batch.fresh or objective.model.grows else state)
        asked = batch.targets != IGNORED
        wanted = batch.targets[asked]
        nats = F.cross_entropy(scores[asked], wanted, reduction="none").double()
        where = np.broadcast_to(places, asked.shape)[asked.numpy()]
        for row, values in zip(sums, (nats, torch.ones_like(nats), scores[asked].argmax(-1) == wanted), strict=True):
            row += np.bincount(where, values.numpy(), len(row))
    return sums


def scores_of(sums: Float[np.ndarray, "3 N"], tokens: int, sizes: Float[np.ndarray, " N"]) -> dict[str, Score]:
    """`figures` as scores; `sizes` are the bytes of each unit, `tokens` is how many there are in all of them."""
    nats, counted, right = sums
    by_token = np.stack([nats, counted], 1)
    found = {
        "loss": Score(by_token, lambda sums: sums[0] / max(sums[1], 1)),
        "perplexity": Score(by_token, lambda sums: perplexity(sums[0] / max(sums[1], 1))),
    }
    if tokens:
        every = tokens / max(counted.sum(), 1)  # of a text a few at the end may not have been read
        by_byte = np.stack([nats * every, sizes], 1)
        found["bits_per_byte"] = Score(by_byte, lambda sums: bits_per_byte(sums[0], sums[1]))
    return {**found, "accuracy": share_right(right, counted)}
