"""Our Transformer as other engines know it: every matrix by itself, every table as it is added, nothing scaled.

The only place outside `layers` and `models` that knows how weights are kept here.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.embedding import BiasedTiedHead, TiedHead
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder

POSITIONS = 2048  # rows of a table that has no end here


class Affine(NamedTuple):
    """W and b of W x + b; γ and β of a norm, where RMSNorm has no β."""

    weight: Tensor
    bias: Tensor | None


class Attending(NamedTuple):
    """The four matrices of one attention; what belongs to one head, or shared keys, stands together."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine


class PlainBlock(NamedTuple):
    """One block."""

    own: Attending
    source: Attending | None  # None: it has no source to look at
    inner: Affine
    outer: Affine
    norms: tuple[Affine, ...]  # of each part, in this order


class PlainStack(NamedTuple):
    """An encoder, or a decoder without its head."""

    tokens: Tensor  # (V, D): what a token begins as
    positions: Tensor  # (N, D): what is added to it; zeros where nothing is, as with rotary positions
    blocks: tuple[PlainBlock, ...]
    last: Affine | None  # the norm behind the last block
    epsilon: float  # of all norms


@torch.no_grad()
def plain(side: nn.Module) -> PlainStack:
    """What an encoder or a decoder of Transformer blocks computes with."""
    assert isinstance(side, Encoder | Decoder)
    layer: Any = side.layer
    table = side.embedding.lookup.weight
    width = layer.blocks[0].self_attention.output.out_features
    rows = layer.longest or POSITIONS
    nothing = torch.zeros(1, rows, table.shape[1])
    blocks = tuple(_block(block) for block in layer.blocks)
    return PlainStack(
        F.pad(table * side.embedding.scale, (0, width - table.shape[1])),  # [x; p] = [x; 0] + [0; p]
        layer.position(nothing, torch.arange(rows)[None], rows)[0],
        blocks,
        None if isinstance(layer.last_norm, nn.Identity) else _affine(layer.last_norm),
        _epsilon(layer.blocks[0].residuals[0].norm),
    )


@torch.no_grad()
def plain_head(decoder: Decoder) -> Affine:
    """W and b of the scores, also where W is the embedding read backwards."""
    head = decoder.head
    if not isinstance(head, TiedHead):
        return _affine(head.W)
    table = decoder.embedding.lookup.weight.detach()
    weight = table if isinstance(head.W, nn.Identity) else table @ head.W.weight
    return Affine(weight, head.b.detach() if isinstance(head, BiasedTiedHead) else torch.zeros(len(weight)))


def without_bias(head: Affine, last: Affine) -> tuple[Tensor, Affine]:
    """W' and the last norm's γ, β' so that W' h' = W h + b, for engines whose head adds nothing.

    What LayerNorm puts out has the mean 0, so one direction is free to carry a constant:

        u = 1/γ,  s = (D − u·β)/D;   β' = β + s γ,   W' = W + (b − s W γ) uᵀ/D,   since u·h' = D.
    """
    assert head.bias is not None
    assert last.bias is not None
    if not head.bias.any():
        return head.weight, last
    weight, bias, gain, shift = (x.double() for x in (head.weight, head.bias, last.weight, last.bias))
    if gain.abs().min() < 1e-3 * gain.abs().max():
        raise UserError(
            "the head's bias cannot be folded into the last norm, one of whose gains is almost zero; "
            "export --to onnx, which keeps it as it is"
        )
    u, width = 1 / gain, len(gain)
    s = (width - u @ shift) / width
    folded = weight + torch.outer(bias - s * (weight @ gain), u) / width
    return folded.float(), Affine(last.weight, (shift + s * gain).float())


def _block(block: Any) -> PlainBlock:
    across = getattr(block, "cross_attention", None)
    forward = block.feed_forward
    norms = tuple(_affine(path.norm) for path in block.residuals)
    source = None if across is None else _attending(across)
    return PlainBlock(_attending(block.self_attention), source, _affine(forward.W_1), _affine(forward.W_2), norms)


def _attending(attention: Any) -> Attending:
    m, l = attention.key_width, attention.output.in_features // attention.heads
    if hasattr(attention, "sharing"):
        widths = [attention.sharing * m, m, l]
        query, key, value = _split(attention.query_key_value, attention.memories, widths)
    elif hasattr(attention, "query_key_value"):
        query, key, value = _split(attention.query_key_value, attention.heads, [m, m, l])
    else:
        query, (key, value) = _affine(attention.query), _split(attention.key_value, attention.heads, [m, l])
    return Attending(query, key, value, _affine(attention.output))


def _split(layer: nn.Linear, heads: int, widths: list[int]) -> list[Affine]:
    """A matrix in which what belongs to one head stands together, as one for each of the things it computes."""
    weights = layer.weight.unflatten(0, (heads, -1)).split(widths, 1)
    if layer.bias is None:
        return [Affine(weight.flatten(0, 1), None) for weight in weights]
    biases = layer.bias.unflatten(0, (heads, -1)).split(widths, 1)
    return [Affine(weight.flatten(0, 1), bias.flatten()) for weight, bias in zip(weights, biases, strict=True)]


def _affine(layer: Any) -> Affine:
    bias = getattr(layer, "bias", None)
    return Affine(layer.weight.detach(), None if bias is None else bias.detach())


def _epsilon(norm: Any) -> float:
    return torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
