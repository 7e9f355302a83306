"""How good a model is on what it was not trained on."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from regard.data.batch import BUCKETS, Batch, Streams
from regard.data.examples import Kind
from regard.decode.choose import argmax
from regard.decode.label import probabilities
from regard.decode.stream import stream
from regard.layers.state import State, map_state
from regard.models.model import Model, Source
from regard.text import PADDING, START, STOP, Labels, Tokenizer
from regard.text.special import NAMES
from regard.train.loss import Objective
from regard.train.metrics import (
    Score,
    bits_per_byte,
    bleu,
    chrf,
    error_rate,
    exact_match,
    macro_f1,
    perplexity,
    span_f1,
)
from regard.train.parallel import World
from regard.train.prepare import Material

ROWS = 16  # streams that a held-out text is read in
BUDGET = 8192  # tokens of a batch of held-out pairs
SMALLER_IS_BETTER = ("loss",)
METRICS: dict[Kind, tuple[str, ...]] = {
    "text": ("loss", "accuracy"),
    "pairs": ("loss", "accuracy", "bleu", "chrf", "exact"),
    "captions": ("loss", "accuracy", "bleu", "chrf", "cider", "exact"),
    "labels": ("loss", "accuracy", "macro_f1"),
    "tags": ("loss", "accuracy", "macro_f1", "span_f1"),
}
"""What can decide which look is the best, for each kind of data."""


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch where the model is."""
    if device.type == "cpu":
        return batch
    return Batch(*(part.to(device) if isinstance(part, torch.Tensor) else part for part in batch))  # type: ignore[arg-type]


def held_out_batches(material: Material, length: int) -> Iterator[Batch]:
    """Every held-out token once."""
    if material.kind == "text":
        batches = Streams(material.valid[0], ROWS, length)
        yield from (batches.at(step) for step in range(batches.per_epoch))
    else:
        source, target = material.valid
        buckets = BUCKETS[material.kind](source, target, BUDGET, seed=0)
        yield from (buckets.batch(buckets.in_order(place)) for place in range(buckets.per_epoch))


@torch.no_grad()
def held_out_loss(
    objective: Objective, batches: Iterator[Batch], device: torch.device, world: World, carry: bool
) -> tuple[float, int, float]:
    """Nats and number of tokens, and the share of them that was predicted right. Processes share the rows."""
    training = objective.training
    objective.eval()
    state: State = None
    sums = torch.zeros(3, dtype=torch.double)
    for batch in batches:
        part = to_device(batch.rows(world.rank, world.size), device)
        outcome = objective(part, None if batch.fresh or not carry else state)
        state = outcome.state
        sums += torch.tensor([outcome.loss.item(), part.wanted, outcome.right.item()], dtype=torch.double)
    objective.train(training)
    nats, tokens, right = world.total(sums).tolist()
    return nats, int(tokens), right / max(tokens, 1)


def look(
    objective: Objective, material: Material, device: torch.device, world: World, length: int, carry: bool
) -> dict[str, float]:
    """The held-out figures that cost one pass."""
    nats, tokens, accuracy = held_out_loss(objective, held_out_batches(material, length), device, world, carry)
    loss = nats / max(tokens, 1)
    figures = {"loss": loss, "perplexity": perplexity(loss)}
    if material.kind in ("text", "pairs", "captions"):  # labels are no text
        all_tokens = len(material.valid[-1].tokens) + (len(material.valid[-1]) if material.kind != "text" else 0)
        figures["bits_per_byte"] = bits_per_byte(loss * all_tokens, material.valid_bytes)
    return {**figures, "accuracy": accuracy}


@torch.inference_mode()
def answers(model: Model, sources: Sequence[Sequence[int]], tokenizer: Tokenizer, device: torch.device) -> list[str]:
    """What the model answers to each source, always taking its most probable token. Order is kept."""
    training = model.training
    model.eval()
    texts = [""] * len(sources)
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for begin in range(0, len(order), 64):
        rows = order[begin : begin + 64]
        width = max(len(sources[i]) for i in rows) + 1
        tokens = torch.full((len(rows), width), STOP)
        for row, i in enumerate(rows):
            tokens[row, : len(sources[i])] = torch.as_tensor(np.asarray(sources[i], np.int64))
        keep = torch.arange(width) <= torch.tensor([[len(sources[i])] for i in rows])
        state = model.start(Source(tokens.to(device), keep.to(device)))
        first = torch.full((len(rows),), START, device=device)
        made = list(stream(model, first, state, argmax, limit=2 * width + 20, stop=STOP))
        for i, ids in zip(rows, torch.stack(made, 1).tolist(), strict=True):
            texts[i] = tokenizer.decode(ids)
    model.train(training)
    return texts


def text_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, Score]:
    """How close outputs are to references, each figure with what it means."""
    return {
        "bleu": bleu(outputs, references),
        "chrf": chrf(outputs, references),
        "exact": exact_match(outputs, references),
        "error_rate": error_rate(outputs, references),
    }


def labelled(model: Model, material: Material, labels: Labels) -> tuple[list[list[str]], list[list[str]]]:
    """What the model calls each held-out text or each of its words, and what they should be called."""
    source, target = material.valid
    asked = ((source[i], len(target[i])) for i in range(len(source)))
    said, wanted = [], []
    for i, likely in enumerate(probabilities(model, asked)):
        truth = target[i]
        there = truth != PADDING
        said.append([labels.names[place] for place in likely.argmax(-1).numpy()[there]])
        wanted.append([labels.names[token - len(NAMES)] for token in truth[there]])
    return said, wanted


def label_scores(kind: Kind, said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> dict[str, Score]:
    """How well labels were said, each figure with what it means. One class for a text spans nothing."""
    scores = {"macro_f1": macro_f1([*chain.from_iterable(said)], [*chain.from_iterable(wanted)])}
    return scores | {"span_f1": span_f1(said, wanted)} if kind == "tags" else scores


def better(metric: str, new: float, old: float | None) -> bool:
    return old is None or (new < old if metric in SMALLER_IS_BETTER else new > old)


def detached(state: State) -> State:
    """The same state, with the history of its gradients cut off."""
    return map_state(lambda leaf: leaf.detach(), state)


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in figures.items()}
