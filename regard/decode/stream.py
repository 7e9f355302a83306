"""One token after the other, as they are made."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from regard.decode.choose import Choose
from regard.layers.state import State
from regard.models.model import Model


def stream(
    model: Model, token: Int[Tensor, " B"], state: State, choose: Choose, *, limit: int, stop: int
) -> Iterator[Int[Tensor, " B"]]:
    """y_t = choose(scores_t), fed back, until every row has stopped or `limit` tokens are made."""
    finished = torch.zeros_like(token, dtype=torch.bool)
    for _ in range(limit):
        scores, state = model.step(token, state)
        token = torch.where(finished, stop, choose(scores))
        yield token
        finished = finished | (token == stop)
        if finished.all():
            return
