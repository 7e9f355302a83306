"""What is drawn is what the model says: chi-squared against its own probabilities, and the slow way written out."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from zoo import VOCABULARY, begin, make, tokens

from regard import select
from regard.decode import choose
from regard.decode.choose import Sample, argmax, mixed, uniform
from regard.errors import UserError

SETTINGS = {
    "as the model says": {},
    "cold": {"temperature": 0.4},
    "hot": {"temperature": 3.0},
    "top_k": {"top_k": 4},
    "top_p": {"top_p": 0.8},
    "min_p": {"min_p": 0.3},
    "all of them": {"temperature": 1.5, "top_k": 8, "top_p": 0.9, "min_p": 0.05},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def probability_by_chance(observed: Tensor, expected: Tensor) -> float:
    """Of counts at least this far from the expected ones: Q(df / 2, χ² / 2), each row of counts having a fixed sum."""
    assert (observed[expected == 0] == 0).all(), "what cannot be was seen"
    often = expected >= 5  # a count of what is rarer says nothing
    statistic = ((observed - expected)[often] ** 2 / expected[often]).sum()
    freedom = often.sum() - len(expected)
    return torch.special.gammaincc(freedom / 2, statistic / 2).item()


def slowly(scores: list[float], temperature=1.0, top_k=0, top_p=1.0, min_p=0.0) -> list[float]:
    """The definition, one token after the other."""
    weights = [math.exp((score - max(scores)) / temperature) for score in scores]
    order = sorted(range(len(scores)), key=lambda token: -weights[token])
    if top_k:
        order = order[:top_k]
    whole, held, chosen = sum(weights[token] for token in order), 0.0, set()
    for token in order:
        if held < top_p * whole:
            chosen.add(token)
        held += weights[token]
    chosen = {token for token in chosen if weights[token] >= min_p * weights[order[0]]}
    whole = sum(weights[token] for token in chosen)
    return [weights[token] / whole if token in chosen else 0.0 for token in range(len(scores))]


def one_each(scores: Tensor, sample: Sample, made: int = 0) -> Tensor:
    return sample(scores, torch.arange(len(scores)), made)


@every_setting
@given(size=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_probabilities_are_the_definition(setting, size, seed):
    scores = torch.randn(3, size, generator=torch.Generator().manual_seed(seed), dtype=torch.double) * 2
    found = Sample([0], **setting).probabilities(scores)
    expected = torch.tensor([slowly(row, **setting) for row in scores.tolist()], dtype=torch.double)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("spread", [0.1, 6.0], ids=["all are sorted", "the largest are enough"])
def test_a_large_vocabulary_is_not_another_case(spread):
    scores = torch.randn(2, 3 * choose.MANY, dtype=torch.double) * spread
    found = Sample([0], top_p=0.9).probabilities(scores)
    expected = torch.tensor([slowly(row, top_p=0.9) for row in scores.tolist()], dtype=torch.double)
    assert ((expected > 0).sum(-1) > choose.MANY).all() == (spread < 1)
    torch.testing.assert_close(found, expected)


@every_setting
@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer-rotary"])
@torch.no_grad()
def test_draws_have_the_models_own_probabilities(name, setting):
    """4,000 rows of their own seeds at 5 steps, from each of 4 states of the model."""
    model, draws, steps = make(name), 4000, 5
    scores, _ = model(tokens(4, 3), begin(model, name, 4))
    scores = scores[:, -1]
    expected = torch.tensor([slowly(row, **setting) for row in scores.tolist()]) * draws * steps
    sample = Sample(range(4 * draws), **setting)
    rows = torch.arange(4 * draws)
    drawn = torch.stack([sample(scores.repeat_interleave(draws, 0), rows, made) for made in range(steps)])
    counts = torch.stack([part.flatten().bincount(minlength=VOCABULARY) for part in drawn.split(draws, 1)])
    assert 1e-4 < probability_by_chance(counts, expected) < 1 - 1e-4
    other = (scores * 1.1).softmax(-1) * draws * steps
    assert setting or probability_by_chance(counts, other) < 1e-4, "the test would notice another temperature"


def test_the_generator_is_splitmix64():
    """The first numbers from the state 1234567, as published with the algorithm."""
    states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * np.uint64(choose.WEYL)
    assert mixed(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def numbers(seeds: int, steps: int) -> Tensor:
    """(seeds, steps)"""
    streams = Sample(range(seeds))._streams
    return torch.from_numpy(np.stack([uniform(streams, made) for made in range(steps)], 1))


def test_numbers_are_uniform():
    u = numbers(400, 500)
    assert (u > 0).all(), "possible, but not in a thousand years"
    assert (u < 1).all()
    counts = (u.flatten() * 1000).long().bincount(minlength=1000)[None]
    assert 1e-4 < probability_by_chance(counts, torch.full((1, 1000), u.numel() / 1000)) < 1 - 1e-4
    low = ((u.flatten() * 2**53).long() % 1000).bincount(minlength=1000)[None]  # the last bits as well
    assert 1e-4 < probability_by_chance(low, torch.full((1, 1000), u.numel() / 1000)) < 1 - 1e-4


@pytest.mark.parametrize(("seeds", "steps"), [(0, 1), (1, 0), (1, 1), (2, 0), (0, 2), (16, 0), (7, 3)])
def test_neighbours_are_independent(seeds, steps):
    """Pairs of numbers at this distance fill the square evenly."""
    u = numbers(400, 500)
    one, other = u[: 400 - seeds, : 500 - steps].flatten(), u[seeds:, steps:].flatten()
    counts = ((one * 32).long() * 32 + (other * 32).long()).bincount(minlength=1024)[None]
    assert 1e-4 < probability_by_chance(counts, torch.full((1, 1024), len(one) / 1024)) < 1 - 1e-4


@given(st.integers(-(2**70), 2**70), st.integers(0, 10**6))
def test_a_number_is_a_function_of_seed_and_step(seed, made):
    alone = uniform(Sample([seed])._streams, made)
    among = uniform(Sample([5, 6, seed])._streams, made)
    assert alone[0] == among[2]
    assert alone[0] != uniform(Sample([seed + 1])._streams, made)[0]
    assert alone[0] != uniform(Sample([seed])._streams, made + 1)[0]


def test_no_seed_gives_the_numbers_of_another_one_step_later():
    here, there = (Sample([seed])._streams for seed in (0, choose.WEYL))
    assert uniform(here, 1) != uniform(there, 0)


@pytest.mark.parametrize("name", ["lm-gru", "lm-transformer-sinusoid", "seq2seq-rnn-attention", "seq2seq-transformer"])
@torch.no_grad()
def test_rows_draw_the_same_in_any_company(name):
    model = make(name)
    state, fed = begin(model, name, 5), tokens(5, 4)
    scores = model(fed, state)[0][:, -1]
    sample = Sample([3, 1, 4, 1, 5], temperature=1.3, top_p=0.95)
    rows = torch.tensor([4, 1, 2])
    some = model(fed[rows], select(state, rows))[0][:, -1]
    for made in range(50):
        together = one_each(scores, sample, made)
        assert sample(some, rows, made).tolist() == together[rows].tolist()
        alone = Sample([4], temperature=1.3, top_p=0.95)
        assert one_each(scores[2:3], alone, made) == together[2]
    assert len({one_each(scores, sample, made)[0].item() for made in range(50)}) > 2


@every_setting
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_forbidden_token_is_never_drawn(setting, dtype):
    scores = torch.full((2000, 30), -math.inf, dtype=dtype)
    scores[:, 7], scores[:, 9] = 0.0, 0.0
    drawn = one_each(scores, Sample(range(2000), **setting))
    assert drawn.unique().tolist() == [7, 9]


@pytest.mark.parametrize("number", [0.0, 1 - 2**-53])
def test_the_ends_of_the_interval(number, monkeypatch):
    """The smallest number draws the first token that has any probability, the largest the last one."""
    monkeypatch.setattr(choose, "uniform", lambda streams, made: np.full(len(streams), number))
    scores = torch.randn(200, 9, dtype=torch.double)
    scores[:, [0, 4, 8]] = -math.inf
    assert one_each(scores, Sample(range(200))).unique().tolist() == [7 if number else 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_temperatures(dtype):
    scores = torch.randn(50, 6, dtype=dtype) * 100
    scores[:, 5] = -math.inf
    for cold in (1e-6, 1e-40, 1e-300):
        assert torch.equal(one_each(scores, Sample(range(50), temperature=cold)), scores.argmax(-1))
    alike = torch.tensor([0.2] * 5 + [0.0], dtype=dtype).expand(50, 6)
    torch.testing.assert_close(Sample([0], temperature=math.inf).probabilities(scores), alike)


def test_tokens_equal_to_the_last_of_top_k_stay():
    assert Sample([0], top_k=2).probabilities(torch.tensor([[3.0, 1.0, 1.0, 0.0]])).gt(0).tolist() == [[1, 1, 1, 0]]
    assert Sample([0], top_k=9).probabilities(torch.tensor([[3.0, 1.0, 1.0, 0.0]])).gt(0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_argmax(dtype):
    scores = torch.randn(20, 50).to(dtype)
    assert scores.gather(1, argmax(scores, torch.arange(20), 3)[:, None]).equal(scores.amax(1, keepdim=True))
    assert argmax(torch.tensor([[0.0, 2.0, 2.0, -math.inf]]), torch.arange(1), 0).tolist() == [1]


def test_argmax_leaves_gradients_alone():
    scores = torch.randn(2, 3, requires_grad=True)
    assert argmax(scores, torch.arange(2), 0).equal(scores.argmax(-1))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"temperature": -1},
            "temperature must be a number above 0, found -1; for always the best token choose argmax",
        ),
        ({"temperature": 0}, "temperature must be a number above 0, found 0; for always the best token choose argmax"),
        (
            {"temperature": math.nan},
            "temperature must be a number above 0, found nan; for always the best token choose argmax",
        ),
        ({"top_k": -2}, "top_k must be a whole number from 0 up, found -2; 0 keeps every token"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, found 0.0; 1 keeps every token"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, found 1.5; 1 keeps every token"),
        ({"top_p": math.nan}, "top_p must be above 0 and at most 1, found nan; 1 keeps every token"),
        ({"min_p": -0.1}, "min_p must be at least 0 and below 1, found -0.1; 0 keeps every token"),
        ({"min_p": 1}, "min_p must be at least 0 and below 1, found 1; 0 keeps every token"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(UserError) as error:
        Sample([1], **setting)
    assert str(error.value) == message


def test_a_row_without_a_seed():
    with pytest.raises(UserError) as error:
        one_each(torch.zeros(3, 4), Sample([1, 2]))
    assert str(error.value) == "seeds must be one for each row of the batch, found 2 for row 3"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_filters_agree_with_transformers(dtype):
    warpers = pytest.importorskip("transformers", reason="transformers is only in the bench extra").generation
    scores = torch.randn(50, 300, dtype=dtype) * 3
    for temperature, top_k, top_p, min_p in [
        (0.7, 0, 1, 0),
        (1, 20, 1, 0),
        (1, 0, 0.7, 0),
        (1, 0, 1, 0.1),
        (2, 9, 0.8, 0.2),
    ]:
        expected = warpers.TemperatureLogitsWarper(float(temperature))(None, scores)
        if top_k:
            expected = warpers.TopKLogitsWarper(top_k)(None, expected)
        if top_p < 1:
            expected = warpers.TopPLogitsWarper(top_p)(None, expected)
        if min_p:
            expected = warpers.MinPLogitsWarper(min_p)(None, expected)
        found = Sample([0], temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p).probabilities(scores)
        torch.testing.assert_close(found, expected.softmax(-1))
