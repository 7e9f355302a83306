"""The context window: a language model of attention, held to the length that it was trained with."""

from collections.abc import Generator
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.state import State
from regard.models.feeding import Feed, Read, Result, found_by, relayed
from regard.models.model import Model, Source, check_fed

GAP = -1  # in place of a token: padding


class WindowState(NamedTuple):
    """What the model remembers, and what it would have to read again."""

    inner: State  # the model's own
    recent: Int[Tensor, "B N"]  # the tokens read since it last began, GAP at padding


class ContextWindow(Model[WindowState]):
    """A window that moves by half: after `length` tokens the last half of them is read again from a new state.

    Distances that never came in training are unknown to any kind of position. A model of 256 characters at a time lost
    1.37 nats a character up to there, 2.8 after 400 and 3.5 after 650.

    Rows begin anew each for itself, so this is not for a beam, whose rows share what they have read.
    """

    def __init__(self, model: Model, length: int) -> None:
        super().__init__()
        self.model = model
        self.length = max(length, 2)

    def start(self, source: Source | None = None, batch: int = 1) -> WindowState:
        nothing = torch.zeros(batch, 0, dtype=torch.long, device=next(self.parameters()).device)
        return WindowState(self.model.start(source, batch), nothing)

    def forward(
        self, tokens: Int[Tensor, "B T"], state: WindowState, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], WindowState]:
        scores, state = self._piece_by_piece(Feed(tokens, state, keep, every=True))
        return torch.cat(scores, 1), state

    def prefill(
        self, tokens: Int[Tensor, "B T"], state: WindowState, keep: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B V"], WindowState]:
        scores, state = self._piece_by_piece(Feed(tokens, state, keep))
        return scores[-1], state

    def _piece_by_piece(self, feed: Feed) -> tuple[list[Tensor], WindowState]:
        """The scores of each run of tokens that are read from one beginning, and the state behind them."""
        check_fed(feed.tokens, feed.state)
        return found_by(self.model, pieces(feed, self.length))


def pieces(asked: Feed, length: int) -> Generator[Any, Any, tuple[list[Tensor], WindowState]]:
    """What is to be fed to the model itself; the scores of each run of tokens read from one beginning."""
    assert isinstance(asked.state, WindowState)
    inner, recent = asked.state
    left = asked.tokens if asked.keep is None else asked.tokens.where(asked.keep, GAP)
    found = []
    while left.shape[1]:
        if recent.shape[1] == length:
            recent = recent[:, -(length // 2) :]
            _, inner = yield Feed(*_told(recent, (yield Read(rows=len(recent)))))
        now, left = left.tensor_split([length - recent.shape[1]], 1)
        scores, inner = yield Feed(*_told(now, inner), every=asked.every)
        found.append(scores)
        recent = torch.cat([recent, now], 1)
    return found, WindowState(inner, recent)


def in_window(search: Generator[Any, Any, Result], length: int) -> Generator[Any, Any, Result]:
    """The same search, its model held to `length` tokens as by a `ContextWindow`."""

    def reply(said: Any) -> Generator[Any, Any, Any]:
        if isinstance(said, Read):
            return WindowState((yield said), torch.zeros(said.rows, 0, dtype=torch.long))
        if isinstance(said, Feed):
            scores, state = yield from pieces(said, length)
            return torch.cat(scores, 1) if said.every else scores[-1], state
        return (yield said)

    return (yield from relayed(search, reply))


def _told(tokens: Int[Tensor, "B T"], state: State) -> tuple[Tensor, State, Tensor | None]:
    """What a model is fed: tokens, its state, and which of them are real."""
    keep = tokens != GAP
    return tokens.clamp(min=0), state, None if keep.all() else keep
