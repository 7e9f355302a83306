"""Weights kept for answering: the same answers from fewer bytes."""

import pytest
import torch
from torch import nn
from zoo import MODELS, begin, make, tokens

import regard
from regard import UserError
from regard.layers.recurrent import LSTM
from regard.models import precision
from regard.models.precision import Int8, Transposed, with_precision

every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture
def _any_size(monkeypatch):
    """Also the small matrices of a test."""
    monkeypatch.setattr(precision, "WORTH_IT", 1)


def test_int8_is_off_by_at_most_its_rounding():
    """|W − s n| ≤ s / 2 for weights, and as much again for inputs: worked out, not guessed."""
    linear, x = nn.Linear(300, 40), torch.randn(7, 300)
    rough = Int8(linear)
    scale = linear.weight.abs().amax(1) / 127
    assert ((rough.weight - linear.weight).abs() <= scale[:, None] / 2 + 1e-6).all()
    assert torch.equal(rough.bias, linear.bias)
    step = (x.max().clamp(min=0) - x.min().clamp(max=0)) / (127 if rough.reduce_range else 255)
    bound = x.abs().sum(1, keepdim=True) * scale / 2 + linear.weight.abs().sum(1) * step * 0.51 + 300 * scale * step
    assert ((rough(x) - linear(x)).abs() <= bound).all()
    assert rough(x[None]).shape == (1, 7, 40)


def test_a_row_of_zeros_stays_zero():
    linear = nn.Linear(8, 3)
    nn.init.zeros_(linear.weight)
    torch.testing.assert_close(Int8(linear)(torch.randn(2, 8)), linear.bias.expand(2, 3))


@every_model
@pytest.mark.usefixtures("_any_size")
@torch.no_grad()
def test_float32_for_answering_is_the_same_model(name):
    model, other = make(name, torch.float32), with_precision(make(name, torch.float32), "float32")
    assert not any(parameter.requires_grad for parameter in other.parameters())
    torch.manual_seed(3)
    fed, state = tokens(3, 6), begin(model, name, 3)
    torch.manual_seed(3)
    tokens(3, 6)
    again = begin(other, name, 3)
    torch.testing.assert_close(model(fed, state)[0], other(fed, again)[0], rtol=1e-4, atol=1e-5)


@every_model
@pytest.mark.usefixtures("_any_size")
@torch.no_grad()
def test_int8_is_close_and_steps_are_close_to_the_whole(name):
    model, rough = make(name, torch.float32), with_precision(make(name, torch.float32), "int8")
    assert any(isinstance(module, Int8) for module in rough.modules())
    torch.manual_seed(3)
    fed, state = tokens(3, 6), begin(model, name, 3)
    torch.manual_seed(3)
    tokens(3, 6)
    rough_state = begin(rough, name, 3)
    exact = model(fed, state)[0].log_softmax(-1)
    whole = rough(fed, rough_state)[0].log_softmax(-1)
    assert 0 < (exact - whole).abs().mean() < 0.15
    one_by_one = []
    for t in range(6):
        scores, rough_state = rough.step(fed[:, t], rough_state)
        one_by_one.append(scores.log_softmax(-1))
    assert (torch.stack(one_by_one, 1) - whole).abs().mean() < 0.1


def test_a_wide_matrix_is_kept_by_columns_and_a_narrow_one_as_it_is(monkeypatch):
    monkeypatch.setattr(precision, "WORTH_IT", 1000)
    model = with_precision(regard.build(regard.LanguageModel(regard.Transformer(width=32, heads=2)), 200), "float32")
    feed = model.layer.blocks[0].feed_forward
    assert isinstance(feed.W_1, Transposed)
    assert isinstance(feed.W_2, nn.Linear)
    torch.testing.assert_close(feed.W_1(torch.ones(2, 3, 32)), feed.W_1.weight.sum(1).expand(2, 3, -1) + feed.W_1.bias)


def test_kernels_that_read_whole_sequences_get_the_rounded_weights():
    cell = LSTM(200, 200)
    cell.W_hx, cell.W_hh = Int8(cell.W_hx), Int8(cell.W_hh)
    x = torch.randn(2, 5, 200)
    with torch.no_grad():
        whole, _ = cell(x, None, (torch.zeros(2, 200),) * 2)
        state, steps = (torch.zeros(2, 200),) * 2, []
        for t in range(5):
            y, state = cell(x[:, t : t + 1], None, state)
            steps.append(y)
    assert (torch.cat(steps, 1) - whole).abs().max() < 0.02


def test_another_precision_is_named():
    model = make("lm-rnn", torch.float32)
    with pytest.raises(UserError, match=r"precision .float16. does not exist; did you mean .float32.\?"):
        with_precision(model, "float16")
