"""Ranks, scores, nulls and intervals against their slow definitions."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.look.find.ngrams import LONGEST, contexts, predictions
from regard.look.find.passages import LongText
from regard.look.find.statistics import (
    AS_THEY_ARE,
    AUROC,
    Information,
    Spearman,
    adjusted,
    average_precision,
    best_threshold,
    f1,
    information,
    interval,
    measure_for,
    midranks,
)


def noise(seed: int, *shape: int) -> np.ndarray:
    """Coarse, so that there are ties."""
    return (np.random.default_rng(seed).normal(size=shape).round(1) * 3).astype(np.float16)


def slow_midranks(row: np.ndarray) -> np.ndarray:
    return np.array([1 + (row < value).sum() + ((row == value).sum() - 1) / 2 for value in row])


def test_midranks_are_those_of_the_definition():
    rows = noise(0, 5, 70)
    rows[0, :4] = [0.0, -0.0, np.inf, -np.inf]
    rows[1] = 7
    for row, ranks in zip(rows, midranks(rows), strict=True):
        np.testing.assert_array_equal(ranks, slow_midranks(row))


@given(st.integers(0, 99))
def test_auroc_is_the_share_of_pairs_in_order(seed):
    rows, labels = noise(seed, 3, 60), noise(seed + 1, 60) > 1
    labels[:2] = [True, False]
    inside, outside = rows[:, labels].astype(float), rows[:, ~labels].astype(float)
    difference = inside[:, :, None] - outside[:, None]
    slow = ((difference > 0) + (difference == 0) / 2).mean((1, 2))
    np.testing.assert_allclose(AUROC(labels).of_units(rows), slow, atol=1e-5)


@given(st.integers(0, 99))
def test_spearman_is_the_correlation_of_ranks(seed):
    rows, labels = noise(seed, 3, 60), noise(seed + 1, 60).astype(int)
    slow = [np.corrcoef(slow_midranks(row), slow_midranks(labels))[0, 1] for row in rows]
    np.testing.assert_allclose(Spearman(labels).of_units(rows), slow, atol=1e-5)
    assert Spearman(labels).of_units(np.ones((1, 60), np.float16)) == 0


def test_information_is_that_of_the_definition():
    table = np.array([[3.0, 1, 0], [1, 4, 1]])
    p = table / table.sum()
    slow = sum(p[y, x] * np.log(p[y, x] / (p[y].sum() * p[:, x].sum())) for y in range(2) for x in range(3) if p[y, x])
    entropy = -sum(row.sum() * np.log(row.sum()) for row in p)
    assert information(table[None])[0] == pytest.approx(slow / entropy)
    names = np.array(["a", "b", "c", "d"])[np.arange(800) % 4]
    assert Information(names).of_units((np.arange(800) % 4)[None].astype(np.float16))[0] == pytest.approx(1)
    assert Information(names).of_units(noise(0, 1, 800))[0] < 0.05


@pytest.mark.parametrize(
    "labels", [noise(9, 200) > 1, noise(9, 200).astype(int), np.array(["x", "y", "z"])[noise(9, 200).astype(int) % 3]]
)
def test_a_shift_moves_the_label_and_its_tables_give_the_same_score(labels):
    ranks, shifts = midranks(noise(1, 4, 200)), np.array([0, 3, 77])
    found = measure_for(labels).scores(ranks, [partial(np.roll, shift=shift) for shift in shifts])
    for shift, scores in zip(shifts, found, strict=True):
        moved = measure_for(np.roll(labels, shift))
        np.testing.assert_allclose(moved.scores(ranks, AS_THEY_ARE)[0], scores, atol=1e-5)
    measure, block = measure_for(labels), np.arange(200) * 10 // 200
    for unit in range(4):
        whole = measure.from_tables(measure.tables(ranks[unit], block).sum(0, keepdims=True))[0]
        assert whole == pytest.approx(found[0, unit], abs=2e-3)


def test_shifts_are_never_small():
    shifts = [move.keywords["shift"] for move in LongText(torch.zeros(1000, dtype=torch.long)).moves(1, 500, seed=0)]
    assert min(shifts) >= 50
    assert max(shifts) < 950


def test_the_interval_covers_what_is_true():
    """Inside is higher by one standard deviation: AUROC is Φ(1/√2) = 0.7602. Neighbours share labels and noise."""
    hits = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        labels = draw.random(200).repeat(20) > 0.6
        signal = draw.normal(size=800).repeat(5) + labels
        low, high = interval(
            AUROC(labels), midranks(signal[None].astype(np.float16))[0], np.arange(4000) * 50 // 4000, seed
        )
        hits += low < 0.7602 < high
    assert hits >= 51  # 57 are expected; blocks are somewhat too narrow


def test_precision_and_f1_are_those_of_the_definition():
    signal, labels = noise(3, 80).astype(float), noise(4, 80) > 0
    recall, slow, best = 0.0, 0.0, 0.0
    for value in sorted(set(signal), reverse=True):
        said = signal >= value
        slow += ((said & labels).sum() / labels.sum() - recall) * (said & labels).sum() / said.sum()
        recall = (said & labels).sum() / labels.sum()
        best = max(best, 2 * (said & labels).sum() / (said.sum() + labels.sum()))
    assert average_precision(signal, labels) == pytest.approx(slow)
    assert f1(signal >= best_threshold(signal, labels), labels) == pytest.approx(best)


def test_false_findings_are_adjusted_as_in_the_paper():
    """The fifteen p-values of Benjamini and Hochberg's example, of which four are believed at 0.05."""
    paper = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324]
    paper += [0.4262, 0.5719, 0.6528, 0.759, 1.0]
    found = adjusted(paper[::-1])[::-1]
    assert sum(q <= 0.05 for q in found) == 4
    assert found[3] == pytest.approx(0.0095 * 15 / 4)
    assert found == sorted(found)
    assert max(found) <= 1


def test_a_context_is_the_same_where_the_characters_are():
    text = "abcabcabcxabc"
    codes = contexts(text, np.arange(len(text)))
    assert len(codes) == LONGEST
    for length, code in enumerate(codes, 1):
        for one in range(length, len(text)):
            for other in range(length, len(text)):
                same = text[one - length + 1 : one + 1] == text[other - length + 1 : other + 1]
                assert (code[one] == code[other]) == same


def test_the_last_characters_predict_what_depends_on_them_alone():
    draw = np.random.default_rng(0)
    text = "".join(draw.choice(list("abcd"), 6000))
    codes = contexts(text, np.arange(6000))
    after_ab = np.array([text[max(0, t - 1) : t + 1] == "ab" for t in range(6000)], float)[:, None]
    front, back = [code[:3000] for code in codes], [code[3000:] for code in codes]
    one, two, *_ = predictions(front, after_ab[:3000], back)
    judge = AUROC(after_ab[3000:, 0] > 0)
    assert judge.of_prediction(two) == pytest.approx(1)
    assert judge.of_prediction(one) < 0.95
    np.testing.assert_allclose(one[np.array(list(text[3000:])) == "b"], 0.25, atol=0.05)
