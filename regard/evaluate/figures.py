"""How good a model is on what it was not trained on: one pass over the held-out part."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import Batch
from regard.evaluate.loss import Objective
from regard.layers.state import State
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
