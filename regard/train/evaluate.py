"""How good a model is on what it was not trained on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import torch

from regard.config.decoding import Search
from regard.data.batch import BUCKETS, Batch, Streams
from regard.data.examples import Kind
from regard.decode.describe import describe
from regard.decode.label import probabilities
from regard.decode.translate import Plan, hypotheses
from regard.layers.state import State, map_state
from regard.models.model import Model
from regard.runs import Run
from regard.special import NAMES
from regard.text import PADDING, Labels
from regard.train.captions import caption_scores
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
ARGMAX = Search(beam=1)
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
    objective: Objective, batches: Iterable[Batch], device: torch.device, world: World
) -> tuple[float, int, float]:
    """Nats and number of tokens, and the share of them that was predicted right. Processes share the rows."""
    training = objective.training
    objective.eval()
    state: State = None
    sums = torch.zeros(3, dtype=torch.double)
    for batch in batches:
        part = to_device(batch.rows(world.rank, world.size), device)
        outcome = objective(part, None if batch.fresh or objective.model.grows else state)
        state = outcome.state
        assert outcome.right is not None
        sums += torch.tensor([outcome.loss.item(), part.wanted, outcome.right.item()], dtype=torch.double)
    objective.train(training)
    nats, tokens, right = world.total(sums).tolist()
    return nats, int(tokens), right / max(tokens, 1)


def look(
    objective: Objective, material: Material, batches: Iterable[Batch], device: torch.device, world: World
) -> dict[str, float]:
    """The held-out figures that cost one pass over these batches of it."""
    nats, tokens, accuracy = held_out_loss(objective, batches, device, world)
    loss = nats / max(tokens, 1)
    figures = {"loss": loss, "perplexity": perplexity(loss)}
    if material.kind in ("text", "pairs", "captions"):  # labels are no text
        all_tokens = len(material.valid[-1].tokens) + (len(material.valid[-1]) if material.kind != "text" else 0)
        figures["bits_per_byte"] = bits_per_byte(loss * all_tokens, material.valid_bytes)
    return {**figures, "accuracy": accuracy}


@contextmanager
def answering(model: Model) -> Iterator[None]:
    """Nothing is dropped meanwhile."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def spread(number: int, most: int) -> list[int]:
    """At most so many of so many places, evenly over all of them: files are often sorted."""
    wanted = min(number, most)
    return [place * number // wanted for place in range(wanted)]


def answers(
    run: Run, model: Model, held: Material, *, most: int | None = None, search: Search = ARGMAX
) -> Iterator[tuple[Any, Any]]:
    """What the model answers to held-out examples, as it would to anybody, and what was wanted.

    A text and its reference; a caption and what people said of the picture; the labels said and the right ones.
    """
    source, target = held.valid
    places = spread(len(source), most or len(source))
    tokenizer = run.tokenizer
    with answering(model):
        if isinstance(tokenizer, Labels):
            asked = ((source[i], len(target[i])) for i in places)
            for i, likely in zip(places, probabilities(model, asked), strict=True):
                there = target[i] != PADDING
                said = [tokenizer.names[place] for place in likely.argmax(-1).numpy()[there]]
                yield said, [tokenizer.names[token - len(NAMES)] for token in target[i][there]]
        elif held.kind == "captions":
            pictures = (torch.from_numpy(np.array(source.pixels[i])) for i in places)  # a copy: the disk's is read-only
            for i, found in zip(places, describe(model, tokenizer, pictures, search), strict=True):
                yield found[0].text, [tokenizer.decode(target[j]) for j in range(source.first[i], source.first[i + 1])]
        else:
            made = hypotheses(model, Plan(search, tokenizer), (source[i] for i in places))
            for i, each in zip(places, made, strict=True):
                yield tokenizer.decode(each[0].tokens if each else ()), tokenizer.decode(target[i])


def text_scores(outputs: Sequence[str], references: Sequence[str], cased: bool = True) -> dict[str, Score]:
    """How close outputs are to references, each figure with what it means."""
    if not cased:
        outputs, references = ([text.lower() for text in texts] for texts in (outputs, references))
    return {
        "bleu": bleu(outputs, references, cased),
        "chrf": chrf(outputs, references, cased),
        "exact": exact_match(outputs, references),
        "error_rate": error_rate(outputs, references),
    }


def label_scores(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> dict[str, Score]:
    """How well labels were said, each figure with what it means."""
    return {"macro_f1": macro_f1([*chain.from_iterable(said)], [*chain.from_iterable(wanted)])}


def tag_scores(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> dict[str, Score]:
    """The same of tags, which may span several words."""
    return {**label_scores(said, wanted), "span_f1": span_f1(said, wanted)}


SCORES: dict[Kind, Callable[..., dict[str, Score]]] = {
    "pairs": text_scores,
    "captions": caption_scores,
    "labels": label_scores,
    "tags": tag_scores,
}
"""How answers are held against what was wanted, for each kind of data that has some."""


def better(metric: str, new: float, old: float | None) -> bool:
    return old is None or (new < old if metric in SMALLER_IS_BETTER else new > old)


def detached(state: State) -> State:
    """The same state in full precision, with the history of its gradients cut off."""
    return map_state(lambda leaf: leaf.detach().float() if leaf.is_floating_point() else leaf.detach(), state)


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in figures.items()}
