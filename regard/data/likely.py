"""What teachers find likely at every place of every answer: their few best tokens, and how probable each is."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.disk import read_tensors, write_tensors
from regard.errors import UserError

BEST = 8  # tokens at each place


class Likely:
    """N places, those of one answer behind the other; the probabilities of a place sum to 1."""

    def __init__(
        self, tokens: Int[Tensor, "N K"], probabilities: Float[Tensor, "N K"], lengths: NDArray[np.integer]
    ) -> None:
        self.tokens, self.probabilities = tokens, probabilities
        self.lengths = torch.from_numpy(lengths.astype(np.int64))
        self.begins = self.lengths.cumsum(0) - self.lengths

    @staticmethod
    def nothing(lengths: NDArray[np.integer], best: int) -> "Likely":
        """Room for answers of these lengths."""
        places = int(lengths.sum())
        return Likely(torch.zeros(places, best, dtype=torch.int32), torch.zeros(places, best).half(), lengths)

    def places(self, answers: Sequence[int] | NDArray[np.integer], long: int) -> tuple[Tensor, Tensor]:
        """Where `long` places of each answer stand, and which of these are its own."""
        chosen, along = torch.as_tensor(answers), torch.arange(long)
        there = along < self.lengths[chosen, None]
        return (self.begins[chosen, None] + along).where(there, 0), there  # (B, T)

    def of(
        self, answers: Sequence[int] | NDArray[np.integer], long: int
    ) -> tuple[Int[Tensor, "B T K"], Float[Tensor, "B T K"]]:
        """What is likely in these answers; behind the end of one nothing is."""
        places, there = self.places(answers, long)
        return self.tokens[places].long(), self.probabilities[places].float() * there[..., None]

    def note(self, answers: Sequence[int] | NDArray[np.integer], logs: Float[Tensor, "B T V"]) -> None:
        """Writes the best tokens of these scores, log p, into their places."""
        best = logs.topk(self.tokens.shape[1])
        places, there = self.places(answers, logs.shape[1])
        self.tokens[places[there]] = best.indices[there].int()
        self.probabilities[places[there]] = best.values[there].softmax(-1).half()

    def write(self, path: Path) -> None:
        write_tensors(path, {"tokens": self.tokens, "probabilities": self.probabilities})

    @staticmethod
    def read(path: Path, lengths: NDArray[np.integer]) -> "Likely":
        remedy = f"delete {path.parent.parent} and distil again"
        found, _ = read_tensors(path, remedy)
        likely = Likely(found["tokens"], found["probabilities"], lengths)
        if len(likely.tokens) != lengths.sum():
            raise UserError(f"{path} has {len(likely.tokens):,} places, the answers have {lengths.sum():,}; {remedy}")
        return likely
