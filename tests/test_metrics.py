"""Every figure is the one that its name promises: sacrebleu's own, or its definition written out."""

import math
from functools import cache

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.metrics.text import bits_per_byte, bleu, chrf, edit_distance, error_rate, exact_match, perplexity
from regard.tasks import TASKS
from regard.training.progress import better

OUTPUTS = ["the red house is small .", "she sees a dog", "", "il fait beau aujourd'hui, n'est-ce pas ?"]
REFERENCES = ["the red house is very small .", "she saw the dog", "yes .", "il fait beau aujourd'hui, n'est-ce pas ?"]
words = st.lists(st.sampled_from("abc"), max_size=6)


def test_bleu_and_chrf_are_sacrebleus_own():
    assert bleu(OUTPUTS, REFERENCES).value == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score
    assert chrf(OUTPUTS, REFERENCES).value == sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score
    assert 0 < bleu(OUTPUTS, REFERENCES).value < 100


def test_bleu_and_chrf_say_how_they_were_computed():
    version = f"version:{sacrebleu.__version__}"
    assert bleu(OUTPUTS, REFERENCES).signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert chrf(OUTPUTS, REFERENCES).signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"


def test_a_perfect_answer_has_full_marks():
    scores = {name: score.value for name, score in TASKS["pairs"].scores(REFERENCES, REFERENCES).items()}
    assert scores == pytest.approx({"bleu": 100, "chrf": 100, "exact": 100, "error_rate": 0})


@cache
def fewest_changes(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Levenshtein's definition, as it stands."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return fewest_changes(a[:-1], b[:-1])
    return 1 + min(fewest_changes(a[:-1], b), fewest_changes(a, b[:-1]), fewest_changes(a[:-1], b[:-1]))


@settings(max_examples=200)
@given(words, words)
def test_edit_distance_is_the_definition(a, b):
    assert edit_distance(a, b) == fewest_changes(tuple(a), tuple(b)) == edit_distance(b, a)


def test_error_rate_counts_words_over_words_wanted():
    assert error_rate(["a b c", "x"], ["a c", "x y"]).value == pytest.approx(100 * 2 / 4)
    assert error_rate(["a b", ""], ["c d", ""]).value == 100
    assert error_rate([""], [""]).value == 0


def test_exact_match_is_all_or_nothing():
    assert exact_match(OUTPUTS, REFERENCES).value == 25
    assert exact_match([], []).value == 0
    with pytest.raises(ValueError, match="zip"):
        exact_match(["a"], [])


@given(st.integers(1, 1000))
def test_a_model_that_knows_nothing_of_bytes_needs_eight_bits(size):
    assert bits_per_byte(size * math.log(256), size) == pytest.approx(8)


def test_perplexity_of_a_uniform_guess_is_the_number_of_choices():
    assert perplexity(math.log(50)) == pytest.approx(50)
    assert perplexity(0.0) == 1
    assert math.isfinite(perplexity(1e9))


def test_which_way_is_better():
    assert better("loss", 1.0, 2.0)
    assert not better("loss", 2.0, 2.0)
    assert better("bleu", 2.0, 1.0)
    assert not better("exact", 1.0, 1.0)
    assert better("loss", 9.0, None)
