"""What an answer must hold and must not: phrases that stand by themselves, however they are cut into tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regard.boundaries import glued, places
from regard.special import PADDING, START, STOP, UNKNOWN
from regard.text.growing import Cursor
from regard.text.tokenizer import Tokenizer

Tokens = tuple[int, ...]

BEFORE = ". "
"""What every text begins behind: the end of the sentence before it."""
ENDS, OPENERS = (".", "!", "?", "…"), " \u00a0\u202f«“„\"'‘(¿¡—–-"
"""What a sentence ends with, and what may stand between that and the first word of the next."""
CONTEXT = 8  # characters before a phrase that decide whether it begins a sentence


@dataclass(frozen=True)
class Spelling:
    """One way to write a phrase."""

    text: str
    opening: bool
    """Whether it stands at the beginning of a sentence only, as what has a capital for no other reason."""
    alone: Tokens
    behind: Tokens
    """Its tokens, behind a blank and behind a word."""
    rest: dict[int, Tokens]
    """How many of its characters stand there: what is still to be said. Only where a token ends with a character."""

    def ends(self, text: str) -> Iterator[int]:
        """Where it ends in a text, each time it stands there by itself; the first character is only looked back at."""
        for at in places(self.text, text, 1):
            if not self.opening or _begins_sentence(text[:at]):
                yield at + len(self.text)

    def left(self, text: str) -> list[Tokens]:
        """What may be said next to have it at the end of a text."""
        for size, rest in self.rest.items():  # the longest first
            before = text[: len(text) - size]
            if text.endswith(self.text[:size]) and not glued(before, self.text):
                return [rest] if not self.opening or _begins_sentence(before) else []
        if self.opening and not _begins_sentence(text):
            return []
        if glued(text, self.text):
            return [self.behind]
        return [self.alone] if text[-1].isspace() else [self.alone, self.behind]


@dataclass(frozen=True)
class Variants:
    """A phrase that must appear, or must not: any of its spellings. None: the tokenizer cannot write it."""

    spellings: tuple[Spelling, ...]

    @property
    def size(self) -> int:
        """Tokens that it takes at least."""
        return min((min(len(one.alone), len(one.behind)) for one in self.spellings), default=0)

    @property
    def behind(self) -> int:
        """Tokens that it takes behind a word, and so no fewer than anywhere else."""
        return min((len(one.behind) for one in self.spellings), default=0)

    @property
    def longest(self) -> int:
        return max((len(one.text) for one in self.spellings), default=0)

    def ends(self, text: str) -> list[int]:
        return [end for one in self.spellings for end in one.ends(text)]

    def stands_in(self, text: str) -> bool:
        """Whether a whole text has it."""
        return bool(self.ends(BEFORE + text))

    def left(self, text: str, opened: Tokens) -> list[Tokens]:
        """What may be said next to have it, with tokens behind the text that are no character yet."""
        ways = [way for one in self.spellings for way in one.left(text)]
        return [way[len(opened) :] for way in ways if way[: len(opened)] == opened and len(way) > len(opened)]


class Standing(NamedTuple):
    """How far one answer has come."""

    cursor: Cursor
    text: str
    """Its end, with all that may still become part of a phrase."""
    opened: Tokens
    """Tokens behind that which are no whole character yet."""
    met: tuple[bool, ...]
    """Which phrases stand there, whatever follows."""


@dataclass(frozen=True)
class Wording:
    """What is wished of one answer."""

    tokenizer: Tokenizer
    must: tuple[Variants, ...] = ()
    never: tuple[Variants, ...] = ()
    patient: bool = True
    """Whether a banned word may stand at the end for the moment, as it may become a longer word that is not banned."""

    def start(self, prompt: Sequence[int]) -> Standing:
        """Behind what an answer begins with."""
        standing = Standing(Cursor(), BEFORE, (), (False,) * len(self.must))
        for token in prompt:
            standing = self._grown(standing, token)[0]
        return standing

    def after(self, standing: Standing, token: int) -> Standing | None:
        """One token later; None: it must not be said."""
        if token == STOP:
            return standing if self.may_end(standing) else None
        grown, text = self._grown(standing, token)
        before = len(standing.text)
        for phrase in self.never:
            for end in phrase.ends(text) if len(text) > before else ():
                if end >= before and (end < len(text) or not self.patient):
                    return None
        return grown

    def may_end(self, standing: Standing) -> bool:
        """Whether an answer that ends here has all it must and nothing it must not."""
        text = standing.text
        return not self.left(standing) and not any(len(text) in phrase.ends(text) for phrase in self.never)

    def left(self, standing: Standing) -> int:
        """How many tokens must still be said: all of what is missed, less what stands there of one phrase.

        Of one alone: a blank lets all of them begin, and yet only one does.
        """
        missed = [(phrase.behind, phrase.left(standing.text, standing.opened)) for phrase in self._missed(standing)]
        begun = (whole - min(map(len, ways)) for whole, ways in missed if ways)
        return sum(whole for whole, _ in missed) - max(begun, default=0)

    def wants(self, standing: Standing) -> set[int]:
        """What to say next to come further."""
        ways = (way for phrase in self._missed(standing) for way in phrase.left(standing.text, standing.opened))
        return {way[0] for way in ways}

    def _missed(self, standing: Standing) -> Iterator[Variants]:
        """Those that do not stand there; what has begun behind one may still glue to it."""
        for phrase, met in zip(self.must, standing.met, strict=True):
            if not met and (standing.opened or len(standing.text) not in phrase.ends(standing.text)):
                yield phrase

    def _grown(self, standing: Standing, token: int) -> tuple[Standing, str]:
        """One token later, and the end of the text before what nobody needs any more is cut off."""
        cursor, more = standing.cursor.add(self.tokenizer, token)
        text = standing.text + more
        if not cursor.begun and not cursor.since:
            opened: Tokens = ()
        elif token in (START, PADDING):  # which say nothing, and begin nothing
            opened = standing.opened
        else:
            opened = (token,) if more else (*standing.opened, token)
        met = tuple(
            met or any(end < len(text) for end in phrase.ends(text))
            for phrase, met in zip(self.must, standing.met, strict=True)
        )
        return Standing(cursor, text[-self._reach :], opened, met), text

    @cached_property
    def _reach(self) -> int:
        return max((phrase.longest for phrase in (*self.must, *self.never)), default=0) + CONTEXT


def phrase_of(tokenizer: Tokenizer, texts: Sequence[str]) -> Variants:
    """Any of these texts, each as the tokenizer writes it; a capital for its first letter where a sentence begins."""
    found = {}
    for text, opening in [*((text, False) for text in texts), *((_capital(text), True) for text in texts)]:
        written = tokenizer.decode(tokenizer.encode(text))
        if written and written not in found and UNKNOWN not in tokenizer.encode(text):
            found[written] = _spelling(tokenizer, written, opening)
    return Variants(tuple(found.values()))


def glues(tokenizer: Tokenizer) -> bool:
    """Whether what follows a word may still become part of it."""
    letter = tokenizer.encode("a")
    return " " not in tokenizer.decode([*letter, *letter])


def _spelling(tokenizer: Tokenizer, text: str, opening: bool) -> Spelling:
    alone, behind = (tuple(tokenizer.encode(blank + text)) for blank in ("", " "))
    rest: dict[int, Tokens] = {}
    for tokens in (alone, behind):
        cursor, said = Cursor(), ""
        for place, token in enumerate(tokens[:-1], 1):
            cursor, more = cursor.add(tokenizer, token)
            said += more
            if size := len(said.removeprefix(" ")) if not cursor.begun and not cursor.since else 0:
                rest[size] = tokens[place:]
    return Spelling(text, opening, alone, behind, dict(sorted(rest.items(), reverse=True)))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _begins_sentence(before: str) -> bool:
    stripped = before.rstrip(OPENERS)
    return stripped != before and stripped.endswith(ENDS)
