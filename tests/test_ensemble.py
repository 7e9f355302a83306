"""An ensemble is a model like any other: it obeys the laws, and its probabilities are the mean of its members'."""

import pytest
import torch
from asserting import same, same_state
from zoo import LANGUAGE_MODELS, MODELS, make, one_of, source_for, tokens

from regard import LanguageModel, Model, Recurrent, State, build, select
from regard.decode.choose import argmax
from regard.decode.rules import Bounds
from regard.decode.stream import stream
from regard.errors import UserError
from regard.layers.state import leaves, map_state
from regard.models.ensemble import Ensemble

MIXED = {
    "alike": ("lm-lstm", "lm-lstm"),
    "language models": ("lm-lstm", "lm-transformer-rotary", "lm-gru"),
    "a transducer among them": ("transducer-bilstm", "seq2seq-bilstm-additive"),
    "translators": ("seq2seq-transformer", "seq2seq-rnn-attention", "seq2seq-lstm-fixed"),
}
every_mixture = pytest.mark.parametrize("names", MIXED.values(), ids=MIXED)


def together(names: tuple[str, ...]) -> tuple[Ensemble, list[Model]]:
    """Members of the same kind differ in their weights."""
    members = [make(name) for name in names]
    with torch.no_grad():
        for number, member in enumerate(members):
            for parameter in member.parameters():
                parameter.mul_(1 + 0.1 * number)
    return Ensemble(members), members


def begin(model: Model, names: tuple[str, ...], batch: int) -> State:
    return model.start(source_for(names[0], batch), batch)


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_of_one_model_is_that_model(name):
    model, fed = make(name), tokens(3, 5)
    source = source_for(name, 3)
    scores, state = Ensemble([model])(fed, Ensemble([model]).start(source, 3))
    expected, expected_state = model(fed, model.start(source, 3))
    same(scores, expected.log_softmax(-1))
    same_state(state, (expected_state,))


@every_mixture
@torch.no_grad()
def test_scores_are_the_log_of_the_mean_of_probabilities(names):
    ensemble, members = together(names)
    source, fed = source_for(names[0], 2), tokens(2, 6)
    scores, _ = ensemble(fed, ensemble.start(source, 2))
    each = [member(fed, member.start(source, 2))[0].softmax(-1) for member in members]
    same(scores, torch.stack(each).mean(0).log())
    same(scores.exp().sum(-1), torch.ones(2, 6, dtype=torch.double))
    assert not torch.allclose(each[0], each[1], atol=1e-3)


@torch.no_grad()
def test_members_that_are_very_sure_have_finite_scores():
    ensemble, members = together(("lm-rnn", "lm-lstm"))
    for member in members:
        for parameter in member.head.parameters():
            parameter.mul_(1e5)
    scores, _ = ensemble(tokens(2, 4), ensemble.start(batch=2))
    assert scores.isfinite().all()


@every_mixture
def test_it_grows_with_whoever_grows_and_ends_where_the_first_ends(names):
    ensemble, members = together(names)
    assert ensemble.grows == any(member.grows for member in members)
    assert ensemble.longest is None
    members[-1].longest, members[0].longest = 5, 7
    assert Ensemble(members).longest == 5


@every_mixture
@torch.no_grad()
def test_forward_is_steps_and_reading(names):
    ensemble, _ = together(names)
    state, fed = begin(ensemble, names, 3), tokens(3, 7)
    scores, end = ensemble(fed, state)
    last, end_of_reading = ensemble.prefill(fed, state)
    same(last, scores[:, -1])
    same_state(end_of_reading, end)
    for place in range(7):
        one, state = ensemble.step(fed[:, place], state)
        same(one, scores[:, place])
    same_state(end, state)


@every_mixture
@torch.no_grad()
def test_select_commutes_with_step(names):
    ensemble, _ = together(names)
    _, state = ensemble(tokens(3, 4), begin(ensemble, names, 3))
    token, rows = tokens(3, 1)[:, 0], torch.tensor([2, 0, 2])
    scores, after = ensemble.step(token, state)
    chosen, after_chosen = ensemble.step(token[rows], select(state, rows))
    same(chosen, scores[rows])
    same_state(after_chosen, select(after, rows))


@every_mixture
@torch.no_grad()
def test_a_state_is_never_written_to(names):
    ensemble, _ = together(names)
    _, state = ensemble(tokens(2, 4), begin(ensemble, names, 2))
    _, state = ensemble.step(tokens(2, 1)[:, 0], state)
    kept = map_state(torch.clone, state)
    one, other = tokens(2, 2).unbind(1)
    _, future = ensemble.step(one, state)
    future_kept = map_state(torch.clone, future)
    ensemble.step(other, state)
    for before, after in zip(leaves((kept, future_kept)), leaves((state, future)), strict=True):
        assert torch.equal(before, after)


@every_mixture
@torch.no_grad()
def test_padding_and_other_rows_change_nothing(names):
    ensemble, _ = together(names)
    keep = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 1]], dtype=torch.bool)
    source, fed = source_for(names[0], 3), tokens(3, 5)
    scores, _ = ensemble(fed, ensemble.start(source, 3), keep)
    for row in range(3):
        alone = ensemble.start(one_of(source, row))
        same(scores[row, keep[row]], ensemble(fed[row, None, keep[row]], alone)[0][0])


@torch.no_grad()
def test_it_decodes_like_any_model():
    """Two of the same say what one says."""
    model, prompt = make("lm-lstm"), tokens(3, 4)
    both = Ensemble([model, make("lm-lstm")])
    one, two = (
        torch.stack(list(stream(some, prompt, some.start(batch=3), argmax, Bounds(limit=9, stop=-1))))
        for some in (model, both)
    )
    assert one.equal(two)


def test_its_weights_are_those_of_its_members():
    ensemble, members = together(("lm-lstm", "lm-gru"))
    assert len(list(ensemble.parameters())) == sum(len(list(member.parameters())) for member in members)


def test_vocabularies_must_agree():
    other = build(LanguageModel(Recurrent("gru", width=8, layers=1)), 14).double()
    ensemble = Ensemble([make(next(iter(LANGUAGE_MODELS))), other])
    with pytest.raises(UserError) as error:
        ensemble(tokens(1, 3), ensemble.start())
    assert str(error.value) == (
        "the models of an ensemble must write the same vocabulary, found sizes 11, 14; "
        "train them with the same tokenizer"
    )


def test_an_ensemble_of_nobody():
    with pytest.raises(UserError) as error:
        Ensemble([])
    assert str(error.value) == "an ensemble must have at least one model, found none"
