"""What several files assert: equal up to rounding in float64, and a mistake told in one line."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from zoo import VOCABULARY

from regard import Model, State, UserError
from regard.layers.state import leaves, map_state


def same(a: Tensor, b: Tensor, message: str = "") -> None:
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10, msg=lambda text: f"{message} {text}")


def same_state(a: State, b: State) -> None:
    for left, right in zip(leaves(a), leaves(b), strict=True):
        same(left, right, "state")


def never_writes(model: Model, one: Tensor, state: State) -> None:
    """Two futures of one state are those of its copies, to the bit, and the state is as it was."""
    kept = map_state(torch.clone, state)
    other = (one + 1) % VOCABULARY
    expected, expected_future = model.step(one, kept)
    expected_other, _ = model.step(other, map_state(torch.clone, state))
    first, future = model.step(one, state)
    second, _ = model.step(other, state)
    for before, after in zip(leaves(kept), leaves(state), strict=True):
        assert torch.equal(before, after), "stepping wrote into the state it was given"
    for before, after in zip(leaves(expected_future), leaves(future), strict=True):
        assert torch.equal(before, after), "a second step wrote into the future of the first"
    assert torch.equal(first, expected)
    assert torch.equal(second, expected_other), "the second future differs from that of a copy"


def text_of(call: Callable[[], object]) -> str:
    """What a user is told: one line."""
    with pytest.raises(UserError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)
