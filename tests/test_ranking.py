"""The best few of many scores: the native engine's are those of torch, on every level of instructions."""

import pytest
import torch
from test_engine import each_level, loaded
from torch import Tensor

from regard.engine.library import Library
from regard.engine.ranking import rank
from regard.models.ranking import Ranked, ranked


def native(library: Library, scores: Tensor, count: int, every: bool = True) -> Ranked:
    found = rank(library, scores, count, every)
    assert found is not None
    return found


@each_level
@pytest.mark.parametrize("size", [1, 5, 64, 65, 200, 8001])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_the_best_and_all_log_p_are_those_of_torch(size, rows, level):
    torch.manual_seed(size)
    scores, count = torch.randn(rows, size) * 5, min(size, 7)
    found, expected = native(loaded(level), scores, count), ranked(scores, count, True)
    assert torch.equal(found.tokens, expected.tokens)
    assert found.every is not None
    torch.testing.assert_close(found.every, expected.every, rtol=0, atol=5e-6)
    assert torch.equal(found.logs, found.every.gather(1, found.tokens))
    alone = native(loaded(level), scores[-1:], count)
    assert torch.equal(alone.every, found.every[-1:]), "a row knows of no other"


@each_level
def test_of_equals_the_first_is_the_best_and_what_cannot_be_is_last(level):
    scores = torch.zeros(2, 300)
    scores[0, [17, 130, 299]], scores[1] = 2.0, -torch.inf
    scores[1, 5], scores[1, 200] = 1e4, 1e4 - 1
    found = native(loaded(level), scores, 4)
    assert found.tokens[0].tolist() == [17, 130, 299, 0]
    assert found.tokens[1, :2].tolist() == [5, 200]
    assert found.logs[1].isneginf().tolist() == [False, False, True, True]
    torch.testing.assert_close(found.logs[1, :2], torch.tensor([1.0, 0.0]).log_softmax(-1))


@each_level
def test_rows_may_be_a_part_of_a_larger_table_and_nothing_may_be_wanted(level):
    table = torch.randn(6, 2, 500)
    found = native(loaded(level), table[:, 1], 3, every=False)
    assert torch.equal(found.tokens, table[:, 1].topk(3).indices)
    assert found.every is None
    assert native(loaded(level), table[:, 1], 0).tokens.shape == (6, 0)
    assert native(loaded(level), table[:0, 1], 3).tokens.shape == (0, 3)


@each_level
def test_other_numbers_are_left_to_torch(level):
    for scores in (torch.randn(2, 9).double(), torch.randn(9, 2).T, torch.randn(2, 9, requires_grad=True)):
        assert rank(loaded(level), scores, 3, True) is None
    assert rank(loaded(level), torch.randn(2, 9), 10, True) is None
