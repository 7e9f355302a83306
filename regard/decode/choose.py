"""Rules that choose the next token from the scores of all of them."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import UserError

Choose: TypeAlias = Callable[[Tensor], Tensor]  # (B, V) → (B,)


def sample(temperature: float = 1.0, generator: torch.Generator | None = None) -> Choose:
    """A token drawn from softmax(scores / temperature): below 1 the probable ones more often, above 1 less."""
    if not temperature > 0:
        raise UserError(f"temperature must be above 0, found {temperature}; for always the best token choose argmax")

    def choose(scores: Tensor) -> Tensor:
        return torch.multinomial(torch.softmax(scores / temperature, -1), 1, generator=generator)[:, 0]

    return choose


def argmax(scores: Float[Tensor, "B V"]) -> Int[Tensor, " B"]:
    """The most probable token."""
    return scores.argmax(-1)
