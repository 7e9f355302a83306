"""A glossary (a term base): what a term of the source must become, for the lines in which it stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regard.boundaries import places
from regard.errors import UserError

COMMENT, HEADLINE = "#", ("source", "target")


@dataclass(frozen=True)
class Term:
    """A term of the source, and what it may become: any of the targets."""

    source: str
    targets: tuple[str, ...]

    @property
    def cased(self) -> bool:
        """Whether capitals count: an entry that has some means those (US is not us)."""
        return self.source != _lower(self.source)


class TermMet(NamedTuple):
    """What became of a term in one translation."""

    term: Term
    met: bool


@dataclass(frozen=True)
class Glossary:
    """Terms, each source once."""

    terms: tuple[Term, ...] = ()

    def of(self, line: str) -> tuple[Term, ...]:
        """The terms of a line, in the order in which they stand there. The longest wins where two share a word."""
        text = " ".join(line.split())
        small, taken = _lower(text), [False] * len(text)
        found: dict[Term, int] = {}
        for term in self._longest_first:
            for at in places(term.source, text if term.cased else small):
                span = slice(at, at + len(term.source))
                if not any(taken[span]):
                    taken[span] = [True] * len(term.source)
                    found.setdefault(term, at)
        return tuple(sorted(found, key=found.__getitem__))

    @cached_property
    def _longest_first(self) -> list[Term]:
        return sorted(self.terms, key=lambda term: (-len(term.source), not term.cased))


def glossary(pairs: Iterable[tuple[str, str]]) -> Glossary:
    """Terms of pairs source, target; a source that comes again has several targets, of which any will do."""
    found: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        found.setdefault(" ".join(source.split()), {})[" ".join(target.split())] = None
    return Glossary(tuple(Term(source, tuple(targets)) for source, targets in found.items()))


def glossary_of(terms: Mapping[str, str | Sequence[str]]) -> Glossary:
    """Terms as Python has them: {source: target}, or {source: [target, another]}."""
    pairs: list[tuple[str, str]] = []
    for source, targets in terms.items():
        several = [targets] if isinstance(targets, str) else list(targets)
        if not source.strip() or not several or not all(target.strip() for target in several):
            raise UserError(f"a term wants a source and a target, found {source!r}: {targets!r}")
        pairs += [(source, target) for target in several]
    return glossary(pairs)


def read_glossary(lines: Iterable[str], name: str) -> Glossary:
    """Lines source<TAB>target; behind another tab stands a remark. Blank lines and those behind # say nothing."""
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(COMMENT):
            continue
        source, target, *_ = (*(part.strip() for part in line.split("\t")), "")
        if not source or not target:
            missed = "tab" if "\t" not in line else "source term" if not source else "target term"
            raise UserError(f"line {number} of {name} has no {missed}; write source term<TAB>target term")
        if pairs or (source.lower(), target.lower()) != HEADLINE:
            pairs.append((source, target))
    if not pairs:
        raise UserError(f"{name} has no terms; write source term<TAB>target term, one on each line")
    return glossary(pairs)


def _lower(text: str) -> str:
    """Small letters, each where it stood."""
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
