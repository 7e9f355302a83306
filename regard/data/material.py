"""What a model learns from and is judged by, as tokens in its run folder or in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from regard.data.store import Store


@dataclass(frozen=True)
class Material:
    """Both parts, each as (text,) or (source, target): a Store, or an Album where the source is pictures."""

    train: tuple[Any, ...]
    valid: tuple[Any, ...]
    valid_bytes: int  # of what is to be predicted, in UTF-8
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def train_tokens(self) -> int:
        return _tokens_of(self.train)

    @property
    def valid_tokens(self) -> int:
        return _tokens_of(self.valid)

    def share(self, tokens: int) -> float:
        """Which part of what is held out has so many tokens; all of it, if it has fewer, or if 0 are asked for."""
        return min(1.0, tokens / self.valid_tokens) if tokens else 1.0


def _tokens_of(sides: tuple[Any, ...]) -> int:
    return sum(len(side.tokens) for side in sides if isinstance(side, Store))


class Units(NamedTuple):
    """What is drawn anew to tell how far a figure may be off by chance: whole examples, or stretches of a text."""

    called: str
    sizes: Float[np.ndarray, " N"]
    """Bytes of what is to be predicted in each."""
    places: Iterable[Int[np.ndarray, "B _"]]
    """For every batch of `held_out_batches`, which unit each wanted token belongs to, or all of a row."""
