"""The contract of every layer: vectors and a state in, vectors and a state out."""

from typing import Generic, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.layers.state import S, State


class Encoded(NamedTuple):
    """What an encoder made of its source: all that a decoder may know of it."""

    vectors: Float[Tensor, "B S D"]  # h_1 … h_S
    keep: Bool[Tensor, "B S"] | None  # True where a position is real; None: all of them
    summary: Float[Tensor, "B D"]  # one vector for the whole source: h_T, or the vector at the stop token
    state: State  # the encoder's last state


class Layer(nn.Module, Generic[S]):
    """y_1 … y_T, state' = f(x_1 … x_T, state), the same for T = 1 and for all of T at once.

    `keep` is True where a position is real, None when all are. A position that is not kept leaves the state as it was;
    what the layer puts out there means nothing.
    """

    longest: int | None = None
    """How many positions it can be fed from its start, where something in it ends; None: any number."""
    grows: bool = False
    """Whether its state grows with every position fed, as a KV cache does."""

    def start(self, batch: int, source: Encoded | None = None) -> S:
        """The state before the first position."""
        raise NotImplementedError

    def forward(
        self, x: Float[Tensor, "B T D_in"], keep: Bool[Tensor, "B T"] | None, state: S
    ) -> tuple[Float[Tensor, "B T D"], S]:
        raise NotImplementedError

    def summary(self, y: Float[Tensor, "B T D"], keep: Bool[Tensor, "B T"] | None, state: S) -> Float[Tensor, "B D"]:
        """One vector for the whole sequence, from what `forward` returned: the one at the last position kept."""
        if keep is None:
            return y[:, -1]
        rows = torch.arange(y.shape[0], device=y.device)
        return y[rows, last_kept(keep)]


def kept_first(keep: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """In which order positions are taken so that those kept come first, each kind in its own order."""
    before = keep.cumsum(1)
    places = torch.arange(keep.shape[1], device=keep.device).expand_as(before)
    goes_to = torch.where(keep, before - 1, before[:, -1:] + places - before)
    return torch.zeros_like(before).scatter(1, goes_to, places)


def last_kept(keep: Bool[Tensor, "B T"]) -> Tensor:
    """The index of the last position kept in each row; 0 where there is none."""
    places = torch.arange(keep.shape[1], device=keep.device)
    return (places * keep).amax(1)
