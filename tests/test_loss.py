"""The loss over a vocabulary, some positions at a time: torch's own, in the room that the scores have."""

import pytest
import torch
import torch.nn.functional as F

from regard.data.batch import IGNORED
from regard.evaluate import loss

POSITIONS, WORDS = 2 * loss.AT_ONCE + 7, 11


def nats(scores, wanted, smoothing=0.0):
    """Σ_n −log p(wanted_n), as a training computes it."""
    return loss.in_parts(scores, loss.CrossEntropy(wanted, smoothing))


def given(kind=torch.float32):
    made = torch.Generator().manual_seed(0)
    scores = torch.randn(POSITIONS, WORDS, generator=made).to(kind)
    wanted = torch.randint(WORDS, (POSITIONS,), generator=made)
    wanted[::5] = IGNORED
    return scores, wanted


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradient_are_torchs_own(smoothing, kind):
    scores, wanted = given(kind)
    whole, pieces = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    theirs = F.cross_entropy(whole.float(), wanted, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing)
    ours = nats(pieces * 1, wanted, smoothing)  # * 1: not a leaf, as a model's scores are not
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)
    torch.testing.assert_close(nats(scores, wanted, smoothing), theirs.detach(), rtol=1e-6, atol=0)
    (theirs / 64).backward()  # a power of two, so that no rounding depends on when it is divided
    (ours / 64).backward()
    assert pieces.grad.dtype == kind
    ulp = torch.finfo(kind).eps  # e to the power of log p is not rounded as torch's own backward pass rounds it
    torch.testing.assert_close(pieces.grad, whole.grad, rtol=max(ulp, 2e-6), atol=1e-9)


def test_a_loss_without_a_gradient_leaves_the_scores_alone():
    scores, wanted = given()
    before = scores.clone()
    nats(scores, wanted, 0.1)
    assert torch.equal(scores, before)


def test_the_gradient_stands_where_the_scores_stood():
    scores, wanted = given()
    made, handed_on = scores.requires_grad_() * 1, []
    made.register_hook(lambda gradient: handed_on.append(gradient.data_ptr()))
    nats(made, wanted).backward()
    assert handed_on == [made.data_ptr()]


def test_who_still_needs_the_scores_is_told():
    scores, wanted = given()
    made = scores.requires_grad_().exp()  # its gradient is made of its own result
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        nats(made, wanted).backward()


def test_a_gradient_is_handed_on_once():
    scores, wanted = given()
    found = nats(scores.requires_grad_() * 1, wanted)
    found.backward(retain_graph=True)
    with pytest.raises(AttributeError, match="gradient"):
        found.backward()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("learning", [True, False])
def test_all_parts_are_computed_in_one_room(kind, learning):
    scores = torch.randn(32 * loss.AT_ONCE, 20 * WORDS).to(kind).requires_grad_(learning) * 1
    with torch.profiler.profile(profile_memory=True) as seen:
        nats(scores, torch.zeros(len(scores), dtype=torch.long), 0.1)
    taken = sum(max(0, event.self_cpu_memory_usage) for event in seen.events())
    assert 0 < taken < scores.numel(), "bytes of new tensors, all in all: a quarter of the scores in 32 bits"


def test_what_torch_finds_the_gradient_of_is_the_same():
    scores, wanted = given()
    ours, theirs = scores.clone(), scores.clone()
    measure = loss.CrossEntropy(wanted, 0.1)
    torch.testing.assert_close([*measure.in_place(ours)], [*loss.by_torch(theirs, measure)])
    torch.testing.assert_close(ours, theirs)
