"""What positions promise."""

import math

import pytest
import torch

import regard
from regard.layers.attention import CrossAttention, CrossAttentionByPlace, HeadShape, SelfAttention
from regard.layers.dropout import Dropout
from regard.layers.history import AttentionInputs, History, Mask
from regard.layers.layer import Encoded
from regard.layers.position import Rotary, Sinusoid, rotate


@pytest.fixture(autouse=True)
def _in_float64():
    torch.set_default_dtype(torch.float64)


def test_rotary_scores_depend_on_the_distance_alone():
    rotary = Rotary(8)
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(t: int, s: int) -> float:
        at = [rotary.rotation(torch.tensor([[place]]), 200) for place in (t, s)]
        return (rotate(q, at[0]) * rotate(k, at[1])).sum().item()

    assert score(9, 4) == pytest.approx(score(105, 100), abs=1e-9)
    assert score(5, 0) == pytest.approx(score(9, 4), abs=1e-9)
    assert abs(score(9, 4) - score(9, 5)) > 1e-3


def test_rotary_keeps_lengths_and_leaves_the_first_position_alone():
    x = torch.randn(1, 3, 2, 8)
    y = rotate(x, Rotary(8).rotation(torch.tensor([[0, 7, 1000]]), 1001))
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(y[:, 0], x[:, 0])
    assert (y[:, 1] - x[:, 1]).abs().max() > 0.1


def test_sinusoids_are_the_paper_s_numbers():
    table = Sinusoid(6)(torch.tensor([[0, 5]]), 6)[0]
    rates = [10000 ** (-2 * i / 6) for i in range(3)]
    expected = [math.sin(5 * rate) for rate in rates] + [math.cos(5 * rate) for rate in rates]
    torch.testing.assert_close(table[1], torch.tensor(expected))
    torch.testing.assert_close(table[0], torch.tensor([0.0] * 3 + [1.0] * 3))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_late_positions_differ_in_16_bits(kind):
    where = torch.tensor([[256, 257, 4096, 4097]])
    table = Sinusoid(8).to(kind)(where, 4098)[0]
    assert table.dtype == kind
    assert (table[0] != table[1]).any()
    assert (table[2] != table[3]).any()


def test_bilinear_scores_turn_as_well():
    layer = SelfAttention(8, HeadShape.of(8, 1), kind="bilinear")
    x, rotary = torch.randn(1, 1, 8).expand(1, 4, 8), Rotary(8)
    with regard.trace(layer, "scores") as seen:
        layer(x, None, AttentionInputs(Mask(), Mask(), rotary.rotation(torch.arange(4)[None], 4)))
    scores = seen["scores"][0, 0]
    torch.testing.assert_close(scores.diagonal(), scores[0, 0].expand(4))  # the same token, the same distance
    torch.testing.assert_close(scores.diagonal(1), scores[0, 1].expand(3))


def across(layer: CrossAttention, source: torch.Tensor, keep: torch.Tensor | None) -> torch.Tensor:
    """Scores (T, S) of four equal queries against a source."""
    state = layer.start(1, Encoded(source, keep, source[:, -1], None))
    rotation = Rotary(8).rotation(torch.arange(4)[None], 4)
    with regard.trace(layer, "scores") as seen:
        layer(torch.ones(1, 4, 8), state, AttentionInputs(Mask(), Mask(), rotation))
    return seen["scores"][0, 0]


def test_attention_to_the_source_by_place_sees_the_distance_alone():
    same = torch.randn(1, 1, 8).expand(1, 5, 8)
    scores = across(CrossAttentionByPlace(8, HeadShape.of(8, 1), 8), same, None)
    for distance in (-2, 0, 1):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[0].expand_as(diagonal))
    assert (scores[0] - scores[0, 0]).abs().max() > 1e-3
    plain = across(CrossAttention(8, HeadShape.of(8, 1), 8), same, None)
    torch.testing.assert_close(plain, plain[0, 0].expand(4, 5))  # without it a place cannot be told


def test_padding_does_not_move_a_source_s_places():
    layer, source = CrossAttentionByPlace(8, HeadShape.of(8, 1), 8), torch.randn(1, 5, 8)
    gaps = torch.tensor([[False, True, True, False, True, True, True]])
    padded = torch.zeros(1, 7, 8)
    padded[gaps] = source[0]
    torch.testing.assert_close(across(layer, padded, gaps)[:, gaps[0]], across(layer, source, None))


def test_positions_count_what_is_kept():
    keep = torch.tensor([[False, True, True, False, True], [True, True, True, True, True]])
    where, history = History(torch.tensor([0, 3]), length=3).fed(5, keep)
    assert where[0][keep[0]].tolist() == [0, 1, 2]
    assert where[1].tolist() == [3, 4, 5, 6, 7]
    assert history.count.tolist() == [3, 8]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.2, 0.5, 0.9])
def test_dropout_drops_the_share_it_should_and_keeps_the_mean(p):
    x = torch.ones(1000, 1001)
    layer = Dropout(p).train()
    y = layer(x)
    assert (y == 0).double().mean().item() == pytest.approx(p, abs=0.002)
    assert y.mean().item() == pytest.approx(1, abs=0.01)
    kept = y[y != 0]
    torch.testing.assert_close(kept, kept[0].expand_as(kept))
    columns = (y == 0).double().mean(0)  # every 16 bits of the random numbers are used alike
    assert columns.sub(p).abs().max() < 0.08
    assert torch.equal(layer.eval()(x), x)


def test_dropout_follows_the_seed():
    layer, x = Dropout(0.3).train(), torch.ones(50)
    torch.manual_seed(5)
    first = layer(x)
    torch.manual_seed(5)
    assert torch.equal(first, layer(x))
    assert not torch.equal(first, layer(x))


def test_dropout_lets_gradients_through_where_it_kept():
    x = torch.randn(200, requires_grad=True)
    y = Dropout(0.5).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
