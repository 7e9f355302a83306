"""Consistency: the second reading is the first one with words cut, and what it adds is α KL(p ‖ p')."""

import pytest
import torch
import torch.nn.functional as F
import zoo

from regard.config import Train
from regard.data.batch import IGNORED, Batch
from regard.errors import UserError
from regard.evaluate.consistency import Consistent
from regard.evaluate.loss import Objective
from regard.layers.tap import listen
from regard.training.objective import objective

SIZE, LONG, CUT, WEIGHT = 3, 4, 0.4, 3.0


def batch_for(name: str) -> Batch:
    """Rows of several lengths; a captioner's all answer one of two pictures."""
    torch.manual_seed(3)
    tokens, targets = zoo.tokens(SIZE, LONG), zoo.tokens(SIZE, LONG)
    if name not in zoo.READS_A_SOURCE:
        return Batch(tokens, targets)
    keep = torch.arange(LONG) < torch.tensor([4, 2, 3])[:, None]
    source = zoo.source_for(name, SIZE)
    batch = Batch(tokens, targets.where(keep, IGNORED), keep, source.content)
    if name in zoo.CAPTIONERS:
        return batch._replace(source=batch.source[:2], source_row=torch.tensor([0, 1, 1]))
    return batch._replace(source_keep=torch.ones_like(batch.source, dtype=torch.bool))


def state_for(model, name: str):
    return None if name in zoo.READS_A_SOURCE else model.start(batch=SIZE)


def gradients(model):
    return {path: p.grad.clone() for path, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", zoo.MODELS)
def test_with_nothing_cut_and_nothing_dropped_nothing_is_added(name):
    found = []
    for consistent in (False, True):
        model, batch = zoo.make(name), batch_for(name)
        learning = Objective(model, 0.1, torch.float32)
        learning = Consistent(learning, WEIGHT, 0.0) if consistent else learning
        model.eval()  # nothing is dropped, while the objective is one of training
        outcome = learning(batch, state_for(model, name))
        outcome.loss.backward()
        found.append((outcome.loss.detach(), gradients(model)))
    (plain, wanted), (loss, given) = found
    torch.testing.assert_close(loss, plain, rtol=1e-5, atol=1e-5)
    assert given.keys() == wanted.keys()
    for path in wanted:
        torch.testing.assert_close(given[path], wanted[path], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["lm-gru", "lm-transformer-as-llama", "seq2seq-bilstm-additive", "seq2seq-transformer", "tagger-bilstm",
     "classifier-bilstm-attention", "transducer-bilstm", "caption-transformer"],
)  # fmt: skip
def test_loss_and_gradient_are_those_of_two_readings(name):
    """A reference in plain words: read, read again with the same words cut, Σ p (log p − log p')."""
    model, batch = zoo.make(name), batch_for(name)
    ours = Consistent(Objective(model, 0.0, torch.float32), WEIGHT, CUT)
    model.eval()
    torch.manual_seed(7)
    loss = ours(batch, state_for(model, name)).loss
    loss.backward()
    given = gradients(model)
    model.zero_grad()

    plain = Objective(model, 0.0, torch.float32)
    cuts = [0]

    def cut(vectors):
        drawn = torch.rand(2 * len(vectors), vectors.shape[1])[len(vectors) :] < CUT
        cuts[0] += int(drawn.sum())
        return vectors.masked_fill(drawn[..., None], 0.0)

    whole, _ = plain.read(batch, state_for(model, name))
    torch.manual_seed(7)
    with listen({tap: cut for path, tap in model.named_modules() if path.endswith("embedding.vectors")}):
        less, _ = plain.read(batch, state_for(model, name))
    assert cuts[0]
    there = batch.targets != IGNORED
    p, q = whole[there].softmax(-1), less[there].softmax(-1)
    wanted = F.nll_loss(p.log(), batch.targets[there], reduction="sum") + WEIGHT * (p * (p.log() - q.log())).sum()
    wanted.backward()
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-5)
    for path, one in gradients(model).items():
        torch.testing.assert_close(given[path], one, rtol=1e-4, atol=1e-4)


def test_it_is_for_training_only_and_off_unless_asked_for():
    model, batch = zoo.make("lm-gru", torch.float32), batch_for("lm-gru")
    assert type(objective(model, Train(), torch.float32)) is Objective
    asked = objective(model, Train(consistency=3.0), torch.float32)
    assert (asked.weight, asked.cut) == (3.0, 0.05)
    state = state_for(model, "lm-gru")
    assert asked.eval()(batch, state).loss == Objective(model, 0.0, torch.float32).eval()(batch, state).loss


def test_student_forcing_is_another_thing():
    with pytest.raises(UserError, match="consistency compares two answers to the same words, and student feeds others"):
        Train(consistency=1.0, student=0.2)
