"""Looking in and changing what is inside, by path."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from zoo import begin, make, some_source, tokens

import regard

ROOT = Path(__file__).parent.parent


def test_shapes_of_what_a_trace_holds():
    model = make("seq2seq-transformer")
    with regard.trace(model) as seen:
        model(tokens(2, 4), model.start(some_source(2, 5)))
    assert seen["decoder.layer.blocks.1.self_attention.weights"].shape == (2, 2, 4, 4)  # B, H, T, S
    assert seen["decoder.layer.blocks.1.cross_attention.weights"].shape == (2, 2, 4, 5)
    assert seen["encoder.layer.blocks.0.self_attention.keys"].shape == (2, 2, 5, 8)
    assert seen["decoder.layer.blocks.0.feed_forward.units"].shape == (2, 4, 64)
    tap = seen.taps["decoder.layer.blocks.0.cross_attention.weights"]
    assert (tap.axes, tap.role, tap.rows, tap.columns) == (["B", "H", "T", "S"], "weights", "written", "source")


def test_gates_and_cells_of_an_lstm_satisfy_its_equations():
    model = make("lm-lstm")
    with regard.trace(model) as seen:
        model(tokens(2, 6), model.start(batch=2))
    of = {path.rsplit(".", 1)[-1]: seen[path] for path in seen if path.startswith("layer.layers.1.")}
    before = torch.cat([torch.zeros(2, 1, 12, dtype=torch.double), of["cells"][:, :-1]], 1)
    torch.testing.assert_close(of["cells"], of["forget_gate"] * before + of["input_gate"] * of["candidate"])
    torch.testing.assert_close(of["hidden"], of["output_gate"] * torch.tanh(of["cells"]))


def test_a_trace_of_the_layer_that_reads_backwards_runs_forwards():
    model = make("seq2seq-bilstm-dot")
    source = some_source(1, 5)
    with regard.trace(model, "encoder.layer.layers.0.*") as seen:
        model.start(source)
    backwards = seen["encoder.layer.layers.0.backwards.hidden"]
    shorter = regard.Source(source.content[:, 2:])  # reading from the right has not seen what is left of here
    with regard.trace(model, "encoder.layer.layers.0.*") as seen_shorter:
        model.start(shorter)
    torch.testing.assert_close(backwards[:, 2:], seen_shorter["encoder.layer.layers.0.backwards.hidden"])


def test_attention_of_a_recurrent_decoder_is_a_matrix_over_the_source():
    model = make("seq2seq-rnn-attention")
    with regard.trace(model, "*.weights") as seen:
        model(tokens(2, 4), model.start(some_source(2, 5)))
    assert list(seen) == ["decoder.layer.attention.weights"]
    assert seen["decoder.layer.attention.weights"].shape == (2, 1, 4, 5)
    assert len(seen.calls["decoder.layer.attention.weights"]) == 4


def test_a_recurrent_decoder_asks_with_its_last_state():
    """e_{t,i} = f_att(s_{t−1}, h_i): the query at t is what the decoder put out at t − 1, and s_0 at first."""
    model = make("seq2seq-rnn-attention")
    state = model.start(some_source(2, 5))
    with regard.trace(model, "decoder.*") as seen:
        model(tokens(2, 4), state)
    asked = seen["decoder.layer.attention.queries"][:, 0]
    said = seen["decoder.layer.decoder.layers.1.hidden"]
    torch.testing.assert_close(asked[:, 1:], said[:, :-1])
    torch.testing.assert_close(asked[:, 0], state.cells[-1][0])


def test_clamping_a_cell_acts_on_what_follows():
    model = make("lm-lstm")
    fed, state = tokens(1, 6), model.start()

    def clamp(cells):
        cells = cells.clone()
        cells[..., 3] = 5.0
        return cells

    plain, _ = model(fed, state)
    with regard.patch(model, {"layer.layers.0.cells": clamp}), regard.trace(model, "layer.layers.0.*") as seen:
        changed, _ = model(fed, state)
    assert (seen["layer.layers.0.cells"][..., 3] == 5).all(), "a trace inside a patch sees what was written"
    assert (changed - plain).abs().max() > 1e-3
    assert torch.equal(model(fed, state)[0], plain), "nothing is left behind"


def test_uniform_attention_by_a_patch():
    model = make("lm-transformer-rotary")
    fed, state = tokens(1, 5), model.start()
    with regard.patch(model, {"*.weights": lambda a: a.sign() / a.sign().sum(-1, keepdim=True)}):
        patched, _ = model(fed, state)
        with regard.trace(model, "*.blocks.0.*.weights") as seen:
            model(fed, state)
    weights = seen["layer.blocks.0.self_attention.weights"]
    torch.testing.assert_close(weights[0, 0, 3, :4], torch.full((4,), 0.25, dtype=torch.double))
    assert (patched - model(fed, state)[0]).abs().max() > 1e-4


def test_two_threads_do_not_hear_each_other():
    model = make("lm-transformer-rotary")
    fed, state = tokens(1, 4), model.start()
    plain = model(fed, state)[0]
    heard: list[bool] = []

    def elsewhere():
        heard.append(torch.equal(model(fed, state)[0], plain))

    with regard.trace(model) as seen, regard.patch(model, {"*.mixed": lambda mixed: mixed * 0}):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(seen) == 0
    assert heard == [True]


COMPILED = """
import torch, regard
model = regard.build(regard.LanguageModel(regard.Transformer(width=16, layers=2)), 11).eval()
fed = torch.randint(11, (2, 5))
scores = lambda fed: model(fed, model.start(batch=2))[0]
compiled = torch.compile(scores, backend="eager")
with regard.trace(model) as seen:
    print((compiled(fed) - scores(fed)).abs().max().item() < 1e-5)
print({len(calls) for calls in seen.calls.values()})
"""


def test_a_compiled_model_computes_the_same_and_hears_nobody():
    """In a process of its own, because the checking of shapes that every test has on cannot be compiled."""
    child = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, cwd=ROOT)
    assert child.stdout.split("\n")[:2] == ["True", "{1}"], child.stderr[-2000:]


def test_listeners_are_gone_after_an_error():
    model = make("lm-rnn")
    plain = model(tokens(1, 3), model.start())[0].shape

    def broken(value):
        raise RuntimeError("edit failed")

    with pytest.raises(RuntimeError, match="edit failed"), regard.patch(model, {"*.hidden": broken}):
        model(tokens(1, 3), model.start())
    assert model(tokens(1, 3), model.start())[0].shape == plain


def test_an_edit_of_another_shape():
    model = make("lm-rnn")
    with pytest.raises(regard.UserError) as error, regard.patch(model, {"layer.layers.0.hidden": lambda h: h[..., :3]}):
        model(tokens(2, 3), model.start(batch=2))
    assert str(error.value) == (
        "an edit at 'layer.layers.0.hidden' must give back float64 of shape [2, 1, 12], "
        "found float64 of shape [2, 1, 3]"
    )


def test_unknown_path():
    model = make("lm-rnn")
    with pytest.raises(regard.UserError) as error, regard.trace(model, "*.weights"):
        pass
    assert str(error.value) == (
        "no tap matches '*.weights'; give a path, a pattern of paths, or a role: embedding, hidden"
    )


def test_a_role_means_every_tap_that_has_it():
    model = make("seq2seq-transformer")
    with regard.trace(model, "weights") as by_role, regard.trace(model, "*.weights") as by_path:
        model(tokens(1, 3), model.start(some_source(1, 5)))
    assert list(by_role) == list(by_path)
    model = make("transducer-bilstm")  # its weights are those of no layer
    with regard.trace(model, "weights") as seen:
        model(tokens(1, 3), model.start(some_source(1, 5)))
    assert list(seen) == ["alignment"]


def test_gradients_can_be_read_at_a_tap():
    model = make("lm-lstm")
    with regard.trace(model, "*.hidden") as seen:
        scores, _ = model(tokens(1, 5), begin(model, "lm-lstm", 1))
    first = seen.calls["layer.layers.0.hidden"][0]
    (gradient,) = torch.autograd.grad(scores[0, -1].sum(), first)
    assert gradient.abs().max() > 0
