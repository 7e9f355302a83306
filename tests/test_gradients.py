"""How far back a loss can teach, against autograd on torch's own cells, and where the answer is known."""

import pytest
import torch
import torch.nn.functional as F
from test_record import MODELS, recorded
from zoo import make

import regard
from regard import LanguageModel, Recurrent
from regard.config.looking import Recording
from regard.look.gradients import furthest, memory
from regard.look.recording import of_text
from regard.text import train_tokenizer

TEXT = "a b c d e f g h i j"


def simple(scale: float = 1.0) -> tuple[regard.Model, object]:
    """A vanilla RNN in which tanh hardly bends and W_hh turns h and changes its length by `scale`."""
    tokenizer = train_tokenizer("characters", [TEXT])
    model = regard.build(LanguageModel(Recurrent("rnn", width=8, layers=1)), tokenizer.vocabulary).double().eval()
    cell = model.layer.layers[0]
    with torch.no_grad():
        cell.W_hx.weight.mul_(1e-5)
        cell.W_hh.weight.copy_(torch.nn.init.orthogonal_(torch.empty(8, 8, dtype=torch.double)) * scale)
    return model, tokenizer


@pytest.mark.parametrize("scale", [1.0, 0.5, 1.2])
def test_the_known_decay_of_a_matrix_that_turns_and_shrinks(scale):
    model, tokenizer = simple(scale)
    record = of_text(model, (tokenizer, tokenizer), TEXT)
    curve = memory(model, record)["layer.layers.0.hidden"].double()
    ratios = curve[1:] / curve[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, scale), rtol=1e-4, atol=0)


def test_the_same_as_autograd_through_torchs_own_rnn():
    model, tokenizer = simple(0.9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    record = of_text(model, (tokenizer, tokenizer), TEXT)
    cell, peer = model.layer.layers[0], torch.nn.RNN(8, 8, batch_first=True).double()
    for name, value in (("weight_ih_l0", cell.W_hx.weight), ("bias_ih_l0", cell.W_hx.bias),
                        ("weight_hh_l0", cell.W_hh.weight), ("bias_hh_l0", cell.W_hh.bias)):  # fmt: skip
        getattr(peer, name).data.copy_(value.data)
    ids = record.written.ids
    vectors = model.embedding(ids[None, :-1])
    hidden, h = [], torch.zeros(1, 1, 8, dtype=torch.double)
    for t in range(vectors.shape[1]):
        _, h = peer(vectors[:, t : t + 1], h)
        h = h.detach().requires_grad_() if not hidden else h
        hidden.append(h)
        h.retain_grad()
    scores = model.head(torch.cat(hidden, 1)[0], model.embedding)
    losses = F.cross_entropy(scores, ids[1:], reduction="none")
    expected = []
    for t in range(len(losses) - 3, len(losses)):
        norms = torch.stack([g.norm() for g in torch.autograd.grad(losses[t], hidden[: t + 1], retain_graph=True)])
        expected.append(norms.flip(0)[: len(losses) - 2])
    found = memory(model, record, several=3)["layer.layers.0.hidden"].double()
    torch.testing.assert_close(found, torch.stack(expected).mean(0), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_curves(name):
    """At k = 0 something comes back; nothing is negative; and some place reaches further than the last step."""
    record = recorded(name, Recording(answer="abc"))
    curves = memory(make(name, torch.float32), record, several=2)
    for curve in curves.values():
        assert (curve >= 0).all()
        assert curve.isfinite().all()
    best = curves[furthest(curves)]
    assert best[0] > 0 or best[1:].max() > 0
    assert best[1:].max() > 0


def test_behind_the_last_attention_a_position_speaks_for_itself():
    curves = memory(make("lm-transformer-none", torch.float32), recorded("lm-transformer-none"))
    assert list(curves) == ["embedding.vectors", "layer.blocks.0.hidden", "layer.blocks.1.hidden"]
    assert curves["layer.blocks.1.hidden"][1:].max() == 0
    assert furthest(curves) == "layer.blocks.0.hidden"
