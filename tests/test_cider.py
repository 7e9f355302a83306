"""CIDEr-D against cases worked out by hand, and what must hold whatever the captions are."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics import cider as metric

WORDS = st.lists(st.sampled_from(["a", "dog", "runs", "on", "grass", "two", "cats"]), min_size=1, max_size=8)
CAPTIONS = st.lists(WORDS.map(" ".join), min_size=2, max_size=5)


def cider(outputs: list[str], references: list[list[str]]) -> float:
    return metric.cider(outputs, references).value


def test_the_truth_scores_ten_where_no_ngram_is_shared():
    references = [["a red dog runs fast"], ["two cats sleep here now"]]
    assert cider([each[0] for each in references], references) == pytest.approx(10)
    assert cider(["two cats sleep here now", "a red dog runs fast"], references) == 0


def test_by_hand_one_word():
    """One word: only n = 1 counts, so a perfect match is 10 / 4; 'the' is everywhere and weighs log 1 = 0."""
    assert cider(["dog", "cat"], [["dog"], ["cat"]]) == pytest.approx(2.5)
    assert cider(["the", "the"], [["the"], ["the"]]) == 0


def test_by_hand_two_words():
    """c = (dog, big), r = (dog, red), each word at one picture of two: cosine 1/2 for n = 1, nothing for n = 2."""
    assert cider(["dog big", "x"], [["dog red"], ["big y"]]) == pytest.approx(10 * (0.5 / 4) / 2)


def test_by_hand_lengths():
    """dog · dog dog: min(1, 2) · 2 / (1 · 2) = 1, times exp(−1 / 72) for one word more; the mean of two pictures."""
    expected = 10 * (math.exp(-1 / 72) / 4) / 2
    assert cider(["dog", "x"], [["dog dog"], ["cat"]]) == pytest.approx(expected)
    # the other way round the clipping takes half: min(2, 1) · 1 / (2 · 1)
    assert cider(["dog dog", "x"], [["dog"], ["cat"]]) == pytest.approx(expected / 2)


def test_by_hand_rare_words_weigh_more():
    """c = 'a dog', r = 'a cat': they share 'a', which two of three pictures have: log(3/2) against log 3."""
    a, rare = math.log(3 / 2), math.log(3)
    references = [["a cat"], ["a dog"], ["fish"]]
    score = cider(["a dog", "x", "x"], references)
    assert score == pytest.approx(10 * (a * a / (a * a + rare * rare) / 4) / 3)


def test_the_mean_over_references():
    one = cider(["big dog", "x"], [["big dog"], ["cat"]])
    assert cider(["big dog", "x"], [["big dog", "fish swims"], ["cat"]]) == pytest.approx(one / 2)


@given(references=CAPTIONS)
def test_between_nothing_and_ten(references):
    wanted = [[reference] for reference in references]
    assert -1e-9 <= cider(references[1:] + references[:1], wanted) <= 10 + 1e-9


@given(references=CAPTIONS)
def test_nothing_is_better_than_the_truth(references):
    wanted = [[reference] for reference in references]
    assert cider(references[1:] + references[:1], wanted) <= cider(references, wanted) + 1e-9


@given(references=CAPTIONS)
def test_order_of_pictures_and_case_do_not_matter(references):
    wanted = [[reference, reference[::-1]] for reference in references]
    said = references[1:] + references[:1]
    backwards = cider([text.upper() for text in said[::-1]], wanted[::-1])
    assert cider(said, wanted) == pytest.approx(backwards)


def test_nothing_said():
    assert cider([], []) == 0
    assert cider([""], [["a dog"]]) == 0
