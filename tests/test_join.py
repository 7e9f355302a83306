"""Rows of several states as one: they go on as if each were alone."""

import pytest
import torch
from zoo import CAPTIONERS, TRANSDUCERS, WRITES, make, source_for, tokens

from regard.engine.choose import prepare
from regard.engine.native import Native
from regard.layers.state import Growing, Lines, join, map_state, select

FED = (1, 4, 9)  # tokens of each row before they meet
READ = (7, 3, 5)  # of its source


def rows_of(name):
    """States of one row each that have been fed different numbers of tokens, and read sources of different length."""
    torch.manual_seed(2)
    model = make(name)
    for fed, read in zip(FED, READ, strict=True):
        size = max(READ) if name in TRANSDUCERS else read
        keep = torch.arange(size)[None] < read
        source = source_for(name, 1, keep=None if name in CAPTIONERS else keep)
        yield model.prefill(tokens(1, fed), model.start(source))[1]


@pytest.mark.parametrize("name", WRITES)
@torch.inference_mode()
def test_rows_that_join_go_on_as_they_would_alone(name):
    model, alone = make(name), list(rows_of(name))
    together = join(alone)
    for steps in (1, 1, 3, *[1] * 12):
        fed = tokens(len(alone), steps)
        scores, together = model(fed, together)
        for row, state in enumerate(alone):
            wanted, alone[row] = model(fed[row : row + 1], state)
            torch.testing.assert_close(scores[row : row + 1], wanted)


@pytest.mark.parametrize("name", WRITES)
@torch.inference_mode()
def test_native_rows_that_join_go_on_as_they_would_alone(name):
    """To the last bit: one token at a time, and several at once, where none may look ahead."""
    model = prepare(make(name, torch.float32))
    if not isinstance(model, Native):
        pytest.skip("it answers by torch")
    alone = [map_state(in_32_bits, state) for state in rows_of(name)]
    together = join(alone)
    for steps in (1, 1, *[3] * model.reads_everything, *[1] * 12):
        fed = tokens(len(alone), steps)
        scores, together = model(fed, together)
        for row, state in enumerate(alone):
            wanted, alone[row] = model(fed[row : row + 1], state)
            assert torch.equal(scores[row : row + 1], wanted)


def in_32_bits(tensor):
    return tensor.float() if tensor.is_floating_point() else tensor


@pytest.mark.parametrize("name", WRITES)
@torch.inference_mode()
def test_beams_that_join_go_on_as_they_would_alone(name):
    """Groups of rows that share a source and a past, reordered at every step, one group leaving and one coming."""
    model, alone = make(name), [select(state, torch.zeros(1, 3, dtype=torch.long)) for state in rows_of(name)]
    late = alone.pop()
    together = join(alone)
    for step in range(6):
        if step == 3:
            together = join([select(together, torch.tensor([[3, 4, 5]])), late])
            alone = [alone[1], late]
        fed = tokens(3 * len(alone), 1)
        scores, together = model(fed, together)
        order = torch.randint(3, (len(alone), 3))
        for group, state in enumerate(alone):
            wanted, after = model(fed[3 * group : 3 * group + 3], state)
            alone[group] = select(after, order[group : group + 1])
            torch.testing.assert_close(scores[3 * group : 3 * group + 3], wanted)
        together = select(together, order + 3 * torch.arange(len(alone))[:, None])


@pytest.mark.parametrize("name", WRITES)
@torch.inference_mode()
def test_what_was_joined_is_still_a_value(name):
    """Going on from one joined state twice gives two futures, and changes none of those that were joined."""
    model, alone = make(name), list(rows_of(name))
    before = [map_state(torch.clone, state) for state in alone]
    together, fed = join(alone), tokens(3, 1)
    first, _ = model(fed, together)
    _, other = model(tokens(3, 1), together)
    model(tokens(3, 1), other)
    assert torch.equal(model(fed, together)[0], first)
    for state, copied in zip(alone, before, strict=True):
        assert torch.equal(model(fed[:1], state)[0], model(fed[:1], copied)[0])


def test_uneven_lines_grow_like_lists():
    """Each line is what a list of its own would be, whatever the others are; also once some have left."""
    with torch.no_grad():
        parts = [torch.randn(2, 5), torch.randn(1, 20), torch.randn(1, 1)]
        lists = [line.tolist() for part in parts for line in part]
        lines = Growing(parts[0]).join([Growing(part) for part in parts[1:]])
        for step in range(40):
            more = torch.randn(len(lists), 1 + step % 3)
            lines = lines.append(more)
            lists = [[*line, *new.tolist()] for line, new in zip(lists, more, strict=True)]
            if step == 20:
                lines, lists = lines.map(lambda value: value), lists
            assert lines.lengths == tuple(map(len, lists))
            for shown, line in zip(lines.value.tolist(), lists, strict=True):
                assert shown[: len(line)] == line


def test_lines_that_do_not_grow_are_padded():
    joined = Lines(torch.ones(1, 2, dtype=torch.bool)).join([Lines(torch.ones(2, 3, dtype=torch.bool))])
    assert joined.value.tolist() == [[True, True, False], [True] * 3, [True] * 3]
