"""A model of another program as one of ours: its settings, its tokenizers, and the way to each of its weights."""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.config import ModelConfig
from regard.hub.ways import Named, NeverSaid, Ordered, Way, Zeros
from regard.special import NAMES, START, STOP
from regard.text.foreign import Foreign
from regard.text.tokenizer import Tokenizer

Ways = dict[str, Way]


@dataclass(frozen=True)
class Opened:
    """All that a run folder needs. A family's file makes it of a package."""

    model: ModelConfig
    ways: Mapping[str, Way]
    """To each tensor of the model, by its name."""
    tokenizer: Tokenizer
    source_tokenizer: Tokenizer | None = None
    """Where source and target have tokens of their own, or the answer is no text."""
    longest: int = 128
    """How many tokens it was trained to read at once."""
    unused: tuple[str, ...] = ()
    """Patterns of names of tensors that no answer depends on, such as tables that can be computed."""
    changed: tuple[str, ...] = ()
    """What is kept in another way than it was, with the same scores."""


def linear(ours: str, theirs: str, biased: bool = True) -> Ways:
    """A matrix, or a norm, and its bias."""
    parts = ("weight", "bias") if biased else ("weight",)
    return {f"{ours}.{part}": Named(f"{theirs}.{part}") for part in parts}


def tied(tokenizer: Foreign, table: str, part: str = "") -> Ways:
    """An embedding that is also the head; its bias says which of our tokens are none of theirs."""
    bias = NeverSaid(Zeros((tokenizer.vocabulary,)), never_said(tokenizer))
    return {**embedding(tokenizer, table, part), f"{part}head.b": bias}


def untied(tokenizer: Foreign, table: str, head: str, part: str = "", biased: bool = False) -> Ways:
    """An embedding, and a head with a matrix of its own; `biased`: and a bias, which most have not."""
    order = tuple(tokenizer.order)
    added = Ordered(Named(f"{head.removesuffix('.weight')}.bias"), order) if biased else Zeros((len(order),))
    bias = NeverSaid(added, never_said(tokenizer))
    rows = Ordered(Named(head), order)
    return {**embedding(tokenizer, table, part), f"{part}head.W.weight": rows, f"{part}head.W.bias": bias}


def embedding(tokenizer: Foreign, table: str, part: str = "") -> Ways:
    """A table with a row for each token."""
    return {f"{part}embedding.lookup.weight": Ordered(Named(table), tuple(tokenizer.order))}


def never_said(tokenizer: Foreign) -> tuple[int, ...]:
    """Which of our special tokens are none of theirs: they have no probability."""
    special = tokenizer.special
    missing = [place for place in range(len(NAMES)) if special[place] is None]
    return (*missing, START) if special[START] == special[STOP] is not None else tuple(missing)
