"""The score of a given text is the sum of what stepping through it says, for every model and any padding."""

import pytest
import torch
from shapes import unchecked
from zoo import MODELS, VOCABULARY, begin, make, tokens

from regard import select
from regard.decode.rules import Bounds
from regard.decode.score import score
from regard.decode.stream import stream
from regard.errors import UserError

every_model = pytest.mark.parametrize("name", MODELS)
PATTERNS = {
    "none": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]],
    "right": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]],
    "left": [[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]],
    "middle": [[1, 0, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1]],
    "whole row": [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0]],
}


@every_model
@pytest.mark.parametrize("pattern", PATTERNS)
@torch.no_grad()
def test_score_is_stepping(name, pattern):
    model, keep = make(name), torch.tensor(PATTERNS[pattern], dtype=torch.bool)
    fed, state = tokens(3, 6), begin(model, name, 3)
    found = score(model, fed, state, None if pattern == "none" else keep)
    assert found.shape == (3, 5)
    expected = torch.zeros(3, 5, dtype=torch.double)
    with unchecked():
        for row in range(3):
            after, logs = select(state, torch.tensor([row])), None
            for place in range(6):
                if keep[row, place]:
                    if logs is not None:
                        expected[row, place - 1] = logs[0, fed[row, place]]
                    scores, after = model.step(fed[row, place, None], after)
                    logs = scores.log_softmax(-1)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


@torch.no_grad()
def test_probabilities_of_all_texts_sum_to_one():
    model = make("lm-gru")
    texts = torch.cartesian_prod(torch.tensor([1]), torch.arange(VOCABULARY), torch.arange(VOCABULARY))
    total = score(model, texts, model.start(batch=len(texts))).sum(1).exp().sum()
    torch.testing.assert_close(total, torch.ones((), dtype=torch.double))


@torch.no_grad()
def test_the_score_of_what_is_streamed_is_what_it_was_chosen_by():
    model = make("lm-transformer-rotary")
    chosen_by = []

    def choose(scores, rows, made):
        logs, best = scores.log_softmax(-1).max(-1)
        chosen_by.append(logs)
        return best

    prompt = tokens(3, 4)
    made = list(stream(model, prompt, model.start(batch=3), choose, Bounds(limit=6, stop=-1)))
    found = score(model, torch.cat([prompt, torch.stack(made, 1)], 1), model.start(batch=3))
    torch.testing.assert_close(found[:, 3:], torch.stack(chosen_by, 1), rtol=1e-9, atol=1e-10)


def test_a_score_has_gradients():
    model = make("lm-lstm")
    score(model, tokens(2, 5), model.start(batch=2)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_one_token_has_nothing_to_score():
    model = make("lm-lstm")
    with pytest.raises(UserError, match="at least one position to compute, found none; feed the start token first"):
        score(model, tokens(2, 1), model.start(batch=2))
