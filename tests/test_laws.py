"""What holds for every model, in float64. Numbers are those of the design's list of laws."""

from typing import get_args

import pytest
import torch
from asserting import never_writes, same, same_state
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from zoo import (
    CAPTIONERS,
    IN_STEP,
    MODELS,
    READERS,
    READS_A_SOURCE,
    SOURCE_VOCABULARY,
    VOCABULARY,
    begin,
    make,
    one_of,
    some_source,
    source_for,
    tokens,
)

import regard
from regard import Source, select
from regard.errors import UserError
from regard.layers.state import leaves
from regard.layers.tap import Role, layer_of, taps_of
from regard.models.build import encoder_layer

every_model = pytest.mark.parametrize("name", MODELS)


def by_steps(model: regard.Model, fed: Tensor, state: regard.State) -> tuple[Tensor, regard.State]:
    scores = []
    for t in range(fed.shape[1]):
        one, state = model.step(fed[:, t], state)
        scores.append(one)
    return torch.stack(scores, 1), state


@every_model
@pytest.mark.parametrize("recording_gradients", [True, False])
def test_1_forward_is_steps(name, recording_gradients):
    model = make(name)
    with torch.set_grad_enabled(recording_gradients):
        state, fed = begin(model, name, 3), tokens(3, 9)
        scores, end = model(fed, state)
        one_by_one, last = by_steps(model, fed, state)
    same(scores, one_by_one)
    same_state(end, last)


@every_model
@given(cuts=st.sets(st.integers(1, 8)))
def test_1_forward_is_any_cut_into_pieces(name, cuts):
    model = make(name)
    state, fed = begin(model, name, 2), tokens(2, 9)
    scores, end = model(fed, state)
    pieces = []
    with torch.no_grad():
        for piece in torch.tensor_split(fed, sorted(cuts), dim=1):
            part, state = model(piece, state)
            pieces.append(part)
    same(scores, torch.cat(pieces, 1))
    same_state(end, state)


@every_model
@given(place=st.integers(0, 7))
def test_2_no_look_ahead(name, place):
    model = make(name)
    state, fed = begin(model, name, 2), tokens(2, 8)
    other = fed.clone()
    other[:, place] = (other[:, place] + 1) % VOCABULARY
    before, after = model(fed, state)[0], model(other, state)[0]
    same(before[:, :place], after[:, :place])
    matters = not torch.allclose(before[:, place], after[:, place])
    assert matters == (name not in IN_STEP | READERS), "the token itself must matter, where it is read"


@every_model
@torch.no_grad()
def test_a_model_says_whether_its_state_grows(name):
    model = make(name)
    _, sooner = model(tokens(2, 3), begin(model, name, 2))
    _, later = model(tokens(2, 4), sooner)
    more = sum(leaf.numel() for leaf in leaves(later)) - sum(leaf.numel() for leaf in leaves(sooner))
    assert model.grows == (more > 0)


@every_model
@torch.no_grad()
def test_a_model_says_how_many_tokens_it_can_be_fed(name):
    model = make(name)
    assert model.longest in (None, 32)  # of every table in the zoo
    _, state = model(tokens(2, 32), begin(model, name, 2))
    if model.longest is None:
        assert model.step(tokens(2, 1)[:, 0], state)[0].isfinite().all()
        return
    with pytest.raises(UserError, match=r"^position 33 is past the end of the learned position table"):
        model.step(tokens(2, 1)[:, 0], state)


@every_model
@torch.no_grad()
def test_3_a_state_is_never_written_to(name):
    model = make(name)
    fed = tokens(2, 4)
    _, state = model(fed, begin(model, name, 2))
    _, state = model.step(fed[:, 0], state)  # grown once, so that there is spare room to write into
    never_writes(model, fed[:, 1], state)


@every_model
@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 1, 0], [2], []])
@torch.no_grad()
def test_4_select_commutes_with_step(name, rows):
    model, rows = make(name), torch.tensor(rows, dtype=torch.long)
    _, state = model(tokens(3, 4), begin(model, name, 3))
    token = tokens(3, 1)[:, 0]
    scores, after = model.step(token, state)
    chosen, after_chosen = model.step(token[rows], select(state, rows))
    same(scores[rows], chosen)
    same_state(select(after, rows), after_chosen)


def spread(rows: list[Tensor], keep: Tensor, vocabulary: int) -> Tensor:
    """Rows of different length in one batch, their tokens where `keep` is True and rubbish elsewhere."""
    batch = torch.randint(vocabulary, keep.shape)
    for row, (real, kept) in enumerate(zip(rows, keep, strict=True)):
        batch[row, kept] = real
    return batch


patterns = {
    "right": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]],
    "left": [[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]],
    "middle": [[1, 0, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1]],
    "whole row": [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0]],
}


@every_model
@pytest.mark.parametrize("pattern", patterns)
@pytest.mark.parametrize("recording_gradients", [True, False])
def test_5_padding_and_other_rows_change_nothing(name, pattern, recording_gradients):
    model = make(name)
    keep = torch.tensor(patterns[pattern], dtype=torch.bool)
    rows = [tokens(1, int(kept.sum()))[0] for kept in keep]
    more = tokens(3, 3)
    with torch.set_grad_enabled(recording_gradients):
        sources = [some_source(1, steps).content[0] for steps in (4, 2, 6)]
        if name in CAPTIONERS:
            source = source_for(name, 3)
            sources, state = list(source.content), model.start(source)
        elif name in READS_A_SOURCE:
            real = torch.tensor([[0, 1, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0, 0], [1, 0, 1, 1, 1, 1, 1]], dtype=torch.bool)
            state = model.start(Source(spread(sources, real, SOURCE_VOCABULARY), real))
        else:
            state = model.start(batch=3)
        scores, state = model(spread(rows, keep, VOCABULARY), state, keep)
        next_scores, _ = model(more, state)  # without `keep`: all of these are real
        for row, (real, source) in enumerate(zip(rows, sources, strict=True)):
            alone = model.start(Source(source[None])) if name in READS_A_SOURCE else model.start()
            if len(real):
                expected, alone = model(real[None], alone)
                same(scores[row, keep[row]], expected[0], f"row {row}")
            same(next_scores[row], model(more[row : row + 1], alone)[0][0], f"after row {row}")


@every_model
def test_5_gradients_stay_finite_with_a_row_of_padding(name):
    model = make(name)
    keep = torch.tensor(patterns["whole row"], dtype=torch.bool)
    state = model.start(source_for(name, 3, keep), batch=3)
    scores, _ = model(tokens(3, 6), state, keep)
    scores[keep].logsumexp(-1).sum().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), path


@every_model
def test_6_traced_is_untraced(name):
    model = make(name)
    source, fed = source_for(name, 2), tokens(2, 7)

    def run():
        state = model.start(source, batch=2)
        return model(fed, state)

    scores, state = run()
    with regard.trace(model) as seen:
        traced, traced_state = run()
    same(scores, traced)
    same_state(state, traced_state)
    assert set(seen) == set(taps_of(model)), "every tap speaks"
    for path in seen:
        tap = seen.taps[path]
        assert len(tap.axes) == seen[path].dim()
        if tap.role == "weights":
            assert (seen[path] >= 0).all()
            same(seen[path].sum(-1), torch.ones_like(seen[path][..., 0]))
        if tap.role == "weights" and tap.rows == tap.columns == "written":
            assert torch.equal(seen[path], seen[path].tril()), "weight on what comes later"


@every_model
@pytest.mark.parametrize("pattern", ["right", "middle"])
def test_6_traced_is_untraced_with_padding_on_both_sides(name, pattern):
    model = make(name)
    keep, fed = torch.tensor(patterns[pattern], dtype=torch.bool), tokens(3, 6)
    source = source_for(name, 3, keep.flip(0))

    def run():
        state = model.start(source, batch=3)
        scores, state = model(fed, state, keep)
        return scores[keep], model(fed, state)[0]

    plain = run()
    with regard.trace(model) as seen:
        traced = run()
    for left, right in zip(plain, traced, strict=True):
        same(left, right)
    for path in seen:
        if seen.taps[path].role == "weights":
            sums = seen[path].sum(-1)  # 0 where a position is padding and may look at nothing
            assert ((sums - 1).abs().lt(1e-9) | sums.eq(0)).all(), path


@every_model
@torch.no_grad()
def test_6_a_trace_of_steps_is_a_trace_of_the_whole(name):
    model = make(name)
    state, fed = begin(model, name, 2), tokens(2, 6)
    with regard.trace(model) as whole:
        model(fed, state)
    with regard.trace(model) as steps:
        by_steps(model, fed, state)
    assert whole.keys() == steps.keys()
    for path in whole:
        seen = steps[path].isfinite()  # of what may not be looked at yet, the whole has scores and steps have −∞
        same(whole[path][seen], steps[path][seen], path)
        assert seen.all() or steps.taps[path].role == "scores"


@every_model
@torch.no_grad()
def test_14_a_tap_has_a_role_and_says_whose_rows_and_columns_it_has(name):
    """By sizes that differ: the tokens fed, one where a class is asked for; the tokens or regions that were read."""
    model, source = make(name), source_for(name, 2)
    fed = tokens(2, 1 if name.startswith("classifier") else 4)
    lengths = {"": None, "written": fed.shape[1]}
    if source is not None:
        lengths["source"] = model.encoder(source).vectors.shape[1]
    assert len(set(lengths.values())) == len(lengths), "sizes that cannot be told apart"
    with regard.trace(model) as seen:
        model(fed, model.start(source, batch=2))
    for path, tap in seen.taps.items():
        sizes = dict(zip(tap.axes, seen[path].shape, strict=True))
        assert tap.role in get_args(Role)
        assert (sizes["B"], sizes.get("T"), sizes.get("S")) == (2, lengths[tap.rows], lengths[tap.columns]), path
        if tap.role == "weights" and layer_of(path) != path:  # whoever has such a layer finds the rest of it by name
            assert seen.taps[f"{layer_of(path)}.mixed"].role == "mixed"
            assert seen.taps[f"{layer_of(path)}.values"].role == "values"


@every_model
def test_8_batched_is_single(name):
    model = make(name)
    source, fed = source_for(name, 4), tokens(4, 6)
    together, _ = model(fed, model.start(source, batch=4))
    for row in range(4):
        one = slice(row, row + 1)
        same(together[one], model(fed[one], model.start(one_of(source, row)))[0])


@every_model
def test_8_weights_in_another_model_of_the_same_config(name):
    model = make(name)
    other = (
        regard.build(MODELS[name], VOCABULARY, SOURCE_VOCABULARY if name in READS_A_SOURCE else None).double().eval()
    )
    other.load_state_dict(model.state_dict())
    fed, source = tokens(2, 5), source_for(name, 2)
    state, again = model.start(source, batch=2), other.start(source, batch=2)
    assert torch.equal(model(fed, state)[0], other(fed, again)[0])


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoid", "rotary"])
def test_9_self_attention_without_positions_is_permutation_equivariant(positions):
    settings = regard.Transformer(width=16, layers=2, heads=2, positions=positions, longest=8)
    layer = encoder_layer(settings).double().eval()
    x, order = torch.randn(2, 7, 16, dtype=torch.double), torch.tensor([3, 0, 6, 2, 5, 1, 4])
    y, _ = layer(x, None, layer.start(2))
    shuffled, _ = layer(x[:, order], None, layer.start(2))
    if positions == "none":
        same(shuffled, y[:, order])  # f(s(x)) = s(f(x))
    else:
        assert (shuffled - y[:, order]).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["lm-lstm", "lm-gru", "lm-rnn", "lm-transformer-rotary"])
@pytest.mark.parametrize("pattern", patterns)
def test_6_traced_is_untraced_in_float32_with_padding(name, pattern):
    """Torch picks other kernels in float32 than in float64; they obey as well, as far as float32 can tell."""
    model = make(name, torch.float32)
    keep = torch.tensor(patterns[pattern], dtype=torch.bool)
    fed = tokens(3, 6)
    scores, state = model(fed, model.start(batch=3), keep)
    with regard.trace(model):
        traced, traced_state = model(fed, model.start(batch=3), keep)
    torch.testing.assert_close(scores[keep], traced[keep], rtol=1e-4, atol=1e-5)
    more = tokens(3, 2)
    torch.testing.assert_close(model(more, state)[0], model(more, traced_state)[0], rtol=1e-4, atol=1e-5)
