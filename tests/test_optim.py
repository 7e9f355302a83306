"""How weights move, against torch's own optimisers where there are any."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
import zoo
from torch import nn

from regard import build
from regard.config import Train
from regard.training.optim import Muon, Together, optimiser, orthogonal
from regard.training.schedule import rate_at

shapes = pytest.mark.parametrize("shape", [(24, 24), (64, 16), (16, 64), (1, 8)])


@pytest.mark.parametrize("name", zoo.MODELS)
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_only_matrices_decay(kind, name):
    model = build(zoo.MODELS[name], 11, 13 if name in zoo.READS_A_SOURCE else None)
    groups = optimiser(model, Train(decay=0.07, optimiser=kind)).param_groups
    decay = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    assert len(decay) == sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    for path, parameter in model.named_parameters():
        whole = parameter.dim() < 2 or "lookup" in path or path.endswith("table")
        assert decay[id(parameter)] == (0.0 if whole else 0.07), path
    assert set(decay.values()) == {0.0, 0.07}


def test_rates():
    cosine = Train(steps=100, warmup=10, rate=0.5)
    assert [rate_at(step, cosine) for step in (0, 4, 9, 10)] == pytest.approx([0.05, 0.25, 0.5, 0.5])
    assert [rate_at(step, cosine) for step in (55, 100, 500)] == pytest.approx([0.25, 0, 0])
    assert rate_at(99, cosine) > 0, "the last update must still move something"
    root = replace(cosine, schedule="inverse-square-root")
    assert [rate_at(step, root) for step in (4, 9, 39, 999)] == pytest.approx([0.25, 0.5, 0.25, 0.05])
    constant = replace(cosine, schedule="constant")
    assert [rate_at(step, constant) for step in (4, 9, 50, 5000)] == pytest.approx([0.25, 0.5, 0.5, 0.5])
    assert rate_at(0, replace(cosine, warmup=0)) == 0.5
    assert rate_at(5, Train(steps=3, warmup=10)) < Train().rate, "a warm-up may be longer than the training"


# Muon


@shapes
def test_every_direction_becomes_about_as_long(shape):
    torch.manual_seed(0)
    matrix = torch.randn(shape) * torch.logspace(0, -1, shape[1])  # some directions much longer than others
    u, sizes, v = torch.linalg.svd(matrix, full_matrices=False)
    inside = u.T @ orthogonal(matrix) @ v.T
    assert sizes.max() / sizes.min() > 2 or shape[0] == 1
    assert ((inside.diag() > 0.4) & (inside.diag() < 1.4)).all()
    assert (inside - inside.diag().diag()).abs().max() < 0.1, "no other directions"


@shapes
def test_muon_moves_as_torchs_own(shape):
    """Theirs computes in 16 bits, ours where the processor has them: the same to what 16 bits can tell."""
    torch.manual_seed(0)
    start = torch.randn(shape)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    mine = Muon([ours], rate=0.05, decay=0.1)
    other = torch.optim.Muon([theirs], lr=0.05, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(5):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        mine.step()
        other.step()
    moved = (theirs - start).norm()
    assert (ours - theirs).norm() < 0.02 * moved


def test_muon_computes_in_32_bits_where_there_are_no_16(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    torch.manual_seed(0)
    matrix = torch.randn(8, 8)
    exact = orthogonal(matrix.double())
    torch.testing.assert_close(orthogonal(matrix), exact.float(), rtol=1e-4, atol=1e-4)


def test_tables_heads_and_biases_stay_with_adamw():
    model = zoo.make("seq2seq-transformer", torch.float32)
    muon, adam = optimiser(model, Train(optimiser="muon")).parts
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    inner = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    outer = {names[id(p)] for group in adam.param_groups for p in group["params"]}
    assert inner | outer == set(names.values())
    assert not inner & outer
    assert all(".layer." in name and name.endswith("weight") for name in inner)
    assert all("head" in name or "lookup" in name or "norm" in name or name.endswith("bias") for name in outer)


def test_two_optimisers_are_one_from_outside():
    """The rate that is set, and the memory that is saved and loaded, reach both."""
    torch.manual_seed(0)
    first, second = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))

    def both():
        return Together(Muon([first], rate=0.1, decay=0.0), torch.optim.AdamW([second], lr=0.1, weight_decay=0.0))

    def some_steps(one, number):
        for _ in range(number):
            torch.manual_seed(number)
            first.grad, second.grad = torch.randn(4, 4), torch.randn(4)
            one.step()
        return first.detach().clone(), second.detach().clone()

    one = both()
    some_steps(one, 3)
    saved, weights = deepcopy(one.state_dict()), (first.detach().clone(), second.detach().clone())
    expected = some_steps(one, 2)
    with torch.no_grad():
        first.copy_(weights[0])
        second.copy_(weights[1])
    other = both()
    other.load_state_dict(saved)
    assert [torch.equal(a, b) for a, b in zip(some_steps(other, 2), expected, strict=True)] == [True, True]
    for group in other.param_groups:
        group["lr"] = 0.0
    assert [torch.equal(a, b) for a, b in zip(some_steps(other, 1), expected, strict=True)] == [True, True]
