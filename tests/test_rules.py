"""Each rule against its definition written out slowly, and against transformers' processors."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.decode.rules import NOTHING, AtLeast, NoRepeatedNgram, RepetitionPenalty, apply
from regard.errors import UserError

SIZE = 6  # few tokens, so that they repeat


def penalised(scores: list[float], written: list[int], penalty: float) -> list[float]:
    changed = [score * penalty if score < 0 else score / penalty for score in scores]
    return [changed[token] if token in written else score for token, score in enumerate(scores)]


def without_repeats(scores: list[float], written: list[int], n: int) -> list[float]:
    def repeats(token: int) -> bool:
        new = [*written, token][-n:]
        return len(new) == n and any(written[place : place + n] == new for place in range(len(written) - n + 1))

    return [-math.inf if repeats(token) else score for token, score in enumerate(scores)]


RULES = {
    "penalty": (RepetitionPenalty(1.7), lambda scores, written: penalised(scores, written, 1.7)),
    "reward": (RepetitionPenalty(0.5), lambda scores, written: penalised(scores, written, 0.5)),
    **{
        f"no {n}-gram twice": (NoRepeatedNgram(n), lambda scores, written, n=n: without_repeats(scores, written, n))
        for n in (1, 2, 3, 4)
    },
}
every_rule = pytest.mark.parametrize(("rule", "slowly"), RULES.values(), ids=RULES)


def padded(rows: list[list[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[NOTHING] * (longest - len(row)) + row for row in rows])


rows_of_tokens = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=12), min_size=1, max_size=6)


@every_rule
@given(rows=rows_of_tokens)
def test_a_rule_is_its_definition_for_rows_of_any_length(rule, slowly, rows):
    scores = torch.randn(len(rows), SIZE, dtype=torch.double)
    kept, written = scores.clone(), padded(rows)
    found = rule(scores, written)
    expected = [slowly(score, row) for score, row in zip(scores.tolist(), rows, strict=True)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.double))
    assert torch.equal(scores, kept), "a rule wrote into the scores it was given"
    assert torch.equal(written, padded(rows)), "a rule wrote into the past"


@every_rule
def test_random_text_makes_a_rule_speak(rule, slowly):
    """What the law above compares does happen: scores change, and not all of them."""
    written = torch.randint(SIZE, (400, 12))
    changed = rule(torch.ones(400, SIZE), written) != 1
    assert changed.any()
    assert not changed.all()


@pytest.mark.parametrize("made", range(5))
def test_at_least(made):
    written, scores = padded([[1] * (3 + made), [1] * (1 + made)]), torch.randn(2, SIZE)
    found = AtLeast(count=2, stop=4, begin=3)(scores, written)
    expected = scores.clone()
    if made < 2:
        expected[:, 4] = -math.inf
    assert torch.equal(found, expected)


def test_rules_apply_in_order():
    scores, written = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([[0]])

    def shift(scores, written):
        return scores - 4

    assert apply([shift, RepetitionPenalty(2.0)], scores, written).tolist() == [[-4.0, -5.0, -3.5]]
    assert apply([RepetitionPenalty(2.0), shift], scores, written).tolist() == [[-3.0, -5.0, -3.5]]
    assert apply([], scores, written) is scores


def test_what_is_forbidden_stays_forbidden():
    scores = torch.full((1, SIZE), -math.inf)
    assert RepetitionPenalty(2.0)(scores, torch.tensor([[1, 2]])).equal(scores)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RepetitionPenalty(0), "repetition penalty must be above 0, found 0; 1 changes nothing"),
        (lambda: RepetitionPenalty(-2.0), "repetition penalty must be above 0, found -2.0; 1 changes nothing"),
        (
            lambda: NoRepeatedNgram(0),
            "the length of an n-gram that may not repeat must be at least 1, found 0",
        ),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(UserError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize("steps", [1, 2, 5, 30])
def test_rules_agree_with_transformers(steps):
    theirs = pytest.importorskip("transformers", reason="transformers is only in the bench extra").generation
    scores, written = torch.randn(40, SIZE), torch.randint(SIZE, (40, steps))
    pairs = [
        (RepetitionPenalty(1.3), theirs.RepetitionPenaltyLogitsProcessor(1.3)),
        (AtLeast(4, 2, 1), theirs.MinNewTokensLengthLogitsProcessor(1, 4, 2, device="cpu")),
        *((NoRepeatedNgram(n), theirs.NoRepeatNGramLogitsProcessor(n)) for n in (1, 2, 3)),
    ]
    for mine, other in pairs:
        torch.testing.assert_close(mine(scores, written), other(written, scores.clone()))
