"""Consistency: a model shall answer alike when words are missing from what it reads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import IGNORED, Batch
from regard.evaluate.loss import BatchLoss, Objective, in_parts
from regard.layers.embedding import Embedding
from regard.layers.state import State, select
from regard.layers.tap import listen
from regard.models.model import Model


class Consistent(Objective):
    """Σ_t −log p(y_t) + α Σ_t KL(p ‖ p'), where p' reads the same with each x_t ← 0 with probability `cut`.

    Dropout differs as well; gradients go through p and p'. SimCut (Gao et al. 2022); with nothing cut it is R-Drop
    (Liang et al. 2021), but for a second −log p and a second KL the other way round. Both are read as one batch of 2B
    rows; only the first half's state goes on.
    """

    def __init__(self, objective: Objective, weight: float, cut: float) -> None:
        super().__init__(objective.model, objective.smoothing, objective.precision)
        self.objective, self.weight, self.cut = objective, weight, cut

    def forward(self, batch: Batch, state: State, student: float = 0.0) -> BatchLoss:
        if not self.training:
            return super().forward(batch, state, student)
        rows, wanted = torch.arange(batch.size, device=batch.tokens.device), batch.targets.flatten()
        alone = self.objective.measure(batch)

        def measure(both: Float[Tensor, "2 n V"], at: slice) -> Float[Tensor, ""]:
            asked = wanted[at] != IGNORED
            whole, less = both[:, asked].log_softmax(-1)
            apart = F.kl_div(less, whole, reduction="sum", log_target=True)
            return alone(both[0], at) + self.weight * apart

        with words_cut(self.model, self.cut):
            twice = None if state is None else select(state, rows.repeat(2))
            scores, state = self._read(batch.twice(), twice, student)  # (2B, T, V)
        loss = in_parts(scores.unflatten(0, (2, -1)).flatten(1, 2), measure)  # (2, B·T, V)
        return BatchLoss(loss, None, select(state, rows))


@contextmanager
def words_cut(model: Model, share: float) -> Iterator[None]:
    """Word vectors in the second half of the rows are zero with this probability. (Token cutoff, Shen et al. 2020)"""

    def cut(vectors: Float[Tensor, "B T E"]) -> Float[Tensor, "B T E"]:
        kept = torch.rand(vectors.shape[:2], device=vectors.device) >= share
        kept[: len(vectors) // 2] = True
        return vectors * kept[..., None]

    read_with = [module.vectors for module in model.modules() if isinstance(module, Embedding)]
    with listen(dict.fromkeys(read_with, cut)):
        yield
