"""What learning makes small: −log p of the tokens that were wanted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import IGNORED, Batch
from regard.layers.state import State, select, where
from regard.models.model import Model, Source

AT_ONCE = 256  # positions whose scores are made probabilities together
Measure: TypeAlias = Callable[[Tensor, slice], Tensor]  # scores at some positions, and which: what is to be small


class BatchLoss(NamedTuple):
    """Sums over a batch, and the state behind it."""

    loss: Tensor  # Σ −log p(wanted), in nats
    right: Tensor | None  # how many wanted tokens were the most probable; in training nobody asks
    state: State


class Objective(nn.Module):
    """Σ_t −log p(y_t | y_1 … y_{t−1}, x), with label smoothing in training; one module, to be shared out.

    `precision` is for training: a loss that others shall compare is computed in full.
    """

    def __init__(self, model: Model, smoothing: float, precision: torch.dtype) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.precision = precision

    def forward(self, batch: Batch, state: State, student: float = 0.0) -> BatchLoss:
        scores, state = self._read(batch, state, student)
        right = None if self.training else (scores.argmax(-1) == batch.targets).sum()
        return BatchLoss(in_parts(scores.flatten(0, 1), self.measure(batch)), right, state)

    def measure(self, batch: Batch) -> Measure:
        """What is to be small at some of the batch's positions: Σ −log p(wanted)."""
        wanted, smoothing = batch.targets.flatten(), self.smoothing if self.training else 0.0
        return CrossEntropy(wanted, smoothing)

    def read(self, batch: Batch, state: State, student: float = 0.0) -> tuple[Float[Tensor, "B T V"], State]:
        """The scores of what may come at each place, and the state behind the batch."""
        scores, state = self._read(batch, state, student)
        return scores.float(), state

    def _read(self, batch: Batch, state: State, student: float) -> tuple[Float[Tensor, "B T V"], State]:
        """The same, as precise as it was computed."""
        device, rough = batch.tokens.device.type, self.training and self.precision != torch.float32
        with torch.autocast(device, self.precision, enabled=rough):
            if batch.source is not None:
                state = self.model.start(Source(batch.source, batch.source_keep))
                if batch.source_row is not None:  # several answers to one source, which is read once
                    state = select(state, batch.source_row)
            elif state is None:
                state = self.model.start(batch=batch.size)
            elif batch.anew is not None:
                state = where(batch.anew, self.model.start(batch=batch.size), state)
            return self._scores(batch, state, student)

    def _scores(self, batch: Batch, state: State, student: float) -> tuple[Float[Tensor, "B T V"], State]:
        if not student:
            return self.model(batch.tokens, state, batch.keep)
        return by_student_forcing(self.model, batch, state, student)


@dataclass(frozen=True)
class CrossEntropy:
    """Σ_n −log p(wanted_n), p = softmax(scores), over the positions at which something is wanted."""

    wanted: Int[Tensor, " N"]
    smoothing: float = 0.0

    def __call__(self, scores: Float[Tensor, "n V"], at: slice) -> Float[Tensor, ""]:
        smoothing, wanted = self.smoothing, self.wanted[at]
        return F.cross_entropy(scores, wanted, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing)

    def in_place(self, scores: Float[Tensor, "N V"]) -> Iterator[Float[Tensor, ""]]:
        """The losses of some positions at a time; p − (1 − ε) y − ε / V, their gradient, takes the scores' place."""
        for at, log_p, loss in self._found(scores):
            yield loss
            asked, those = self.wanted[at] != IGNORED, self.wanted[at].clamp(min=0)[:, None]
            gradient = log_p.exp_().sub_(self.smoothing / log_p.shape[1])
            gradient.scatter_add_(1, those, gradient.new_full(those.shape, self.smoothing - 1))
            scores[at].copy_(gradient.mul_(asked[:, None]))

    def alone(self, scores: Float[Tensor, "N V"]) -> Iterator[Float[Tensor, ""]]:
        """The same losses where nobody asks for a gradient; the scores stay as they are."""
        return (loss for _, _, loss in self._found(scores))

    def _found(self, scores: Float[Tensor, "N V"]) -> Iterator[tuple[slice, Float[Tensor, "n V"], Float[Tensor, ""]]]:
        """Some positions at a time: which, their log p, and their loss.

        All parts are computed in one room. New ones leave holes behind into which, once they are aligned, no other
        fits: all scores once more.
        """
        room = scores.new_empty(2, min(AT_ONCE, len(scores)), scores.shape[1], dtype=torch.float32)
        for some, at in _parts(scores):
            given, log_p = room[:, : len(some)]
            torch.log_softmax(given.copy_(some), -1, out=log_p)
            told = log_p.gather(1, self.wanted[at].clamp(min=0)[:, None])[:, 0]
            if self.smoothing:
                told = torch.lerp(told, log_p.mean(1), self.smoothing)
            yield at, log_p, -told[self.wanted[at] != IGNORED].sum()


def in_parts(scores: Float[Tensor, "*sets N V"], measure: Measure) -> Float[Tensor, ""]:
    """Σ of what `measure` finds at some positions at a time; for a gradient the scores are given away.

    They are the largest tensor of an update by far. Whole, log p and two gradients would be as large again, each; here
    the gradient takes the place of the scores, and the rest never has more than AT_ONCE positions.
    """
    if scores.requires_grad and torch.is_grad_enabled():
        return _InPlace.apply(scores, measure)  # type: ignore[no-untyped-call]
    if isinstance(measure, CrossEntropy):
        return torch.stack([*measure.alone(scores)]).sum()
    return torch.stack([measure(some.float(), at) for some, at in _parts(scores)]).sum()


class _InPlace(torch.autograd.Function):
    """The gradient is found where the loss is, and scaled by what comes from behind."""

    @staticmethod
    def forward(ctx: Any, scores: Float[Tensor, "*sets N V"], measure: Measure) -> Tensor:
        ctx.gradient = scores.detach()
        own = measure.in_place(ctx.gradient) if isinstance(measure, CrossEntropy) else by_torch(ctx.gradient, measure)
        return torch.stack([*own]).sum()

    @staticmethod
    def backward(ctx: Any, *behind: Tensor) -> tuple[Tensor, None]:
        gradient = ctx.gradient
        del ctx.gradient  # once only: it is handed on, not copied
        return gradient.mul_(behind[0]), None


def by_torch(scores: Float[Tensor, "*sets N V"], measure: Measure) -> Iterator[Float[Tensor, ""]]:
    """The same as `CrossEntropy.in_place` for anything that torch can find the gradient of."""
    for some, at in _parts(scores):
        with torch.enable_grad():
            given = some.float().detach().requires_grad_()
            loss = measure(given, at)
        some.copy_(torch.autograd.grad(loss, given)[0])
        yield loss.detach()  # its graph would hold what was given: in the end every score once more


def _parts(scores: Float[Tensor, "*sets N V"]) -> Iterator[tuple[Float[Tensor, "*sets n V"], slice]]:
    for begin in range(0, scores.shape[-2], AT_ONCE):
        at = slice(begin, begin + AT_ONCE)
        yield scores[..., at, :], at


def by_student_forcing(
    model: Model, batch: Batch, state: State, probability: float
) -> tuple[Float[Tensor, "B T V"], State]:
    """Each token fed is, with this probability, the model's own last prediction. (Bengio et al. 2015)"""
    own = torch.rand(batch.tokens.shape, device=batch.tokens.device) < probability
    own[:, 0] = False
    fed, scores = batch.tokens[:, 0], []
    for t in range(batch.tokens.shape[1]):
        keep = None if batch.keep is None else batch.keep[:, t : t + 1]
        score, state = model(fed[:, None], state, keep)
        scores.append(score)
        if t + 1 < batch.tokens.shape[1]:
            fed = torch.where(own[:, t + 1], score[:, 0].argmax(-1), batch.tokens[:, t + 1])
    return torch.cat(scores, 1), state
