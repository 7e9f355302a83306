"""Beside attention: laws of what a value's length, a gradient or a switch says."""

import pytest
import torch
from test_record import Letters, recorded
from torch import Tensor, nn
from zoo import CAPTIONERS, IN_STEP, LANGUAGE_MODELS, SEQ2SEQ, make

from regard import Source, UserError
from regard.config.looking import Recording
from regard.decode.score import score
from regard.layers.embedding import Embedding
from regard.layers.state import State
from regard.layers.tap import SOURCE, WRITTEN
from regard.look.attribution import (
    gradient_times_input,
    rollout,
    token_effects,
    value_norms,
)
from regard.look.patch import patch
from regard.look.record import Record
from regard.look.recording import of_text
from regard.look.trace import trace
from regard.look.units import Unit, clamped
from regard.models.model import Model


def pair(name: str):
    return make(name, torch.float32), recorded(name, Recording(answer="abc"))


class Linear(Model):
    """scores_t = W Σ_{i ≤ t} x_i: what each token adds is known."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.W = Embedding(11, 6), nn.Linear(6, 11, bias=False)

    def start(self, source: Source | None = None, batch: int = 1) -> State:
        return torch.zeros(batch, 6)

    def forward(self, tokens: Tensor, state: State, keep: Tensor | None = None) -> tuple[Tensor, State]:
        vectors = self.embedding(tokens)
        if keep is not None:
            vectors = vectors * keep[..., None]
        sums = state[:, None] + vectors.cumsum(1)
        return self.W(sums), sums[:, -1]


def test_gradient_times_input_is_exact_where_all_is_linear():
    model, writes = Linear(), Letters(11)
    record = of_text(model, (writes, writes), "abécab")
    found = gradient_times_input(model, record)[WRITTEN]
    ids = record.written.ids
    parts = model.W(model.embedding(ids[None, :-1]))[0]  # (T, V): what each token adds to every score
    for t in range(len(ids) - 1):
        torch.testing.assert_close(found[t, : t + 1], parts[: t + 1, ids[t + 1]].detach())
        assert (found[t, t + 1 :] == 0).all()
    scores, _ = model(ids[None, :-1], model.start())
    torch.testing.assert_close(found.sum(1), scores[0].gather(1, ids[1:, None])[:, 0].detach())


@pytest.mark.parametrize("name", [*LANGUAGE_MODELS, *SEQ2SEQ, *IN_STEP, *CAPTIONERS])
def test_gradients_reach_what_was_read_and_nothing_later(name):
    model, record = pair(name)
    found = gradient_times_input(model, record, steps=[0, 1] if name not in IN_STEP else [0])
    if name in LANGUAGE_MODELS | SEQ2SEQ:
        assert (found[WRITTEN][0, 1:] == 0).all()
    if name in SEQ2SEQ | IN_STEP:
        assert found[SOURCE].shape[1] == len(record.sequences[SOURCE].tokens)
        assert found[SOURCE].abs().max() > 0


@pytest.mark.parametrize("name", ["lm-transformer-none", "lm-transformer-additive"])
def test_rows_of_a_rollout_sum_to_1_and_see_nothing_later(name):
    found = rollout(recorded(name))
    torch.testing.assert_close(found.sum(1), torch.ones(len(found)))
    assert (found.triu(1) == 0).all()
    assert (found >= 0).all()


def test_a_rollout_written_out():
    record = recorded("seq2seq-transformer")
    first, second = (seen.values.mean(0) for seen in record.attention("encoder").values())
    eye = torch.eye(len(first))
    torch.testing.assert_close(rollout(record, "encoder"), (second + eye) / 2 @ ((first + eye) / 2))
    with pytest.raises(
        UserError, match=r"rollout wants attention within one sequence, found 'cross'; use self or encoder"
    ):
        rollout(record, "cross")


def test_the_length_of_values_by_the_matrix_itself():
    model, record = pair("seq2seq-transformer")
    path = "decoder.layer.blocks.1.cross_attention.weights"
    layer = model.get_submodule(path.removesuffix(".weights"))
    with trace(model, path, path.replace("weights", "values")) as seen:
        score(model, record.written.ids[None], model.start(record.source))
    weights, values = (seen[name][0] for name in (path, path.replace("weights", "values")))
    found = value_norms(model, record, path)
    for head in range(2):
        W = layer.output.weight[:, head * 8 : head * 8 + 8]  # D × L of this head
        torch.testing.assert_close(found[head], weights[head] * (values[head] @ W.T).norm(dim=-1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["seq2seq-rnn-attention", "classifier-bilstm-attention", "caption-rnn-attention"])
def test_without_a_matrix_it_is_the_length_of_the_value(name):
    model, record = pair(name)
    (path,) = record.attention("cross")
    found = value_norms(model, record, path)
    norms = found / record.seen[path].values
    assert (found >= 0).all()
    torch.testing.assert_close(norms, norms[:, :1].expand_as(norms), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "name", ["seq2seq-transformer", "seq2seq-gru-attention", "classifier-rnn-mean", "tagger-bilstm"]
)
def test_switching_off_a_token_is_asking_without_it(name):
    model, record = pair(name)
    found, ids = token_effects(model, record), record.sequences[SOURCE].ids
    before = score(model, record.written.ids[None], model.start(record.source))[0]
    for place in range(len(ids)):
        shorter = torch.cat([ids[:place], ids[place + 1 :]])[None]
        without = score(model, record.written.ids[None], model.start(Source(shorter)))[0]
        torch.testing.assert_close(found[:, place], without - before, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["lm-gru", "lm-transformer-rotary", "seq2seq-transformer"])
def test_what_is_written_acts_only_on_what_comes_after(name):
    model, record = pair(name)
    found = token_effects(model, record, WRITTEN)
    assert found[:, 0].abs().max() < 1e-5  # start stays
    for place in range(1, len(record.written.tokens) - 1):
        torch.testing.assert_close(found[:place, place], torch.zeros(place), rtol=0, atol=1e-5)
        assert found[place, place] != 0


def test_a_hidden_word_of_a_language_model_is_a_text_without_it():
    model, record = pair("lm-gru")
    ids = record.written.ids
    shorter = torch.cat([ids[:2], ids[3:]])[None]
    others = torch.tensor([place for place in range(len(ids) - 1) if place != 1])  # all but where it was said
    expected = score(model, shorter, model.start())[0] - score(model, ids[None], model.start())[0][others]
    torch.testing.assert_close(token_effects(model, record)[2:, 2], expected[1:], rtol=1e-3, atol=1e-5)


def test_regions_cannot_be_switched_off():
    model, record = pair("caption-rnn-attention")
    with pytest.raises(UserError, match="the regions of a picture cannot be switched off one by one"):
        token_effects(model, record)


@torch.no_grad()
def unit_effect(model: Model, record: Record, unit: Unit) -> Tensor:
    """Δ log p of every token said with a unit at 0."""
    before = score(model, record.written.ids[None], model.start(record.source))[0]
    with patch(model, clamped(unit)):
        return score(model, record.written.ids[None], model.start(record.source))[0] - before


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer-none", "seq2seq-transformer"])
def test_a_unit_that_nothing_reads_has_no_effect_and_others_have(name):
    model, record = pair(name)
    path = "layer.layers.1.hidden" if name == "lm-lstm" else "layer.blocks.1.feed_forward.units"
    path = f"decoder.{path}" if name.startswith("seq2seq") else path
    assert unit_effect(model, record, Unit(path, 3)).abs().max() > 1e-4
    with torch.no_grad():
        if name == "lm-lstm":
            model.layer.layers[1].W_hh.weight[:, 3] = 0
            model.head.W.weight[:, 3] = 0
        else:
            model.get_submodule(path.removesuffix(".units")).W_2.weight[:, 3] = 0
    assert unit_effect(model, record, Unit(path, 3)).abs().max() < 1e-6


def test_a_head_that_is_off():
    model, record = pair("seq2seq-transformer")
    layer = "decoder.layer.blocks.0.cross_attention"
    found = unit_effect(model, record, Unit(layer, 1, head=True))

    def silent(mixed: Tensor) -> Tensor:
        return torch.cat([mixed[:, :1], torch.zeros_like(mixed[:, 1:])], 1)

    before = score(model, record.written.ids[None], model.start(record.source))[0]
    with patch(model, {f"{layer}.mixed": silent}):
        after = score(model, record.written.ids[None], model.start(record.source))[0]
    torch.testing.assert_close(found, (after - before).detach())
    assert found.abs().max() > 0
