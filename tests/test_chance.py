"""How far a figure may be off by chance: intervals cover, and tests are those of the books."""

import itertools
import math

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from regard.metrics.labels import macro_f1, span_f1
from regard.metrics.paired import mcnemar, over_examples, over_seeds, spread_of, student_quantile, student_tails
from regard.metrics.score import DRAWS, SEED, Hits, Score, share_right
from regard.metrics.text import bleu, chrf, error_rate, exact_match

WORDS = ["the", "red", "house", "is", "small", "she", "saw", "a", "dog", "."]


def lines(seed: int, noise: float, number: int = 40) -> tuple[list[str], list[str]]:
    """References, and answers that have some of their words changed."""
    wanted = np.random.default_rng(0).choice(WORDS, (number, 8))
    random = np.random.default_rng(seed)
    said = np.where(random.random(wanted.shape) < noise, random.choice(WORDS, wanted.shape), wanted)
    return [" ".join(line) for line in said], [" ".join(line) for line in wanted]


# Resampling


@pytest.mark.parametrize(("ours", "theirs"), [(bleu, sacrebleu.BLEU()), (chrf, sacrebleu.CHRF())])
def test_the_interval_of_bleu_and_chrf_is_sacrebleus_own(ours, theirs):
    said, wanted = lines(1, 0.3)
    reference = theirs.corpus_score(said, [wanted], n_bootstrap=DRAWS)
    found = ours(said, wanted)
    low, high = found.interval()
    assert (found.value, (high - low) / 2) == pytest.approx((reference.score, reference._ci), rel=1e-6)
    assert found.drawn().mean() == pytest.approx(reference._mean, rel=1e-6)


def test_a_draw_of_bleu_is_the_bleu_of_the_lines_drawn():
    said, wanted = lines(1, 0.3)
    random = np.random.default_rng(SEED)
    for drawn in bleu(said, wanted).drawn()[:5]:
        chosen = random.choice(len(said), len(said))
        again = sacrebleu.corpus_bleu([said[i] for i in chosen], [[wanted[i] for i in chosen]]).score
        assert drawn == pytest.approx(again, rel=1e-12)


@pytest.mark.parametrize("score", [bleu, chrf, exact_match, error_rate])
def test_drawing_every_line_once_is_the_score(score):
    said, wanted = lines(1, 0.1)
    backwards = score(said[::-1], wanted[::-1])
    assert backwards.of(score(said, wanted).parts.sum(0)) == score(said, wanted).value


def test_f1_over_draws_is_f1_of_what_was_drawn():
    random = np.random.default_rng(3)
    said, wanted = (random.choice(["B-X", "I-X", "O"], (30, 5)).tolist() for _ in range(2))
    chosen = np.random.default_rng(SEED).choice(30, 30)
    for score in (macro_f1, span_f1):
        again = score([said[i] for i in chosen], [wanted[i] for i in chosen]).value
        assert score(said, wanted).drawn()[0] == pytest.approx(again)


def covered(sample, truth: float, trials: int = 200) -> float:
    """How often the interval of a sample has the truth in it."""
    random = np.random.default_rng(7)
    between = (sample(random).interval() for _ in range(trials))
    return sum(low <= truth <= high for low, high in between) / trials


def test_a_bootstrap_interval_covers(monkeypatch):
    monkeypatch.setattr("regard.metrics.score.DRAWS", 200)

    def mean(random):
        return Score(np.stack([random.exponential(3.0, 60), np.ones(60)], 1), lambda sums: sums[0] / sums[1])

    assert 0.88 < covered(mean, 3.0) < 0.99


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (30, 0.9), (200, 0.98)])
def test_wilsons_interval_covers(n, p):
    assert 0.91 < covered(lambda random: share_right((random.random(n) < p).astype(float), np.ones(n)), p, 600) < 0.985


def test_wilsons_interval_by_its_equation():
    """Its ends are those p from which the share lies just z standard deviations away."""
    score = share_right(np.array([1.0] * 7 + [0.0] * 3), np.ones(10), 100)
    assert isinstance(score, Hits)
    for end in score.interval():
        p = end / 100
        assert abs(0.7 - p) / math.sqrt(p * (1 - p) / 10) == pytest.approx(1.959964, rel=1e-6)


def test_few_examples_have_no_bootstrap():
    assert bleu(["a b c d"] * 3, ["a b c d"] * 3).interval() is None
    assert exact_match(["a"], ["a"]).interval() is not None
    assert exact_match([], []).interval() is None


def test_tokens_of_one_example_are_drawn_together():
    """Three tokens in each example are no three examples."""
    assert not isinstance(share_right(np.array([3.0, 1.0]), np.array([3.0, 3.0])), Hits)


# Comparing


@pytest.mark.parametrize("score", [bleu, chrf, exact_match, error_rate])
def test_a_run_is_not_better_than_itself(score):
    said, wanted = lines(1, 0.2)
    apart = over_examples([score(said, wanted)], [score(said, wanted)])
    assert (apart.value, *apart.interval, apart.p) == (0, 0, 0, 1)


def test_a_clear_difference_is_seen_and_has_its_sign():
    worse, wanted = lines(1, 0.6, 100)
    better, _ = lines(2, 0.1, 100)
    for score, sign in ((bleu, 1), (error_rate, -1)):
        apart = over_examples([score(worse, wanted)], [score(better, wanted)])
        back = over_examples([score(better, wanted)], [score(worse, wanted)])
        assert apart.value * sign > 0
        assert apart.interval.low * apart.interval.high > 0
        assert apart.p == back.p < 0.01
        assert apart.interval == tuple(-end for end in back.interval[::-1])


def test_two_runs_of_one_quality_are_told_apart_about_as_often_as_p_says(monkeypatch):
    monkeypatch.setattr("regard.metrics.score.DRAWS", 100)
    found = []
    for seed in range(60):
        (ours, wanted), (theirs, _) = lines(2 * seed + 1, 0.3, 30), lines(2 * seed + 2, 0.3, 30)
        found.append(over_examples([error_rate(ours, wanted)], [error_rate(theirs, wanted)]).p)
    assert sum(p < 0.1 for p in found) <= 15
    assert sum(p < 0.5 for p in found) >= 15


def test_mcnemar_by_enumeration():
    """Every way in which the examples that differ could have fallen, each as likely as the others."""
    for n, k in ((1, 0), (4, 1), (7, 2), (8, 4)):
        ours = np.array([True] * k + [False] * (n - k) + [True, False])
        theirs = np.array([False] * k + [True] * (n - k) + [True, False])
        sides = [abs(sum(way) - n / 2) >= abs(k - n / 2) for way in itertools.product((0, 1), repeat=n)]
        assert mcnemar(ours, theirs) == pytest.approx(sum(sides) / 2**n)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_binomial_test_of_scipy(pairs):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not here")
    ours, theirs = np.array(pairs).T
    one, other = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    wanted = stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert mcnemar(ours, theirs) == pytest.approx(wanted)


def test_mcnemar_of_many():
    assert 0 < mcnemar(np.arange(9000) % 3 > 0, np.arange(9000) % 2 > 0) < 1e-10


TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 30: 2.042, 1000: 1.962}  # of any book: t(0.975)


@pytest.mark.parametrize("freedom", TABLE)
def test_students_distribution_is_that_of_the_tables(freedom):
    assert student_quantile(0.975, freedom) == pytest.approx(TABLE[freedom], abs=6e-4)
    assert student_tails(TABLE[freedom], freedom) == pytest.approx(0.05, abs=1e-4)


def test_welch_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats", reason="scipy is not here")
    ours, theirs = [1.1, 1.3, 1.2], [2.0, 2.4, 2.2, 2.1]
    wanted, found = stats.ttest_ind(theirs, ours, equal_var=False), over_seeds(ours, theirs)
    assert found.p == pytest.approx(wanted.pvalue, rel=1e-3)
    assert found.interval == pytest.approx(tuple(wanted.confidence_interval()), rel=1e-3)


def test_spread_over_seeds_by_hand():
    mean, deviation, (low, high) = spread_of([1.0, 2.0, 3.0])
    assert (mean, deviation) == (2, 1)
    assert (high - low) / 2 == pytest.approx(4.303 / math.sqrt(3), abs=1e-3)
    assert spread_of([4.0]) == (4, None, None)


def test_welch_over_seeds_by_hand():
    apart = over_seeds([1.1, 1.3, 1.2], [2.0, 2.4, 2.2, 2.1])
    se = math.sqrt(0.01 / 3 + 0.029166666666 / 4)
    freedom = se**4 / ((0.01 / 3) ** 2 / 2 + (0.029166666666 / 4) ** 2 / 3)
    assert apart.value == pytest.approx(0.975)
    assert apart.p == pytest.approx(student_tails(0.975 / se, freedom))
    assert apart.interval.low == pytest.approx(0.975 - student_quantile(0.975, freedom) * se)
    assert over_seeds([1.0], [2.0, 3.0]) is None
    assert over_seeds([1.0, 1.0], [1.0, 1.0]).p == 1


def test_an_interval_of_none_or_all_right_ends_at_the_last_digit():
    for number in range(1, 60):
        asked = np.ones(number)
        low, high = share_right(np.zeros(number), asked).interval().low, share_right(asked, asked).interval().high
        assert (str(low), high <= 1) == ("0.0", True), number
