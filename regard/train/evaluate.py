"""How good a model is on what it was not trained on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from regard.data.batch import Batch, Buckets, Streams
from regard.decode.translate import Search, hypotheses
from regard.layers.state import State, map_state
from regard.models.model import Model
from regard.text import Tokenizer
from regard.train.loss import Objective
from regard.train.metrics import Score, bits_per_byte, bleu, chrf, error_rate, exact_match, perplexity
from regard.train.parallel import World
from regard.train.prepare import Material

ROWS = 16  # streams that a held-out text is read in
BUDGET = 8192  # tokens of a batch of held-out pairs
SMALLER_IS_BETTER = ("loss",)


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
        buckets = Buckets(source, target, BUDGET, seed=0)
        yield from (buckets.batch(buckets.in_order(place)) for place in range(buckets.per_epoch))


@torch.no_grad()
def held_out_loss(
    objective: Objective, batches: Iterable[Batch], device: torch.device, world: World, carry: bool
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
    objective: Objective, material: Material, batches: Iterable[Batch], device: torch.device, world: World, carry: bool
) -> dict[str, float]:
    """The held-out figures that cost one pass over these batches of it."""
    nats, tokens, accuracy = held_out_loss(objective, batches, device, world, carry)
    loss = nats / max(tokens, 1)
    all_tokens = len(material.valid[-1].tokens) + (len(material.valid[-1]) if material.kind == "pairs" else 0)
    return {
        "loss": loss,
        "perplexity": perplexity(loss),
        "bits_per_byte": bits_per_byte(loss * all_tokens, material.valid_bytes),
        "accuracy": accuracy,
    }


def answers(
    model: Model, sources: Iterable[Sequence[int]], tokenizer: Tokenizer, *, room: int, beam: int = 1
) -> Iterator[str]:
    """What the model answers to each source, as it would translate it; by default always its most probable token."""
    training = model.training
    model.eval()
    for found in hypotheses(model, tokenizer, sources, Search(beam=beam), room=room):
        yield tokenizer.decode(found[0].tokens if found else ())
    model.train(training)


def text_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, Score]:
    """How close outputs are to references, each figure with what it means."""
    return {
        "bleu": bleu(outputs, references),
        "chrf": chrf(outputs, references),
        "exact": exact_match(outputs, references),
        "error_rate": error_rate(outputs, references),
    }


def better(metric: str, new: float, old: float | None) -> bool:
    return old is None or (new < old if metric in SMALLER_IS_BETTER else new > old)


def detached(state: State) -> State:
    """The same state, with the history of its gradients cut off."""
    return map_state(lambda leaf: leaf.detach(), state)


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in figures.items()}
