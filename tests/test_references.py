"""The same numbers as code that we did not write: torch.nn with our weights copied in."""

import math

import pytest
import torch
import torch.nn.functional as F
from asserting import same
from torch import nn

from regard.layers.attention import (
    CrossAttention,
    GroupedSelfAttention,
    HeadShape,
    KeyValueAttention,
    SelfAttention,
    attend_to_inputs,
    similarity,
)
from regard.layers.block import Block, FeedForward, NormAfter, NormBefore
from regard.layers.history import AttentionInputs, History, Mask
from regard.layers.layer import Encoded
from regard.layers.recurrent import GRU, LSTM, RNN, Bidirectional, Recurrent, Stack

CELLS = {"RNN": RNN, "LSTM": LSTM, "GRU": GRU}


@pytest.fixture(autouse=True)
def _in_float64():
    torch.set_default_dtype(torch.float64)


@torch.no_grad()
def copy_cell(ours: Recurrent, theirs: nn.RNNBase, suffix: str) -> None:
    for parameter, name in [
        (ours.W_hx.weight, "weight_ih"),
        (ours.W_hh.weight, "weight_hh"),
        (ours.W_hx.bias, "bias_ih"),
        (ours.W_hh.bias, "bias_hh"),
    ]:
        parameter.copy_(getattr(theirs, f"{name}_{suffix}"))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("steps", [1, 9])
def test_recurrent_layers(kind, steps):
    theirs = getattr(nn, kind)(5, 6, num_layers=2, batch_first=True)
    ours = Stack([CELLS[kind](5, 6), CELLS[kind](6, 6)])
    for depth, layer in enumerate(ours.layers):
        copy_cell(layer, theirs, f"l{depth}")
    x = torch.randn(3, steps, 5)
    y, state = ours(x, None, ours.start(3))
    expected, last = theirs(x)
    same(y, expected)
    last = last if isinstance(last, tuple) else (last,)
    for depth in range(2):
        for mine, other in zip(state[depth], last, strict=True):
            same(mine, other[depth])


@pytest.mark.parametrize("kind", CELLS)
def test_bidirectional_layers_over_rows_of_different_length(kind):
    theirs = getattr(nn, kind)(5, 6, bidirectional=True, batch_first=True)
    ours = Bidirectional(CELLS[kind](5, 6), CELLS[kind](5, 6))
    copy_cell(ours.forwards, theirs, "l0")
    copy_cell(ours.backwards, theirs, "l0_reverse")
    x, lengths = torch.randn(3, 7, 5), torch.tensor([4, 7, 1])
    keep = torch.arange(7) < lengths[:, None]
    y, state = ours(x, keep, ours.start(3))
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, last = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)
    same(y[keep], expected[keep])
    for direction in (0, 1):
        for mine, other in zip(state[direction], last if isinstance(last, tuple) else (last,), strict=True):
            same(mine, other[direction])


@torch.no_grad()
def copy_attention(ours: SelfAttention | CrossAttention, theirs: nn.MultiheadAttention) -> None:
    """Their matrix has all queries, then all keys, then all values; ours has what belongs to a head together."""
    theirs.in_proj_bias.copy_(torch.randn_like(theirs.in_proj_bias))
    for name in ("weight", "bias"):
        whole = getattr(theirs, f"in_proj_{name}")
        query, key, value = (part.unflatten(0, (ours.heads, -1)) for part in whole.chunk(3))
        if isinstance(ours, SelfAttention):
            getattr(ours.query_key_value, name).copy_(torch.cat([query, key, value], 1).flatten(0, 1))
        else:
            getattr(ours.query, name).copy_(query.flatten(0, 1))
            getattr(ours.key_value, name).copy_(torch.cat([key, value], 1).flatten(0, 1))
    ours.output.load_state_dict(theirs.out_proj.state_dict())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_multi_head_self_attention(causal, padded):
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    ours = SelfAttention(12, HeadShape.of(12, 3))
    copy_attention(ours, theirs)
    x = torch.randn(2, 6, 12)
    keep = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=torch.bool) if padded else None
    _, history = History(torch.zeros(2, dtype=torch.long)).fed(6, keep)
    y, _ = ours(x, None, AttentionInputs(history.mask(6, causal), Mask()))
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)  # True = may not look, there
    expected, _ = theirs(
        x,
        x,
        x,
        key_padding_mask=None if keep is None else ~keep,
        attn_mask=later if causal else None,
        need_weights=False,
    )
    same(y, expected)


@pytest.mark.parametrize("memories", [1, 2, 6])
def test_grouped_self_attention(memories):
    width, heads = 12, HeadShape(6, 4, 4)
    layer = GroupedSelfAttention(width, heads, memories)
    x = torch.randn(2, 5, width)
    y, memory = layer(x, None, AttentionInputs(Mask(), Mask()))
    groups = layer.query_key_value(x).unflatten(-1, (memories, -1))
    q, k, v = groups.split([4 * 6 // memories, 4, 4], -1)
    q = q.unflatten(-1, (-1, 4)).flatten(2, 3)  # (B, T, H, M)
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    same(y, layer.output(mixed.transpose(1, 2).flatten(2)))
    assert memory.value.shape == (2, memories, 5, 8)


def test_scaled_dot_product_of_inputs_used_directly():
    q, x = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    layer = attend_to_inputs(8, 8, "scaled")
    same(layer.attend(q, layer.keys_values(x), Mask()), F.scaled_dot_product_attention(q, x, x))


def test_keys_and_values_with_three_different_widths():
    d_q, d_x, d_v = 6, 10, 4
    q, x = torch.randn(2, 3, d_q), torch.randn(2, 5, d_x)
    layer = KeyValueAttention(similarity("scaled", d_q, d_q), d_q)
    layer.key_value = nn.Linear(d_x, d_q + d_v)
    keys, values = layer.key_value(x).split([d_q, d_v], -1)
    weights = torch.softmax(q @ keys.transpose(1, 2) / math.sqrt(d_q), -1)
    y = layer.attend(q, layer.keys_values(x), Mask())
    assert y.shape == (2, 3, d_v)
    same(y, weights @ values)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("decoder", [False, True])
def test_transformer_block(norm_first, activation, decoder):
    kind = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    theirs = kind(12, 3, 20, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first).train()
    attentions = {"self_attention": SelfAttention(12, HeadShape.of(12, 3))}
    copy_attention(attentions["self_attention"], theirs.self_attn)
    if decoder:
        attentions["cross_attention"] = CrossAttention(12, HeadShape.of(12, 3))
        copy_attention(attentions["cross_attention"], theirs.multihead_attn)
    feed = FeedForward(12, 20, nn.ReLU() if activation == "relu" else nn.GELU())
    feed.W_1.load_state_dict(theirs.linear1.state_dict())
    feed.W_2.load_state_dict(theirs.linear2.state_dict())
    ours = Block(
        {**attentions, "feed_forward": feed}, lambda: (NormBefore if norm_first else NormAfter)(nn.LayerNorm(12), 0.0)
    )
    with torch.no_grad():
        for number, residual in enumerate(ours.residuals, 1):
            residual.norm.weight.copy_(torch.randn(12))
            residual.norm.bias.copy_(torch.randn(12))
            getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())
    x, source = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    encoded = Encoded(source, None, source[:, -1], None)
    y, _ = ours(x, ours.start(2, encoded), AttentionInputs(Mask(causal=decoder), Mask()))
    if decoder:
        later = torch.ones(5, 5, dtype=torch.bool).triu(1)
        same(y, theirs(x, source, tgt_mask=later))
    else:
        same(y, theirs(x))
