"""Several models that answer as one."""

import math
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.state import State
from regard.models.model import Model, Source
from regard.models.ranking import Ranked


class Ensemble(Model[tuple[State, ...]]):
    """scores = log (1/N) Σ_i softmax(scores_i): the mean of the members' probabilities. The state is all of theirs.

    Members read the same source and write the same vocabulary; they may differ in everything else.
    """

    def __init__(self, members: Sequence[Model]) -> None:
        super().__init__()
        if not members:
            raise UserError("an ensemble must have at least one model, found none")
        self.members = nn.ModuleList(members)
        self.longest = min((member.longest for member in members if member.longest), default=None)
        self.grows = any(member.grows for member in members)

    def start(self, source: Source | None = None, batch: int = 1) -> tuple[State, ...]:
        return tuple(member.start(source, batch) for member in self._members)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: tuple[State, ...], keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], tuple[State, ...]]:
        return _mean([member(tokens, part, keep) for member, part in zip(self.members, state, strict=True)])

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: tuple[State, ...], keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], tuple[State, ...]]:
        return _mean([member.prefill(tokens, part, keep) for member, part in zip(self._members, state, strict=True)])

    def ranked(self, scores: Float[Tensor, "R V"], count: int, every: bool = False) -> Ranked:
        """As the first member does it: by the means that its engine has."""
        return self._members[0].ranked(scores, count, every)

    @property
    def _members(self) -> list[Model]:
        return cast(list[Model], list(self.members))


def _mean(answers: Sequence[tuple[Float[Tensor, "..."], State]]) -> tuple[Float[Tensor, "..."], tuple[State, ...]]:
    sizes = [scores.shape[-1] for scores, _ in answers]
    if len(set(sizes)) > 1:
        raise UserError(
            f"the models of an ensemble must write the same vocabulary, found sizes {', '.join(map(str, sizes))}; "
            "train them with the same tokenizer"
        )
    logs = torch.stack([scores.log_softmax(-1) for scores, _ in answers])
    return logs.logsumexp(0) - math.log(len(answers)), tuple(state for _, state in answers)
