"""How probable given texts are, token by token."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from regard.decode.batches import BATCH, in_order
from regard.decode.score import score
from regard.errors import UserError
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import START, STOP
from regard.text.tokenizer import Tokenizer

Pair = tuple[str, str]  # a source and its target


@dataclass(frozen=True)
class Scored:
    """A text as a model reads it."""

    text: str
    tokens: tuple[str, ...]
    """Their names for people, stop included where it was scored."""
    logs: tuple[float, ...]
    """log p of each, given those before it."""

    @property
    def log_probability(self) -> float:
        """log p(text) = Σ log p(token): in nats."""
        return sum(self.logs)


def score_texts(model: Model, tokenizer: Tokenizer, texts: Iterable[str], *, batch: int = BATCH) -> Iterator[Scored]:
    """log p of each text as the beginning of a document. Whether it also ends there is not asked."""
    return _scored(model, tokenizer, ((text, None, tokenizer.encode(text)) for text in texts), batch)


def score_pairs(
    model: Model, tokenizers: tuple[Tokenizer, Tokenizer], pairs: Iterable[Pair], *, batch: int = BATCH
) -> Iterator[Scored]:
    """log p of each target, its end included, given its source. A pair with an empty side scores nothing."""
    reader, writer = tokenizers
    items = (
        (target, [*reader.encode(source), STOP], [*writer.encode(target), STOP] if target and source else [])
        for source, target in pairs
    )
    return _scored(model, writer, items, batch)


def _scored(
    model: Model, tokenizer: Tokenizer, items: Iterable[tuple[str, list[int] | None, list[int]]], batch: int
) -> Iterator[Scored]:
    device = next(model.parameters()).device

    @torch.inference_mode()
    def answer(group: list[tuple[str, list[int] | None, list[int]]]) -> list[Scored]:
        texts, sources, targets = zip(*group, strict=True)
        if not targets[0]:
            return [Scored(text, (), ()) for text in texts]
        tokens, keep = padded([[START, *target] for target in targets])
        source = None if sources[0] is None else Source(*(part.to(device) for part in padded(sources)))
        rows = score(model, tokens.to(device), model.start(source, len(group)), keep.to(device)).tolist()
        return [
            Scored(text, tuple(map(tokenizer.label, target)), tuple(logs[: len(target)]))
            for text, target, logs in zip(texts, targets, rows, strict=True)
        ]

    return in_order(items, lambda item: len(item[2]), answer, batch)


def as_pair(found: str | Pair) -> Pair:
    if isinstance(found, str):
        raise UserError(f"a translator scores pairs (source, target), found one text: {found!r}")
    return found


def as_text(found: str | Pair) -> str:
    if not isinstance(found, str):
        raise UserError(f"a language model scores texts, found {found!r}")
    return found
