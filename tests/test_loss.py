"""The loss over a vocabulary, some positions at a time: torch's own, in the room that the scores have."""

import pytest
import torch
import torch.nn.functional as F

from regard.data.batch import IGNORED
from regard.evaluate import loss

POSITIONS, WORDS = 2 * loss.AT_ONCE + 7, 11


def nats(scores, wanted, smoothing=0.0):
    """Σ_n −log p(wanted_n), as a training computes it."""
    return loss.in_parts(scores, lambda some, at: loss.cross_entropy(some, wanted[at], smoothing))


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
    assert torch.equal(pieces.grad, whole.grad)


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
