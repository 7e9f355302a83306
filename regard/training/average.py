"""A mean of the weights over the updates behind, by which looks judge (exponential moving average)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.training.parallel import shared_like


class Average:
    """θ̄_t = β θ̄_{t−1} + (1 − β) θ_t, over 1 − βᵗ so that it is a mean from the first update on; β = 0: none is kept.

    It costs as much memory as the weights that learn, and evens out what a rate that is still high leaves in them.
    (Polyak & Juditsky 1992; the correction: Kingma & Ba 2015)
    """

    def __init__(self, model: nn.Module, beta: float) -> None:
        learns = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.beta, self.weights = beta, list(learns.values()) if beta else []
        self.names = list(learns) if beta else []
        self.means = [weight.detach().clone() for weight in self.weights]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Behind an update, counted from 1."""
        if self.weights:
            share = (1 - self.beta) / (1 - self.beta**step)
            torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the mean for its weights."""
        kept = [weight.detach().clone() for weight in self.weights]
        self._put(self.means)
        try:
            yield
        finally:
            self._put(kept)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """To be kept in a checkpoint."""
        return dict(zip(self.names, self.means, strict=True))

    def go_on_from(self, saved: Mapping[str, Tensor]) -> None:
        """Where there is no saved mean (it was not asked for then), it begins with the weights as they are."""
        now = zip(self.names, self.weights, strict=True)
        self.means = [
            shared_like(saved[name], weight).clone() if name in saved else weight.detach().clone()
            for name, weight in now
        ]

    @torch.no_grad()
    def _put(self, values: list[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.copy_(value)
