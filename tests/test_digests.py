"""What bench.digests says of two results: equal to the bit, by how much they differ, or missing in one tree."""

import numpy as np
import pytest

from bench.digest_work import Item, by_value, text
from bench.digests import compared

VALUES = np.arange(6.0).reshape(2, 3)


def test_equal_is_equal_to_the_bit_in_value_shape_and_type():
    assert compared({"x": VALUES}, {"x": VALUES.copy()}) == "equal"
    assert compared(text("a 1\nb 2\n"), text("a 1\nb 2\n")) == "equal"
    for other in (np.nextafter(VALUES, 9), VALUES.reshape(3, 2), VALUES.astype(np.float32)):
        assert compared({"x": VALUES}, {"x": other}).startswith("different: 1 of 1 tensors (x …)")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"x": VALUES}, {"x": VALUES + 1}, "1 of 1 tensors (x …), largest difference 1.0e+00"),
        ({"x": VALUES}, {"x": VALUES, "y": VALUES}, "only newer: y"),
        ({"x": VALUES, "y": VALUES[0]}, {"x": VALUES}, "only older: y"),
        (text("loss 1.5 of 2"), text("loss 1.25 of 2"), "largest difference 2.5e-01"),
        (text("the cat\nis 3"), text("the dog\nis 3"), "'the cat' → 'the dog'"),
        (text("the cat"), text("the cat\nis 3"), "'' → 'is 3'"),
    ],
)  # fmt: skip
def test_what_differs_is_said_with_the_largest_difference(old: Item, new: Item, said: str):
    assert compared(old, new) == f"different: {said}"


def test_what_one_tree_lacks_is_said():
    assert compared(None, {"x": VALUES}) == "only in the newer tree"
    assert compared({"x": VALUES}, None) == "only in the older tree"


def test_taps_are_compared_by_value_whatever_their_paths_are_called():
    old = by_value({"a.weights": VALUES, "b.weights": VALUES, "c.cells": VALUES + 1})
    new = by_value({"z.weights": VALUES, "y.cells": VALUES + 1, "x.weights": VALUES})
    assert compared(old, new) == "equal"
    assert compared(old, by_value({"a.weights": VALUES, "c.cells": VALUES + 1})).startswith("different: only older")
