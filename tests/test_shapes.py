"""The hook of conftest.py is on: a wrong shape is a mistake in every room that names shapes."""

import pytest
import torch
from jaxtyping import TypeCheckError
from shapes import unchecked

from regard.decode.choose import argmax


def test_a_wrong_shape_is_noticed_unless_nobody_checks():
    scores, rows = torch.zeros(2, 5), torch.zeros(3, dtype=torch.long)
    with pytest.raises(TypeCheckError, match="rows"):
        argmax(scores, rows, 0)
    with unchecked():
        assert argmax(scores, rows, 0).tolist() == [0, 0]
