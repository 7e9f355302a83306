"""One token after the other, as they are made."""

import math
from collections.abc import Generator, Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decode.choose import Choose
from regard.decode.rules import NOTHING, Bounds, apply
from regard.errors import UserError
from regard.layers.state import State, select
from regard.models.feeding import Fed, Feed, answered
from regard.models.model import Model


@torch.inference_mode()
def stream(
    model: Model,
    prompt: Int[Tensor, "B T"],
    state: State,
    choose: Choose,
    bounds: Bounds,
    *,
    keep: Bool[Tensor, "B T"] | None = None,
) -> Iterator[Int[Tensor, " B"]]:
    """y_t = choose(rules(scores_t)), fed back, until every row has stopped or as many tokens are made as may be.

    The prompt is read in one pass; `keep` is False at padding, which stands on the left. Each token is `stop` in rows
    that have stopped before. They leave the batch once they are a quarter of it, so that nobody computes for them.
    A row in which the rules leave no token stops.
    """
    yield from answered(model, streaming(prompt, state, choose, bounds, keep))


def streaming(
    prompt: Int[Tensor, "B T"],
    state: State,
    choose: Choose,
    bounds: Bounds,
    keep: Bool[Tensor, "B T"] | None = None,
) -> Generator[Feed | Int[Tensor, " B"], Fed, None]:
    """The same for whoever computes: says what is to be fed, and each token as it is made."""
    if keep is not None and not keep[:, -1].all():
        raise UserError("prompts of different length must be padded on the left, found padding at the end of one")
    stop, rules = bounds.stop, bounds.rules
    written = prompt if keep is None else prompt.where(keep, NOTHING)
    everyone = prompt.new_full((len(prompt),), stop)
    rows = torch.arange(len(prompt), device=prompt.device)  # those still computed
    stopped = 0  # how many had stopped at the last token
    token = everyone
    for made in range(bounds.limit):
        scores, state = yield Feed(token[:, None], state) if made else Feed(prompt, state, keep)
        if rules:
            scores = _stop_if_all_forbidden(apply(rules, scores, written), stop)
        chosen = choose(scores, rows, made)
        token = chosen.masked_fill(token == stop, stop) if stopped else chosen
        yield token if len(rows) == len(everyone) else everyone.index_copy(0, rows, token)
        stopped = token.tolist().count(stop)
        if rules:
            written = torch.cat([written, token[:, None]], 1)
        if stopped == len(rows):
            return
        if 4 * stopped >= len(rows):
            going = (token != stop).nonzero()[:, 0]
            rows, token, state, written = rows[going], token[going], select(state, going), written[going]


def _stop_if_all_forbidden(scores: Tensor, stop: int) -> Tensor:
    nothing = scores.amax(-1) == -math.inf
    if nothing.any():
        scores = scores.clone()
        scores[nothing, stop] = 0.0
    return scores
