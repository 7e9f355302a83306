"""Gradient norms by lag, how far back a loss can teach: ‖∂loss_t / ∂h_{t−k}‖ over k."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.score import score
from regard.layers.state import State
from regard.layers.tap import SOURCE, WRITTEN, taps_of
from regard.look.patch import patch
from regard.look.record import Record
from regard.models.model import Model

SEVERAL = 8  # steps t that the mean is over


class _Leaf:
    """Adds zeros to what passes at a tap: their gradient is that of what passed."""

    def __init__(self, from_the_end: bool) -> None:
        self._from_the_end = from_the_end
        self.zeros: list[Tensor] = []  # one for each call: a recurrence calls once for each position

    def __call__(self, value: Tensor) -> Tensor:
        self.zeros.append(torch.zeros_like(value, requires_grad=True))
        return value + self.zeros[-1]

    def norms(self, loss: Tensor) -> Float[Tensor, " T"]:
        """‖∂loss / ∂h_t‖ for every t."""
        found = torch.autograd.grad(loss, self.zeros, retain_graph=True, allow_unused=True, materialize_grads=True)
        lengths = torch.cat(found, 1)[0].norm(dim=-1)  # (T, D) → (T,)
        return lengths.flip(0) if self._from_the_end else lengths


def memory(model: Model, record: Record, several: int = SEVERAL) -> dict[str, Float[Tensor, " K"]]:
    """‖∂loss_t / ∂h_{t−k}‖ for k = 0, 1, …, the mean over several steps t: at the embedding and every hidden tap.

    loss_t = −log p(y_{t+1} | y_1 … y_t). h_t is what passes when token t is fed, or read by a model that labels; every
    way from there to the loss counts, through time and through layers. The steps are the last ones, at most half of
    them, so that each k was possible at all of them. (Bengio et al. 1994; Pascanu et al. 2013)
    """
    wanted = {path: tap for path, tap in taps_of(model).items() if tap.role in ("embedding", "hidden")}
    written = {path: tap for path, tap in wanted.items() if tap.rows == WRITTEN}
    leaves = {path: _Leaf(tap.from_the_end) for path, tap in (written or wanted).items()}
    with torch.enable_grad(), patch(model, leaves):
        losses = -score(model, *asked(model, record))[0]  # (T,)
    steps = range(max(len(losses) // 2, len(losses) - several), len(losses))
    behind = 0  # a class is said behind all that was read, a tag or a token in step
    if not written and len(losses) == 1:
        behind = len(record.sequences[SOURCE].tokens) - 1
    places = [t + behind for t in steps]
    return {path: _mean([leaf.norms(losses[t]) for t in steps], places) for path, leaf in leaves.items()}


def asked(model: Model, record: Record) -> tuple[Tensor, State]:
    """What was written, and the state before it: to ask the model again."""
    device, source = next(model.parameters()).device, record.source
    state = model.start(None if source is None else source._replace(content=source.content.to(device)))
    return record.written.ids[None].to(device), state


def _mean(norms: list[Tensor], places: list[int]) -> Float[Tensor, " K"]:
    """The mean over steps of what lies 0, 1, … positions before each."""
    reach = min(places) + 1
    back = [row[place + 1 - reach : place + 1].flip(0) for row, place in zip(norms, places, strict=True)]
    return torch.stack(back).mean(0).detach().float().cpu()


def furthest(curves: Mapping[str, Float[Tensor, " K"]]) -> str:
    """The last place of a model from which anything still comes back over time.

    Behind the last attention a position speaks for itself alone: there the curve is zero from k = 1 on.
    """
    return [path for path, curve in curves.items() if len(curve) < 2 or curve[1:].max() > 0][-1]
