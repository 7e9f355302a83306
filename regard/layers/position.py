"""Positions: what tells self-attention, which knows no order, where a token stands.

A position counts the tokens kept so far, so padding never moves a token.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import UserError

Places: TypeAlias = Callable[[int], Int[Tensor, "g t N"]]
Rotation: TypeAlias = tuple[Float[Tensor, "B T 1 e"], Float[Tensor, "B T 1 e"]]  # cos and sin, for every head


class SinCos:
    """sin and cos of t · ω_i with frequencies ω_i = base^(−i/n), i = 0 … n − 1, for every position t.

    With fewer `moving`, n is their number, and behind them ω_i = 0. Computed once for all positions up to a power of
    two, since a step asks for one row of it.
    """

    def __init__(self, number: int, base: float = 10000.0, moving: int | None = None) -> None:
        self.number, self.base = number, base
        self.moving = number if moving is None else moving
        self._table: Tensor | None = None

    def rows(self, where: Int[Tensor, "B T"], length: int, like: Tensor) -> Float[Tensor, "B T E"]:
        """[sin … cos …] at these positions, all below `length`."""
        if torch.compiler.is_exporting():  # a graph that others run keeps no table that grows
            return self.at(where, like)
        return F.embedding(where, self.table(length, like))

    def table(self, length: int, like: Tensor) -> Float[Tensor, "N E"]:
        """[sin … cos …] at all positions below `length`, and some more."""
        table = self._table
        if table is None or len(table) < length or table.dtype != like.dtype or table.device != like.device:
            every = torch.arange(1 << max(6, (length - 1).bit_length()), device=like.device)
            table = self._table = self.at(every, like)
        return table

    def at(self, where: Int[Tensor, "*positions"], like: Tensor) -> Float[Tensor, "*positions E"]:
        """The same, computed anew."""
        precision = torch.promote_types(like.dtype, torch.float32)  # with 16 bits late positions would be rounded
        frequencies = torch.exp(
            -math.log(self.base) * torch.arange(self.moving, device=like.device, dtype=precision) / self.moving
        )
        frequencies = F.pad(frequencies, (0, self.number - self.moving))
        angles = where[..., None].to(precision) * frequencies
        return torch.cat([angles.sin(), angles.cos()], -1).to(like.dtype)


class Positions(nn.Module):
    """No positions: a set of tokens, not a sequence. The base of the others."""

    longest: int | None = None  # how many there are; None: any number

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T D"]:
        """What the first block reads; every position is below `length`."""
        return x

    def rotation(self, where: Int[Tensor, "B T"], length: int) -> Rotation | None:
        """By how much every block rotates its queries and keys."""
        return None

    def bias(self, where: Int[Tensor, "B T"], places: Places, group_size: int) -> Float[Tensor, "G H KT N"] | None:
        """What every block adds to its scores; `places(T)` says where each position of the memory stands."""
        return None


class Learned(nn.Module):
    """p_t = row t of a table that is trained like any other weight. The table ends: there is no row beyond it."""

    def __init__(self, longest: int, width: int) -> None:
        super().__init__()
        self.longest = longest
        self.table = nn.Parameter(torch.randn(longest, width) * 0.1)

    def forward(self, where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T P"]:
        try:
            return F.embedding(where, self.table)
        except IndexError:
            raise UserError(
                f"position {int(where.max()) + 1} is past the end of the learned position table (longest = "
                f"{len(self.table)}); use a shorter text, train with a larger 'longest', or positions = 'rotary'"
            ) from None


class Sinusoid(nn.Module):
    """p_t = [sin(t ω_1) … cos(t ω_1) …]: a fixed function, the same at any length. (Vaswani et al. 2017)"""

    longest = None

    def __init__(self, width: int, base: float = 10000.0) -> None:
        super().__init__()
        assert width % 2 == 0  # one sine and one cosine each
        self.sin_cos = SinCos(width // 2, base)
        self.register_buffer("of_this_type", torch.zeros(0), persistent=False)  # follows the model's dtype and device

    def forward(self, where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T P"]:
        return self.sin_cos.rows(where, length, self.get_buffer("of_this_type"))


class Added(Positions):
    """x_t + p_t."""

    def __init__(self, encoding: Learned | Sinusoid) -> None:
        super().__init__()
        self.encoding = encoding
        self.longest = encoding.longest

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T D"]:
        return x + self.encoding(where, length)


class Concatenated(Positions):
    """[x_t; p_t], as the notes have it: (B, T, D − P) and (B, T, P) → (B, T, D)."""

    def __init__(self, encoding: Learned | Sinusoid) -> None:
        super().__init__()
        self.encoding = encoding
        self.longest = encoding.longest

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T D"]:
        return torch.cat([x, self.encoding(where, length)], -1)


class Normed(Positions):
    """norm(x_t + p_t): what other positions make of a token, normed before the first block. (Devlin et al. 2019)"""

    def __init__(self, inner: Positions, norm: nn.Module) -> None:
        super().__init__()
        self.inner, self.norm = inner, norm
        self.longest = inner.longest

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"], length: int) -> Float[Tensor, "B T D"]:
        return self.norm(self.inner(x, where, length))

    def rotation(self, where: Int[Tensor, "B T"], length: int) -> Rotation | None:
        return self.inner.rotation(where, length)

    def bias(self, where: Int[Tensor, "B T"], places: Places, group_size: int) -> Float[Tensor, "G H KT N"] | None:
        return self.inner.bias(where, places, group_size)


class Rotary(Positions):
    """Queries and keys are rotated by an angle t ω_i, so that q_t · k_s depends on t − s alone. (Su et al. 2021)

    That holds for the similarities that are dot products; an additive one sees both angles by themselves. A larger
    base turns more slowly, for longer texts; where a share is below 1, the other pairs of a head stand still.
    """

    def __init__(self, head_width: int, base: float = 10000.0, share: float = 1.0) -> None:
        super().__init__()
        assert head_width % 2 == 0  # pairs are rotated
        self.sin_cos = SinCos(head_width // 2, base, int(head_width * share) // 2)
        self.register_buffer("of_this_type", torch.zeros(0), persistent=False)

    def rotation(self, where: Int[Tensor, "B T"], length: int) -> Rotation:
        rows = self.sin_cos.rows(where, length, self.get_buffer("of_this_type"))
        sin, cos = rows[:, :, None].chunk(2, -1)  # (B, T, 2e) → (B, T, 1, e) each
        return cos, sin


class Relative(Positions):
    """e_{t,s} + b_h[bucket(s − t)]: how a head likes a distance, the same in every block. (Raffel et al. 2020)

    Half of the buckets are for what stands behind, half for what stands ahead. Of each half, the first half are one
    distance each; the others are wider and wider, up to `farthest` and all beyond.
    """

    def __init__(self, heads: int, buckets: int, farthest: int) -> None:
        super().__init__()
        self.farthest = farthest
        self.table = nn.Parameter(torch.randn(buckets, heads) * 0.1)
        self.buckets = self.bucket(torch.arange(-farthest, farthest + 1, device="cpu"), buckets).tolist()

    def bucket(self, ahead: Int[Tensor, " A"], buckets: int) -> Int[Tensor, " A"]:
        """Which one a distance s − t falls into."""
        half = buckets // 2
        return self.wider(ahead.abs(), half) + half * (ahead > 0)

    def wider(self, distance: Int[Tensor, " A"], buckets: int) -> Int[Tensor, " A"]:
        """In 32 bits, as published: a distance that is just between two falls where it fell when it was trained."""
        exact = buckets // 2
        share = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.farthest / exact)
        far = exact + (share * (buckets - exact)).long()
        return torch.where(distance < exact, distance, far.clamp(max=buckets - 1))

    def bias(self, where: Int[Tensor, "B T"], places: Places, group_size: int) -> Float[Tensor, "G H KT N"]:
        steps = where.shape[1]
        ahead = places(steps) - where.reshape(-1, group_size * steps, 1)  # (G, K·T, N)
        by_distance = F.embedding(torch.tensor(self.buckets, device=where.device), self.table)
        near = ahead.clamp(-self.farthest, self.farthest) + self.farthest
        return F.embedding(near, by_distance).permute(0, 3, 1, 2)


class RelativePast(Relative):
    """The same where nobody looks ahead: all buckets are for what stands behind."""

    def bucket(self, ahead: Int[Tensor, " A"], buckets: int) -> Int[Tensor, " A"]:
        return self.wider((-ahead).clamp(min=0), buckets)


def rotate(x: Float[Tensor, "B T H M"], rotation: Rotation | None) -> Float[Tensor, "B T H M"]:
    """Each pair (x_i, x_{i+M/2}) as a point in the plane, rotated about the origin."""
    if rotation is None:
        return x
    cos, sin = rotation
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)
