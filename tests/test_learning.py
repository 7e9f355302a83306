"""Real learning: every model learns to copy, reverse and sort digits it has not seen, in seconds."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from shapes import unchecked
from zoo import IN_STEP, LANGUAGE_MODELS, MODELS, SEQ2SEQ

from regard import Classifier, LanguageModel, Model, Source, build

DIGITS, START, STOP = 10, 10, 11
LENGTH = 3
TASKS = {
    "copy": lambda digits: digits,
    "reverse": lambda digits: digits.flip(1),
    "sort": lambda digits: digits.sort(1).values,
}
# Without positions a Transformer cannot tell orders apart: that is a claim of the notes, not a defect.
LEARNERS = [name for name in LANGUAGE_MODELS | SEQ2SEQ if name != "lm-transformer-none"]


def wider(layer):
    return replace(layer, width=48, dropout=0.0)


def learner(name: str) -> Model:
    config = MODELS[name]
    if isinstance(config, LanguageModel):
        config = replace(config, layer=wider(config.layer))
    else:
        config = replace(config, encoder=wider(config.encoder), decoder=wider(config.decoder))
    return build(config, DIGITS + 2)


def begin(model: Model, name: str, question: torch.Tensor) -> tuple[torch.Tensor, object]:
    """The first token to feed and the state that knows the question."""
    start = torch.full((len(question), 1), START)
    if name not in LANGUAGE_MODELS:
        return start, model.start(Source(torch.cat([question, torch.full_like(start, STOP)], 1)))
    _, state = model(question, model.start(batch=len(question)))
    return start, state


def loss_of(model: Model, name: str, question: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
    first, state = begin(model, name, question)
    scores, _ = model(torch.cat([first, answer], 1), state)
    wanted = torch.cat([answer, torch.full_like(first, STOP)], 1)
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())


@torch.no_grad()
def written(model: Model, name: str, question: torch.Tensor) -> torch.Tensor:
    """What the model writes by itself, always taking its best token."""
    token, state = begin(model, name, question)
    answer = []
    for _ in range(question.shape[1]):
        scores, state = model.step(token[:, 0], state)
        token = scores.argmax(-1, keepdim=True)
        answer.append(token)
    return torch.cat(answer, 1)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", LEARNERS)
@unchecked()
def test_learns(name, task):
    everything = torch.cartesian_prod(*[torch.arange(DIGITS)] * LENGTH)
    everything = everything[torch.randperm(len(everything))]
    unseen, seen = everything[:200], everything[200:]
    model = learner(name)
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01, fused=True)
    right = 0.0
    for step in range(1, 801):
        question = seen[torch.randint(len(seen), (64,))]
        loss = loss_of(model, name, question, TASKS[task](question))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 25 == 0:
            right = (written(model, name, unseen) == TASKS[task](unseen)).all(1).double().mean().item()
            if right >= 0.95:
                return
    pytest.fail(f"only {right:.0%} of {len(unseen)} unseen questions answered right (by chance 0.1 %)")


@pytest.mark.parametrize("name", IN_STEP)
@unchecked()
def test_learns_in_step(name):
    """Of digits it has not seen: a classifier the largest, a tagger at each digit the largest so far."""
    everything = torch.cartesian_prod(*[torch.arange(DIGITS)] * LENGTH)
    everything = everything[torch.randperm(len(everything))]
    unseen, seen = everything[:200], everything[200:]
    model = build(replace(MODELS[name], encoder=wider(MODELS[name].encoder)), DIGITS + 2)
    steps = 1 if isinstance(MODELS[name], Classifier) else LENGTH
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01, fused=True)
    right = 0.0

    def scores_of(question: torch.Tensor) -> torch.Tensor:
        stop = torch.full((len(question), 1), STOP)
        return model(torch.full((len(question), steps), START), model.start(Source(torch.cat([question, stop], 1))))[0]

    def answer(question: torch.Tensor) -> torch.Tensor:
        return question.cummax(1).values[:, -steps:]

    for step in range(1, 801):
        question = seen[torch.randint(len(seen), (64,))]
        loss = F.cross_entropy(scores_of(question).flatten(0, 1), answer(question).flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 25 == 0:
            with torch.no_grad():
                right = (scores_of(unseen).argmax(-1) == answer(unseen)).all(1).double().mean().item()
            if right >= 0.95:
                return
    pytest.fail(f"only {right:.0%} of {len(unseen)} unseen questions answered right")
