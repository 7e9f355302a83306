"""Walking through a long text in pieces, and single units by name."""

import pytest
import torch
from zoo import VOCABULARY, make

from regard import UserError
from regard.decode.score import score
from regard.look.find.windows import PART, walk
from regard.look.patch import patch
from regard.look.trace import trace
from regard.look.units import Unit, cells_in, clamped, heads_in, unit_named
from regard.text import START


@pytest.fixture(params=["lm-lstm", "lm-gru", "lm-transformer-rotary"])
def model(request):
    return make(request.param)


def text(length: int) -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (length,), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("window", [7, 2 * PART + 6])
def test_one_row_is_the_text_as_a_whole(model, window):
    """Whether it is cut into windows, or a window into what is fed at once."""
    tokens = text(2 * PART + 6)
    whole = score(model, torch.cat([torch.tensor([START]), tokens])[None], model.start(batch=1))[0]
    logs = [piece.logs[0] for piece in walk(model, tokens, [], carry=True, rows=1, window=window)]
    torch.testing.assert_close(torch.cat(logs), whole)


def test_every_token_is_met_once_and_what_passed_is_what_passes_alone(model):
    tokens, window = text(50), 7
    met, hidden = [], {}
    for piece in walk(model, tokens, ["*.0.hidden"], carry=False, rows=3, window=window):
        met += piece.place[piece.place >= 0].tolist()
        (first,) = piece.seen.values()
        hidden |= dict(zip(piece.place[:, 0].tolist(), first, strict=True))
    assert sorted(met) == list(range(50))
    for begin, row in hidden.items():
        fed = torch.cat([torch.tensor([START]), tokens[begin : begin + len(row)]])[None]
        with trace(model, "*.0.hidden") as seen:
            model(fed, model.start(batch=1))
        (alone,) = seen.values()
        real = min(len(row), 50 - begin)
        torch.testing.assert_close(row[:real], alone[0, 1 : 1 + real])


def test_nobody_listens_without_patterns(model):
    assert all(not piece.seen for piece in walk(model, text(9), [], carry=True))


def test_units_have_names(model):
    with trace(model) as seen:
        model(text(5)[None], model.start(batch=1))
    for path, number in (cells_in(seen) | heads_in(seen)).items():
        unit = unit_named(f"{path}[{number - 1}]", seen)
        assert unit == Unit(path, number - 1, path in heads_in(seen))
        with pytest.raises(UserError, match=rf"has units 0 to {number - 1}, found {number}"):
            unit_named(f"{path}[{number}]", seen)
    with pytest.raises(UserError, match=r"path\[number\], found 'cell 3'"):
        unit_named("cell 3", seen)
    with pytest.raises(UserError, match=r"unit 'layer\.layers\.0\.hiden' does not exist"):
        unit_named("layer.layers.0.hiden[0]", seen)


def test_a_clamped_unit_says_nothing_else(model):
    with trace(model) as seen:
        before, _ = model(text(5)[None], model.start(batch=1))
    for path in cells_in(seen) | heads_in(seen):
        unit = unit_named(f"{path}[1]", seen)
        with patch(model, clamped(unit, 0.5)), trace(model) as changed:
            after, _ = model(text(5)[None], model.start(batch=1))
        value = changed[path + ".mixed"][:, 1] if unit.head else changed[path][..., 1]
        assert (value == 0.5).all()
        assert not torch.allclose(before, after)
