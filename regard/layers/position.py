"""Positions: what tells self-attention, which knows no order, where a token stands.

A position counts the tokens kept so far, so padding never moves a token.
"""

import math
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import UserError

Turn: TypeAlias = tuple[Float[Tensor, "B T 1 e"], Float[Tensor, "B T 1 e"]]  # cos and sin of each angle, for every head


def positions(
    seen: Int[Tensor, " B"], steps: int, keep: Bool[Tensor, "B T"] | None
) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
    """Where each new token stands, and how many have been seen after it."""
    if keep is None:
        return seen[:, None] + torch.arange(steps, device=seen.device), seen + steps
    counted = keep.cumsum(1)
    return (seen[:, None] + counted - 1).clamp(min=0), seen + counted[:, -1]


def angles(where: Int[Tensor, "B T"], count: int, like: Tensor) -> Float[Tensor, "B T e"]:
    """t · ω_i with ω_i = 10000^(−i/count): one slow or fast clock hand for each i.

    In 32 bits at least: with 16 a late position is rounded to its neighbour.
    """
    precision = torch.promote_types(like.dtype, torch.float32)
    fastest_to_slowest = torch.arange(count, device=like.device, dtype=precision) / count
    return where[..., None].to(precision) * torch.exp(-math.log(10000.0) * fastest_to_slowest)


class Positions(nn.Module):
    """No positions: a set of tokens, not a sequence. The base of the others."""

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """What the first block reads."""
        return x

    def turn(self, where: Int[Tensor, "B T"]) -> Turn | None:
        """What every block does to its queries and keys."""
        return None


class Learned(nn.Module):
    """p_t = row t of a table that is trained like any other weight. The table ends: there is no row beyond it."""

    def __init__(self, longest: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, width) * 0.1)

    def forward(self, where: Int[Tensor, "B T"]) -> Float[Tensor, "B T P"]:
        try:
            return F.embedding(where, self.table)
        except IndexError:
            raise UserError(
                f"position {int(where.max()) + 1} is past the end of the learned position table (longest = "
                f"{len(self.table)}); use a shorter text, train with a larger 'longest', or positions = 'rotary'"
            ) from None


class Sinusoid(nn.Module):
    """p_t = [sin(t ω_1) … cos(t ω_1) …]: a fixed function, the same at any length. (Vaswani et al. 2017)"""

    def __init__(self, width: int) -> None:
        super().__init__()
        if width % 2:
            raise UserError(f"sinusoid positions want an even width, found {width}; one sine and one cosine each")
        self.width = width
        self.register_buffer("of_this_type", torch.zeros(0), persistent=False)  # follows the model's dtype and device

    def forward(self, where: Int[Tensor, "B T"]) -> Float[Tensor, "B T P"]:
        like = self.get_buffer("of_this_type")
        turned = angles(where, self.width // 2, like)
        return torch.cat([turned.sin(), turned.cos()], -1).to(like.dtype)


class Added(Positions):
    """x_t + p_t."""

    def __init__(self, encoding: Learned | Sinusoid) -> None:
        super().__init__()
        self.encoding = encoding

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        return x + self.encoding(where)


class Concatenated(Positions):
    """[x_t; p_t], as the notes have it: (B, T, D − P) and (B, T, P) → (B, T, D)."""

    def __init__(self, encoding: Learned | Sinusoid) -> None:
        super().__init__()
        self.encoding = encoding

    def forward(self, x: Float[Tensor, "B T D_in"], where: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        return torch.cat([x, self.encoding(where)], -1)


class Rotary(Positions):
    """Queries and keys are turned by an angle t ω_i, so that q_t · k_s depends on t − s alone. (Su et al. 2021)

    That holds for the similarities that are dot products; an additive one sees both angles by themselves.
    """

    def __init__(self, head_width: int) -> None:
        super().__init__()
        if head_width % 2:
            raise UserError(f"rotary positions want an even key width per head, found {head_width}; they turn pairs")
        self.pairs = head_width // 2
        self.register_buffer("of_this_type", torch.zeros(0), persistent=False)

    def turn(self, where: Int[Tensor, "B T"]) -> Turn:
        like = self.get_buffer("of_this_type")
        angle = angles(where, self.pairs, like)[:, :, None]  # (B, T, 1, e)
        return angle.cos().to(like.dtype), angle.sin().to(like.dtype)


def turned(x: Float[Tensor, "B T H M"], turn: Turn | None) -> Float[Tensor, "B T H M"]:
    """Each pair (x_i, x_{i+M/2}) as a point in the plane, turned."""
    if turn is None:
        return x
    cos, sin = turn
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)
