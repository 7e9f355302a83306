"""What several files assert: equal up to rounding in float64, and a mistake told in one line."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard import State, UserError
from regard.layers.state import leaves


def same(a: Tensor, b: Tensor, message: str = "") -> None:
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10, msg=lambda text: f"{message} {text}")


def same_state(a: State, b: State) -> None:
    for left, right in zip(leaves(a), leaves(b), strict=True):
        same(left, right, "state")


def text_of(call: Callable[[], object]) -> str:
    """What a user is told: one line."""
    with pytest.raises(UserError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)
