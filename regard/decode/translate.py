"""From lines to translations: what a search at the level of tokens means for text."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.boundaries import stands_in
from regard.config.decoding import Search
from regard.decode.batches import BATCH, bucket_of, in_order
from regard.decode.beam import BeamSearch, Hypothesis, Watch, searching
from regard.decode.rules import AtLeast, NoRepeatedNgram, Rule
from regard.decode.terms import Glossary, Term, TermMet
from regard.decode.wording import Variants, Wording, glues, phrase_of
from regard.errors import UserError, counted
from regard.models.feeding import Read, found_by
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import START, STOP
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
    terms: tuple[TermMet, ...] = ()
    """The terms of its source, and whether it has what they must become."""


EMPTY = Translation("", 0.0, (), ())


NO_TERMS = Glossary()


class Asked(NamedTuple):
    """A source of tokens, without its stop, and the terms in it."""

    tokens: Sequence[int]
    terms: tuple[Term, ...] = ()


def translate(
    model: Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    lines: Iterable[str],
    search: Search,
    *,
    terms: Glossary = NO_TERMS,
    batch: int = BATCH,
) -> Iterator[list[Translation]]:
    """The best translations of each line, best first, in the order of the lines; an empty line's is empty.

    Lines are read as they are needed, a window at a time, and batched by length. A line has what its terms must become,
    or says which of them it has not.
    """
    reader, writer = tokenizers
    plan = Plan(search, writer)
    plan.check(terms)
    asked = (Asked(reader.encode(line), terms.of(line)) if line.strip() else Asked(()) for line in lines)
    return (found or [EMPTY] for found in _searched(model, plan, asked, batch))


def hypotheses(
    model: Model, plan: "Plan", sources: Iterable[Sequence[int]], *, batch: int = BATCH
) -> Iterator[list[Hypothesis]]:
    """What a search finds for each source of tokens, given without its stop; nothing for an empty one."""
    return in_order(sources, len, lambda group: _together(model, plan, [Asked(one) for one in group]), batch)


def _searched(model: Model, plan: "Plan", asked: Iterable[Asked], batch: int) -> Iterator[list[Translation]]:
    def answer(group: list[Asked]) -> list[list[Translation]]:
        found = _together(model, plan, group)
        return [plan.texts(several, one.terms) for several, one in zip(found, group, strict=True)]

    return in_order(asked, lambda one: len(one.tokens), answer, batch)


def _together(model: Model, plan: "Plan", group: list[Asked]) -> list[list[Hypothesis]]:
    longest, device = max(len(one.tokens) for one in group), next(model.parameters()).device
    if not longest:
        return [[] for _ in group]
    if longest > MOST:
        raise UserError(f"{longest:,} tokens are too many (at most {MOST:,}); one sentence to a line is wanted")
    tokens, keep = padded([[*map(int, one.tokens), STOP] for one in group])
    source = Source(tokens.to(device), keep.to(device))
    return plan.search(model, source, 2 * bucket_of(longest) + 20, terms=[one.terms for one in group])


class Plan:
    """A search in tokens, whatever the source. Answers begin with the prefix, and then with `begin`."""

    def __init__(self, search: Search, tokenizer: Tokenizer, begin: Sequence[int] = ()) -> None:
        self.asked, self.tokenizer = search, tokenizer
        self.prompt = [START, *tokenizer.encode(search.prefix), *begin]
        self._phrases: dict[tuple[str, ...], Variants] = {}
        self.must = tuple(self._phrase((text,)) for text in search.must)
        for text, phrase in zip(search.must, self.must, strict=True):
            if not phrase.spellings:
                raise UserError(
                    f"'{text}' must appear, and the run has no token for it; use words of its training text"
                )
        wanted = sum(phrase.size for phrase in self.must)
        if search.max_length and wanted > search.max_length:
            raise UserError(
                f"what must appear has {counted(wanted, 'token')}, more than max_length ({search.max_length}); "
                "allow more"
            )
        self.never = tuple(phrase for text in search.never if (phrase := self._phrase((text,))).spellings)
        # One hypothesis alone cannot wait and see whether a longer word comes: a banned word would have to become one.
        self._patient = search.beam > 1 and glues(tokenizer)
        self.rules: list[Rule] = [NoRepeatedNgram(search.no_repeat)] if search.no_repeat else []
        if search.min_length:
            self.rules.append(AtLeast(search.min_length, STOP, begin=1))

    def check(self, terms: Glossary) -> None:
        """Refuses a term that must become what must not be said."""
        for term in terms.terms:
            for banned in self.asked.never:
                if all(stands_in(banned, target) for target in term.targets):
                    raise UserError(
                        f"the term '{term.source}' must become '{term.targets[0]}', and '{banned}' must not appear; "
                        "drop one of the two"
                    )

    def _phrase(self, texts: tuple[str, ...]) -> Variants:
        if texts not in self._phrases:
            self._phrases[texts] = phrase_of(self.tokenizer, texts)
        return self._phrases[texts]

    def _wording(self, terms: Sequence[Term]) -> Wording | None:
        """What is wished of one answer; terms that the tokenizer cannot write are left out, and reported as not met."""
        spelled = (phrase for term in terms if (phrase := self._phrase(term.targets)).spellings)
        must = (*self.must, *spelled)
        return Wording(self.tokenizer, must, self.never, self._patient) if must or self.never else None

    def texts(self, found: Sequence[Hypothesis], terms: Sequence[Term] = ()) -> list[Translation]:
        """The hypotheses wanted, as text."""
        return [self._text(one, terms) for one in found[: self.asked.n_best]]

    def _text(self, one: Hypothesis, terms: Sequence[Term]) -> Translation:
        tokens = (*self.prompt[1:], *one.tokens)
        text = self.tokenizer.decode(tokens)
        met = tuple(TermMet(term, self._phrase(term.targets).stands_in(text)) for term in terms)
        return Translation(text, one.score, tokens, tuple(one.logs), terms=met)

    def limit(self, longest: int | None, usual: int) -> int:
        """How many tokens may be made, stop included, where nobody said how many and so many are usual."""
        most, prefix = self.asked.max_length or usual, len(self.prompt) - 1
        if longest is not None:
            most = min(most, longest)  # start is read as well, the last token made is not
        if most <= prefix:
            raise UserError(
                f"the prefix has {counted(prefix, 'token')} and leaves no room: {most} may be written in all"
            )
        return most - prefix

    @torch.inference_mode()
    def search(
        self,
        model: Model,
        source: Source,
        usual: int,
        watch: Watch | None = None,
        terms: Sequence[Sequence[Term]] = (),
    ) -> list[list[Hypothesis]]:
        """What was found for each row of a source; `usual` tokens at most, where nobody said how many.

        Where terms find no place, the longest is given up, and so on until the others do: the row is answered.
        """
        return found_by(model, self.searching(source, self.limit(model.longest, usual), watch, terms))

    def searching(
        self, source: Source, limit: int, watch: Watch | None = None, terms: Sequence[Sequence[Term]] = ()
    ) -> Generator[Any, Any, list[list[Hypothesis]]]:
        """The same for whoever computes: says what is to be read and fed. `limit` is how many tokens may be made."""
        rows = len(source.content)
        terms = terms or [()] * rows
        prompt = torch.tensor([self.prompt] * rows, device=source.content.device)
        search = BeamSearch(
            beam=self.asked.beam,
            n_best=self.asked.n_best,
            length_penalty=self.asked.length_penalty,
            limit=limit,
            rules=self.rules,
            wordings=[self._wording(some) for some in terms],
        )
        state = yield Read(source)
        found = yield from searching(prompt, state, search, watch=watch)
        missed = [row for row, several in enumerate(found) if not several]
        if any(not terms[row] for row in missed):
            raise UserError(
                "what must and must not appear leaves no translation; allow a larger max_length or fewer rules"
            )
        if missed:
            fewer = [self._without_longest(terms[row]) for row in missed]
            again = yield from self.searching(_rows(source, missed), limit, terms=fewer)
            for row, several in zip(missed, again, strict=True):
                found[row] = several
        return found

    def _without_longest(self, terms: Sequence[Term]) -> list[Term]:
        longest = max(terms, key=lambda term: self._phrase(term.targets).size)
        return [term for term in terms if term is not longest]


def _rows(source: Source, rows: list[int]) -> Source:
    return Source(source.content[rows], None if source.keep is None else source.keep[rows])
