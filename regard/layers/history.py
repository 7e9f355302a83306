"""What a stack of attention layers has been fed so far, and so the mask: what may be looked at, by all its layers."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from regard.layers.position import Rotation
from regard.layers.state import Beams, Part, in_blocks


class Mask:
    """The attention mask: what T queries may look at among N positions, the same for every layer and head."""

    def __init__(self, allowed: Bool[Tensor, "g 1 t N"] | None = None, causal: bool = False) -> None:
        self.allowed = allowed  # True: may look; None: everywhere
        self.causal = causal  # the queries are all N positions, and none looks past itself; nothing is written out

    def explicit(self, positions: int, device: torch.device) -> "Mask":
        """The mask written out, also where the kernel has its own for a causal one."""
        if not self.causal:
            return self
        return Mask(torch.ones(positions, positions, dtype=torch.bool, device=device).tril()[None, None])

    def added(self, scores: Float[Tensor, "B H T S"]) -> Float[Tensor, "B H T S"]:
        """The scores with what a position adds to them: nothing."""
        return scores

    @cached_property
    def masked(self) -> Bool[Tensor, "g 1 t N"] | None:
        """Where the score is −∞. A row of −∞ alone would be NaN, also in its gradient: such a row keeps its scores."""
        return None if self.allowed is None else ~self.allowed & self.allowed.any(-1, keepdim=True)

    @cached_property
    def fully_masked(self) -> Bool[Tensor, "g 1 t 1"] | None:
        """Queries that may look nowhere; None: there are none."""
        if self.allowed is None:
            return None
        nowhere = ~self.allowed.any(-1, keepdim=True)
        return nowhere if torch.compiler.is_exporting() or nowhere.any() else None


class BiasedMask(Mask):
    """A mask, and what is added to each score besides: e_{t,s} + b_{h,t,s}, by every layer alike."""

    def __init__(self, mask: Mask, bias: Float[Tensor, "g H t N"]) -> None:
        super().__init__(mask.allowed, mask.causal)
        self.bias = bias

    def explicit(self, positions: int, device: torch.device) -> "BiasedMask":
        return BiasedMask(super().explicit(positions, device), self.bias)

    def added(self, scores: Float[Tensor, "B H T S"]) -> Float[Tensor, "B H T S"]:
        return scores + self.bias.to(scores.dtype)


class AttentionInputs(NamedTuple):
    """What every block of a stack knows of the positions fed, besides their vectors: worked out once for all blocks."""

    own: Mask  # for self-attention
    source: Mask  # for cross-attention
    rotation: Rotation | None = None  # of queries and keys
    group_size: int = 1  # K rows in a group
    keep: Bool[Tensor, "B T"] | None = None  # which of the positions fed are real; None: all


def padding_mask(keep: Bool[Tensor, "B S"] | None) -> Mask:
    """The mask by which every query may look at all that is no padding."""
    return Mask(None if keep is None else keep[:, None, None, :])


def positions(
    seen: Int[Tensor, " B"], steps: int, keep: Bool[Tensor, "B T"] | None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
    """Where each new token stands, and how many have been seen after it. A position counts the tokens kept so far."""
    if keep is None:
        where = seen[:, None]
        return where if steps == 1 else where + torch.arange(steps, device=seen.device), seen + steps
    counted = keep.cumsum(1)
    return (seen[:, None] + counted - 1).clamp(min=0), seen + counted[:, -1]


class History(Part):
    """How many real tokens each row has seen, and which of the positions fed to its group are its own past.

    Rows of one group (`Beams`) write their keys and values side by side into one memory and share what they had in
    common. Reordering them then moves a mask, never a key: a search over K beams copies nothing.
    """

    def __init__(
        self, count: Int[Tensor, " R"], kept: Bool[Tensor, "G k N"] | None = None, length: int = 0, group_size: int = 1
    ) -> None:
        self.count = count
        self.kept = kept  # what a row may look at; k = 1: all rows of a group alike; None: all of them at everything
        self.length = length  # N
        self.group_size = group_size  # K rows in a group: R = G · K

    def __len__(self) -> int:
        return len(self.count)

    def map(self, function: Callable[[Tensor], Tensor]) -> "History":
        kept = None if self.kept is None else function(self.kept)
        return History(function(self.count), kept, self.length, self.group_size)

    def select(self, rows: Beams) -> "History":
        kept = self.kept
        if kept is not None:
            if kept.shape[1] > 1:
                kept = kept.flatten(0, 1).index_select(0, rows.flat).unflatten(0, (-1, rows.group_size))
            elif (groups := rows.groups(len(kept))) is not None:
                kept = kept.index_select(0, groups)
        return History(self.count.index_select(0, rows.flat), kept, self.length, rows.group_size)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many positions each group was fed."""
        return (self.length,) * (len(self.count) // self.group_size)

    def join(self, others: Sequence[Part]) -> "UnevenHistory":
        histories = [part for part in (self, *others) if isinstance(part, History)]
        lengths = tuple(length for one in histories for length in one.lengths)
        shared = max(1 if one.kept is None else one.kept.shape[1] for one in histories)
        kept, first = self.count.new_zeros(len(lengths), shared, in_blocks(max(lengths)), dtype=torch.bool), 0
        for one in histories:
            lines = kept[first : first + len(one.lengths), :, : one.length]
            lines.copy_(torch.ones_like(lines) if one.kept is None else one.kept.expand_as(lines))
            first += len(lines)
        return UnevenHistory(torch.cat([one.count for one in histories]), kept, lengths, self.group_size)

    def fed(self, steps: int, keep: Bool[Tensor, "R T"] | None) -> tuple[Int[Tensor, "R T"], "History"]:
        """Where each new token stands, and the history behind them."""
        device = self.count.device
        where, count = positions(self.count, steps, keep)
        new = self.group_size * steps
        kept = None
        if self.kept is not None or keep is not None or self.group_size > 1:
            added = self._own(steps, keep)
            before = self.kept
            if before is None:
                before = torch.ones(1, 1, self.length, dtype=torch.bool, device=device)
            shape = self.count.shape[0] // self.group_size, max(before.shape[1], added.shape[1]), -1  # (G, k, …)
            kept = torch.cat([before.expand(shape), added.expand(shape)], 2)
        return where, History(count, kept, self.length + new, self.group_size)

    def _own(self, steps: int, keep: Bool[Tensor, "R T"] | None) -> Bool[Tensor, "g k KT"]:
        """Which of the new positions of its group a row may look at: what it was fed itself, where that is real."""
        new, device = self.group_size * steps, self.count.device
        if self.group_size == 1 and keep is None:
            return torch.ones(1, 1, new, dtype=torch.bool, device=device)
        own = torch.eye(self.group_size, dtype=torch.bool, device=device)[None]  # (1, K, K)
        if steps > 1:
            own = own.repeat_interleave(steps, 2)  # (1, K, K·T)
        return own if keep is None else own & keep.reshape(self.count.shape[0] // self.group_size, 1, new)

    def places(self, steps: int) -> Int[Tensor, "g t N"]:
        """Where each position of the memory stands, as each of the newest `steps` tokens of a row counts them."""
        if self.kept is None:
            return torch.arange(self.length, device=self.count.device)[None, None]
        return self._for_every_query((self.kept.cumsum(2) - 1).clamp(min=0), steps)

    def mask(self, steps: int, causal: bool) -> Mask:
        """What the newest `steps` tokens of every row may look at."""
        if causal and steps > 1:
            if self.kept is None and steps == self.length:
                return Mask(causal=True)
            return Mask(self._causal(steps))
        if self.kept is None:
            return Mask()
        return Mask(self._for_every_query(self.kept, steps)[:, None])

    def _causal(self, steps: int) -> Bool[Tensor, "g 1 t N"]:
        """For K rows of T queries each: no query looks at a later position of its own row."""
        new = self.group_size * steps
        order = torch.arange(new, device=self.count.device) % steps  # which of its row's new tokens a position is
        mask = torch.cat([order.new_ones(new, self.length - new, dtype=torch.bool), order[:, None] >= order], 1)[None]
        if self.kept is not None:
            mask = mask & self._for_every_query(self.kept, steps)
        return mask[:, None]

    @staticmethod
    def _for_every_query(kept: Shaped[Tensor, "G k N"], steps: int) -> Shaped[Tensor, "G t N"]:
        """A row's mask repeated for each of its T queries; one that all rows of a group share fits them as it is."""
        return kept if kept.shape[1] == 1 or steps == 1 else kept.repeat_interleave(steps, 1)


class UnevenHistory(History):
    """The histories of rows that were fed different numbers of tokens, beside `Uneven` memories: N in whole blocks."""

    def __init__(
        self, count: Int[Tensor, " R"], kept: Bool[Tensor, "G k N"], lengths: tuple[int, ...], group_size: int
    ) -> None:
        super().__init__(count, kept, in_blocks(max(lengths)), group_size)
        self._lengths = lengths

    @property
    def lengths(self) -> tuple[int, ...]:
        return self._lengths

    def map(self, function: Callable[[Tensor], Tensor]) -> "UnevenHistory":
        assert self.kept is not None
        return UnevenHistory(function(self.count), function(self.kept), self._lengths, self.group_size)

    def select(self, rows: Beams) -> "UnevenHistory":
        groups = rows.groups(len(self._lengths))
        lengths = self._lengths if groups is None else tuple(self._lengths[group] for group in groups.tolist())
        chosen = super().select(rows)
        assert chosen.kept is not None
        return UnevenHistory(chosen.count, chosen.kept[..., : in_blocks(max(lengths))], lengths, rows.group_size)

    def fed(self, steps: int, keep: Bool[Tensor, "R T"] | None) -> tuple[Int[Tensor, "R T"], "UnevenHistory"]:
        assert self.kept is not None
        where, count = positions(self.count, steps, keep)
        new, added = self.group_size * steps, self._own(steps, keep)
        lengths = tuple(length + new for length in self._lengths)
        shape = len(lengths), max(self.kept.shape[1], added.shape[1])  # (G, k)
        kept = self.kept.new_zeros(*shape, in_blocks(max(lengths)))
        kept[..., : self.length] = self.kept
        places = self._ends() + torch.arange(new, device=count.device)  # (G, K·T)
        kept.scatter_(2, places[:, None].expand(*shape, new), added.expand(*shape, new))
        return where, UnevenHistory(count, kept, lengths, self.group_size)

    def _causal(self, steps: int) -> Bool[Tensor, "g 1 t N"]:
        assert self.kept is not None
        new, device = self.group_size * steps, self.count.device
        order = torch.arange(new, device=device) % steps  # which of its row's new tokens a query is
        place = torch.arange(self.length, device=device) - (self._ends() - new)  # (G, N): from the first new one on
        order_of_keys = torch.where(place < 0, -1, place % steps)
        earlier = order[:, None] >= order_of_keys[:, None]  # (G, K·T, N)
        return (earlier & self._for_every_query(self.kept, steps))[:, None]

    def _ends(self) -> Int[Tensor, "G 1"]:
        return torch.tensor(self._lengths, device=self.count.device)[:, None]
