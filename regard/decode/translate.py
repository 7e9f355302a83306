"""From lines to translations: what a search at the level of tokens means for text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config.decoding import Search
from regard.decode.batches import BATCH, bucket_of, in_order
from regard.decode.beam import BeamSearch, Hypothesis, Watch, beam
from regard.decode.rules import AtLeast, Never, NoRepeatedNgram, Rule
from regard.errors import UserError
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import START, STOP, UNKNOWN
from regard.text.tokenizer import Tokenizer

MOST = 10_000
"""Tokens of a source: what is longer is no line of text, and might take all memory there is."""


class Alignment(NamedTuple):
    """Weights from every word written (rows) to every word read (columns)."""

    source: Sequence[str]
    target: Sequence[str]
    weights: Float[Tensor, "T S"]


@dataclass(frozen=True)
class Translation:
    """One hypothesis as text."""

    text: str
    score: float
    """Σ log p over what length normalisation makes of the length: what hypotheses are ranked by."""
    tokens: tuple[int, ...]
    """The prefix and what was made, without start and stop."""
    logs: tuple[float, ...]
    """log p of each token that was made, stop included."""
    alignment: Alignment | None = None
    """Where the model looked, on request: words written (rows) to words read (columns)."""


EMPTY = Translation("", 0.0, (), ())


def translate(
    model: Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    lines: Iterable[str],
    search: Search,
    *,
    batch: int = BATCH,
) -> Iterator[list[Translation]]:
    """The best translations of each line, best first, in the order of the lines; an empty line's is empty.

    Lines are read as they are needed, a window at a time, and batched by length.
    """
    reader, writer = tokenizers
    plan = Plan(search, writer)
    sources = (reader.encode(line) if line.strip() else [] for line in lines)
    return (plan.texts(found) or [EMPTY] for found in hypotheses(model, plan, sources, batch=batch))


def hypotheses(
    model: Model, plan: "Plan", sources: Iterable[Sequence[int]], *, batch: int = BATCH
) -> Iterator[list[Hypothesis]]:
    """What a search finds for each source of tokens, given without its stop; nothing for an empty one."""
    device = next(model.parameters()).device

    def answer(group: list[Sequence[int]]) -> list[list[Hypothesis]]:
        longest = max(map(len, group))
        if not longest:
            return [[] for _ in group]
        if longest > MOST:
            raise UserError(f"{longest:,} tokens are too many (at most {MOST:,}); one sentence to a line is wanted")
        tokens, keep = padded([[*map(int, source), STOP] for source in group])
        return plan.search(model, Source(tokens.to(device), keep.to(device)), 2 * bucket_of(longest) + 20)

    return in_order(sources, len, answer, batch)


class Plan:
    """A search in tokens, whatever the source. Answers begin with the prefix, and then with `begin`."""

    def __init__(self, search: Search, tokenizer: Tokenizer, begin: Sequence[int] = ()) -> None:
        self.asked, self.tokenizer = search, tokenizer
        self.prompt = [START, *tokenizer.encode(search.prefix), *begin]
        self.must = tuple(spelled(tokenizer, phrase) for phrase in search.must)
        wanted = sum(map(len, self.must))
        if search.max_length and wanted > search.max_length:
            raise UserError(
                f"what must appear has {wanted} tokens, more than max_length ({search.max_length}); allow more"
            )
        self.rules = rules(tokenizer, search.no_repeat, search.never)
        if search.min_length:
            self.rules.append(AtLeast(search.min_length, STOP, begin=1))

    def texts(self, found: Sequence[Hypothesis]) -> list[Translation]:
        """The hypotheses wanted, as text."""
        made = [((*self.prompt[1:], *one.tokens), one) for one in found[: self.asked.n_best]]
        return [Translation(self.tokenizer.decode(ids), one.score, ids, tuple(one.logs)) for ids, one in made]

    def limit(self, longest: int | None, usual: int) -> int:
        """How many tokens may be made, stop included, where nobody said how many and so many are usual."""
        most, prefix = self.asked.max_length or usual, len(self.prompt) - 1
        if longest is not None:
            most = min(most, longest)  # start is read as well, the last token made is not
        if most <= prefix:
            raise UserError(f"the prefix has {prefix} tokens and leaves no room: {most} may be written in all")
        return most - prefix

    @torch.inference_mode()
    def search(self, model: Model, source: Source, usual: int, watch: Watch | None = None) -> list[list[Hypothesis]]:
        """What was found for each row of a source; `usual` tokens at most, where nobody said how many."""
        prompt = torch.tensor([self.prompt] * len(source.content), device=source.content.device)
        search = BeamSearch(
            beam=self.asked.beam,
            n_best=self.asked.n_best,
            length_penalty=self.asked.length_penalty,
            limit=self.limit(model.longest, usual),
            rules=self.rules,
            must=self.must,
        )
        found = beam(model, prompt, model.start(source), search, watch=watch)
        if not all(found):
            raise UserError(
                "what must appear found no place in a translation; allow a larger max_length or fewer rules"
            )
        return found


def spelled(tokenizer: Tokenizer, phrase: str) -> tuple[int, ...]:
    """A phrase that must appear, as it stands in the middle of a text."""
    tokens = min(tokenizer.encode(f" {phrase}"), tokenizer.encode(phrase), key=len)
    if UNKNOWN in tokens:
        raise UserError(f"'{phrase}' must appear, and the run has no token for it; use words of its training text")
    return tuple(tokens)


def rules(tokenizer: Tokenizer, no_repeat: int, never: Sequence[str]) -> list[Rule]:
    """What may be said, in tokens. A word stands at the beginning or behind a space: both spellings are banned."""
    found: list[Rule] = [NoRepeatedNgram(no_repeat)] if no_repeat else []
    spellings = {tuple(tokenizer.encode(space + phrase)) for phrase in never for space in ("", " ")}
    writable = sorted(spelling for spelling in spellings if UNKNOWN not in spelling)
    return [*found, Never(tuple(writable))] if writable else found
