"""What two engines are compared on: held-out rows of a run, or random tokens where it has none."""

from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor

from regard.data.batch import IGNORED, Batch
from regard.decode.score import forced
from regard.errors import UserError
from regard.hub.out.target import ComparedRow
from regard.models.model import Source
from regard.runs import Run
from regard.special import NAMES, START, STOP

LENGTH, RANDOM = 12, 8  # of random rows, and how many of them


def some_rows(run: Run, number: int) -> tuple[list[ComparedRow], str]:
    """Rows to compare on, and what they are, in words."""
    try:
        valid = run.material.valid
        batches = run.task.held_out_batches(valid, run.recipe.train.length)
        found = list(islice((row for batch in batches for row in _rows_of(batch)), number))
        return found, f"{len(found)} held-out rows"
    except (UserError, FileNotFoundError):
        number = min(number, RANDOM)
        return [_random_row(run, seed) for seed in range(number)], f"{number} rows of random tokens"


@torch.no_grad()
def our_log_probabilities(run: Run, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
    """log p of every token wanted, as we compute it."""
    model = run.trained_model()
    for row in rows:
        state = model.start(None if row.source is None else Source(row.source[None]))
        yield forced(model, row.fed[None], state, None, row.wanted[None])[0].tolist()


def _rows_of(batch: Batch) -> Iterator[ComparedRow]:
    for place in range(batch.size):
        source = None
        if batch.source is not None:
            at = place if batch.source_row is None else int(batch.source_row[place])
            source = batch.source[at]
            if batch.source_keep is not None:
                source = source[batch.source_keep[at]]
        fed, wanted = batch.tokens[place], batch.targets[place]
        if batch.keep is not None:
            fed, wanted = fed[batch.keep[place]], wanted[batch.keep[place]]
        yield ComparedRow(source, fed, wanted.where(wanted != IGNORED, STOP))


def _random_row(run: Run, seed: int) -> ComparedRow:
    chance = torch.Generator().manual_seed(seed)

    def tokens(vocabulary: int) -> Tensor:
        return torch.randint(len(NAMES), vocabulary, (LENGTH,), generator=chance)

    source = None
    if run.task.reads == "picture":
        side = run.recipe.pictures.side
        source = torch.randint(256, (3, side, side), dtype=torch.uint8, generator=chance)
    elif run.task.has_source:
        source = torch.cat([tokens(run.source_tokenizer.vocabulary), torch.tensor([STOP])])
    said = tokens(run.tokenizer.vocabulary)
    return ComparedRow(source, torch.cat([torch.tensor([START]), said]), torch.cat([said, torch.tensor([STOP])]))
