"""Eight bits in the native engine: right for any input, on every level of instructions, and close where it matters."""

import pytest
import torch
from test_engine import HERE, by_steps, each_level, loaded
from torch import Tensor
from zoo import begin, make, tokens

import regard
from regard.engine.binding import Binding
from regard.engine.library import Library
from regard.engine.native import Native, Runner
from regard.engine.tape import Tape
from regard.models import precision
from regard.models.precision import with_precision

BLOCK = 32  # inputs that share a scale


def product(library: Library, weight: Tensor, x: Tensor, bias: Tensor | None = None, whole: bool = True) -> Tensor:
    """W x + b for every row of x, which the tape looks up as if it were an embedding."""
    tape = Tape(library)
    columns = tape.columns(x.shape[1])
    tape.embed(x, 1.0, columns)
    tape.scores(weight, bias, whole, columns)
    rows, out = torch.arange(len(x))[:, None], torch.empty(len(x), len(weight))
    bound, nothing = Binding(length=1), torch.zeros(len(x), dtype=torch.long)
    bound.seen = bound.hold(nothing)
    Runner(tape, len(tape.operations), len(weight)).run(rows, None, bound, out, False)
    return out


def in_whole_numbers(weight: Tensor, x: Tensor) -> Tensor:
    """What the engine is to compute, in float64: W = s_o n, x = s_b m, each rounded to the nearest."""
    weight, x = weight.double(), x.double()
    scale = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-30)
    blocks = torch.nn.functional.pad(x, (0, -x.shape[1] % BLOCK)).unflatten(1, (-1, BLOCK))
    step = blocks.abs().amax(2, keepdim=True) / 127
    rounded = (torch.nan_to_num(blocks / step).round() * step).flatten(1)[:, : x.shape[1]]
    return rounded @ ((weight / scale).round() * scale).T


@each_level
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"), [(1, 1, 1), (1, 31, 33), (2, 64, 100), (3, 517, 70), (17, 96, 257)]
)
def test_products_in_whole_numbers_are_exact(rows, inputs, outputs, level):
    torch.manual_seed(rows)
    weight, x, bias = torch.randn(outputs, inputs), torch.randn(rows, inputs) * 3, torch.randn(outputs)
    found = product(loaded(level), weight, x, bias).double()
    wanted = in_whole_numbers(weight, x) + bias
    near_a_half = 2e-3 * weight.abs().sum(1).max()  # a number on the edge may round the other way in float32
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=float(near_a_half))
    assert (found - wanted).abs().median() < 1e-4


@each_level
@pytest.mark.parametrize("inputs", [32, 517, 8192])
def test_no_input_overflows(inputs, level):
    """Every number at its largest, all signs as bad as can be: sums of 16 and 32 bits would wrap around here."""
    signs = torch.randint(2, (1, inputs)).float() * 2 - 1
    weight = torch.cat([signs, -signs, torch.ones(1, inputs), -torch.ones(1, inputs)])
    x = torch.cat([signs, -signs, torch.ones(1, inputs), -torch.ones(1, inputs)]) * 1e3
    found = product(loaded(level), weight, x)
    torch.testing.assert_close(found.double(), x.double() @ weight.double().T, rtol=1e-5, atol=1e-2)
    assert found[0, 0] == pytest.approx(inputs * 1e3, rel=1e-5)


@each_level
def test_numbers_that_are_none_stay_none_and_tiny_ones_vanish(level):
    weight, x = torch.randn(40, 70), torch.randn(5, 70)
    x[1, 3], x[2, 3], x[3, 3], x[4] = torch.inf, -torch.inf, torch.nan, 1e-38
    found = product(loaded(level), weight, x)
    assert found[0].isfinite().all()
    assert not found[1:4].isfinite().any()
    assert (found[4].abs() < 1e-30).all()


@each_level
def test_rows_of_zeros_are_zeros(level):
    weight, bias = torch.randn(40, 64), torch.randn(40)
    weight[7] = 0
    found = product(loaded(level), weight, torch.cat([torch.zeros(1, 64), torch.randn(1, 64)]), bias)
    assert torch.equal(found[0], bias)
    assert found[1, 7] == bias[7]


@each_level
@pytest.mark.parametrize("whole", [False, True], ids=["float32", "int8"])
def test_rows_do_not_depend_on_how_many_there_are(whole, level):
    library, weight, x = loaded(level), torch.randn(300, 200), torch.randn(70, 200)
    together = product(library, weight, x, whole=whole)
    for rows in (1, 2, 3, 5, 8, 13):
        assert torch.equal(product(library, weight, x[:rows], whole=whole), together[:rows])


@pytest.mark.parametrize("name", ["lm-transformer-as-gpt2", "seq2seq-transformer", "seq2seq-gru-attention", "lm-lstm"])
@torch.no_grad()
def test_models_in_8_bits_are_close_and_passes_are_their_steps(name, monkeypatch):
    monkeypatch.setattr(precision, "WORTH_IT", 1)
    library = loaded(HERE[0])
    model = make(name, torch.float32)
    rough = Native(with_precision(make(name, torch.float32), "int8"), library).eval()
    torch.manual_seed(3)
    fed, state = tokens(3, 6), begin(model, name, 3)
    torch.manual_seed(3)
    tokens(3, 6)
    mine = begin(rough, name, 3)
    exact, found = by_steps(model, fed, state)[0].log_softmax(-1), by_steps(rough, fed, mine)[0].log_softmax(-1)
    assert 0 < (exact - found).abs().mean() < 0.06
    assert (rough(fed, mine)[0].log_softmax(-1) - found).abs().mean() < 0.06


def test_what_a_trained_model_would_say_stays_in_8_bits(monkeypatch):
    """Teacher-forced, the best token is the same at 99 of 100 places."""
    monkeypatch.setattr(precision, "WORTH_IT", 1)
    library = loaded(HERE[0])
    torch.manual_seed(0)
    model = regard.build(regard.LanguageModel(regard.Transformer(width=64, layers=2, heads=4, dropout=0.0)), 40)
    table = torch.randint(40, (40, 3))  # what may follow what: a language that can be learnt

    def text(rows: int) -> Tensor:
        made = [torch.randint(40, (rows,))]
        for _ in range(31):
            choice = (torch.rand(rows) < 0.7).long() + (torch.rand(rows) < 0.2).long()
            made.append(table[made[-1], choice])
        return torch.stack(made, 1)

    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(150):
        fed = text(32)
        scores, _ = model(fed[:, :-1], model.start(batch=32))
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), fed[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    fed = text(64)
    with torch.no_grad():
        exact = model.eval()(fed, model.start(batch=64))[0].argmax(-1)
        rough = Native(with_precision(model, "int8"), library).eval()
        found = rough(fed, rough.start(batch=64))[0].argmax(-1)
    assert loss < 1.3, "it has not learnt"
    assert (exact == found).float().mean() >= 0.99
