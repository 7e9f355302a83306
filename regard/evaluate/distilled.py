"""Distillation: a student learns what its teachers find probable, and not only what was right."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import IGNORED, Batch
from regard.errors import UserError
from regard.evaluate.loss import Measure, Objective


class Distilled(Objective):
    """(1 − λ) Σ_t −log p(y_t) + λ Σ_t KL(q_t ‖ p_t), q_t the teachers' few best tokens at t with their probabilities.

    (Hinton et al. 2015, at temperature 1; word-level in Kim and Rush 2016)
    """

    def __init__(self, objective: Objective, share: float) -> None:
        super().__init__(objective.model, objective.smoothing, objective.precision)
        self.objective, self.share = objective, share

    def measure(self, batch: Batch) -> Measure:
        if not self.training:
            return super().measure(batch)
        if batch.likely is None or batch.probable is None:
            raise UserError(
                "train.teacher wants answers of teachers, found none in this run; see regard distill --help"
            )
        there, alone = (batch.targets != IGNORED)[..., None], self.objective.measure(batch)
        likely, probable = batch.likely.flatten(0, 1), (batch.probable * there).flatten(0, 1)  # (B·T, K)

        def measure(scores: Float[Tensor, "n V"], at: slice) -> Float[Tensor, ""]:
            q, logs = probable[at], scores.log_softmax(-1).gather(-1, likely[at])
            apart = (torch.xlogy(q, q) - q * logs).sum()
            return (1 - self.share) * alone(scores, at) + self.share * apart

        return measure
