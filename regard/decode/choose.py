"""Rules that choose the next token from the scores of all of them."""

from collections.abc import Callable
from typing import TypeAlias

from jaxtyping import Float, Int
from torch import Tensor

Choose: TypeAlias = Callable[[Tensor], Tensor]  # (B, V) → (B,)


def argmax(scores: Float[Tensor, "B V"]) -> Int[Tensor, " B"]:
    """The most probable token."""
    return scores.argmax(-1)
