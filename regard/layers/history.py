"""What a stack of attention layers has been fed so far, and so what may be looked at: the same for all its layers."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.layers.position import Turn
from regard.layers.state import Part, Rows


class View:
    """What T queries may look at among N positions: the same for every layer and head, so it is worked out once."""

    def __init__(self, mask: Bool[Tensor, "g 1 t N"] | None = None, causal: bool = False) -> None:
        self.mask = mask  # True: may look; None: everywhere
        self.causal = causal  # the queries are all N positions, and none looks past itself; then there is no mask

    def explicit(self, positions: int, device: torch.device) -> "View":
        """The same with its mask written out, also where the kernel has its own."""
        if not self.causal:
            return self
        return View(torch.ones(positions, positions, dtype=torch.bool, device=device).tril()[None, None])

    @cached_property
    def hidden(self) -> Bool[Tensor, "g 1 t N"] | None:
        """Where the score is −∞. A row of −∞ alone would be NaN, also in its gradient: such a row keeps its scores."""
        return None if self.mask is None else ~self.mask & self.mask.any(-1, keepdim=True)

    @cached_property
    def blind(self) -> Bool[Tensor, "g 1 t 1"] | None:
        """Queries that may look nowhere; None: there are none."""
        if self.mask is None:
            return None
        nowhere = ~self.mask.any(-1, keepdim=True)
        return nowhere if nowhere.any() else None


class Sight(NamedTuple):
    """What every block of a stack knows of the positions fed, besides their vectors: the same for all blocks."""

    own: View  # for self-attention
    source: View  # for cross-attention
    turn: Turn | None = None  # of queries and keys
    each: int = 1  # K rows in a group


def everywhere_kept(keep: Bool[Tensor, "B S"] | None) -> View:
    """Every query may look at all that is real."""
    return View(None if keep is None else keep[:, None, None, :])


def positions(
    seen: Int[Tensor, " B"], steps: int, keep: Bool[Tensor, "B T"] | None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
    """Where each new token stands, and how many have been seen after it. A position counts the tokens kept so far."""
    if keep is None:
        return seen[:, None] + torch.arange(steps, device=seen.device), seen + steps
    counted = keep.cumsum(1)
    return (seen[:, None] + counted - 1).clamp(min=0), seen + counted[:, -1]


class History(Part):
    """How many real tokens each row has seen, and which of the positions fed to its group are its own past.

    Rows of one group (`Rows`) write their keys and values side by side into one memory and share what they had in
    common. Reordering them then moves a mask, never a key: a search over K beams copies nothing.
    """

    def __init__(
        self, count: Int[Tensor, " R"], kept: Bool[Tensor, "G k N"] | None = None, length: int = 0, each: int = 1
    ) -> None:
        self.count = count
        self.kept = kept  # what a row may look at; k = 1: all rows of a group alike; None: all of them at everything
        self.length = length  # N
        self.each = each  # K rows in a group: R = G · K

    def __len__(self) -> int:
        return len(self.count)

    def map(self, function: Callable[[Tensor], Tensor]) -> "History":
        kept = None if self.kept is None else function(self.kept)
        return History(function(self.count), kept, self.length, self.each)

    def select(self, rows: Rows) -> "History":
        kept = self.kept
        if kept is not None:
            if kept.shape[1] > 1:
                kept = kept.flatten(0, 1).index_select(0, rows.flat).unflatten(0, (-1, rows.each))
            elif (groups := rows.groups(len(kept))) is not None:
                kept = kept.index_select(0, groups)
        return History(self.count.index_select(0, rows.flat), kept, self.length, rows.each)

    def fed(self, steps: int, keep: Bool[Tensor, "R T"] | None) -> tuple[Int[Tensor, "R T"], "History"]:
        """Where each new token stands, and the history behind them."""
        device = self.count.device
        where, count = positions(self.count, steps, keep)
        new = self.each * steps
        kept = None
        if self.kept is not None or keep is not None or self.each > 1:
            added = self._own(steps, keep)
            before = self.kept
            if before is None:
                before = torch.ones(1, 1, self.length, dtype=torch.bool, device=device)
            shape = len(self) // self.each, max(before.shape[1], added.shape[1]), -1  # (G, k, …)
            kept = torch.cat([before.expand(shape), added.expand(shape)], 2)
        return where, History(count, kept, self.length + new, self.each)

    def _own(self, steps: int, keep: Bool[Tensor, "R T"] | None) -> Bool[Tensor, "g k KT"]:
        """Which of the new positions of its group a row may look at: what it was fed itself, where that is real."""
        new, device = self.each * steps, self.count.device
        if self.each == 1 and keep is None:
            return torch.ones(1, 1, new, dtype=torch.bool, device=device)
        own = torch.eye(self.each, dtype=torch.bool, device=device).repeat_interleave(steps, 1)[None]  # (1, K, K·T)
        return own if keep is None else own & keep.reshape(len(self) // self.each, 1, new)

    def view(self, steps: int, causal: bool) -> View:
        """What the newest `steps` tokens of every row may look at."""
        if causal and steps > 1:
            if self.kept is None and steps == self.length:
                return View(causal=True)
            return View(self._up_to_themselves(steps))
        if self.kept is None:
            return View()
        return View(self._for_every_query(self.kept, steps)[:, None])

    def _up_to_themselves(self, steps: int) -> Bool[Tensor, "g 1 t N"]:
        """For K rows of T queries each: no query looks at a later position of its own row."""
        new = self.each * steps
        order = torch.arange(new, device=self.count.device) % steps  # which of its row's new tokens a position is
        mask = torch.cat([order.new_ones(new, self.length - new, dtype=torch.bool), order[:, None] >= order], 1)[None]
        if self.kept is not None:
            mask = mask & self._for_every_query(self.kept, steps)
        return mask[:, None]

    @staticmethod
    def _for_every_query(kept: Bool[Tensor, "G k N"], steps: int) -> Bool[Tensor, "G t N"]:
        """A row's line once for each of its T queries; one line for all rows is enough for all their queries."""
        return kept if kept.shape[1] == 1 or steps == 1 else kept.repeat_interleave(steps, 1)
