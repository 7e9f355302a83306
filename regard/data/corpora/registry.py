"""The corpora that come with the toolkit, by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal

from regard.data.corpora.cmudict import cmudict
from regard.data.corpora.digits import digits
from regard.data.corpora.python_source import python_size, python_source
from regard.data.corpora.sizes import DIGITS, PHRASES, SCENES, SHORT_PHRASES
from regard.data.examples import Captioned, Pair, Split


@dataclass(frozen=True)
class BuiltIn:
    """A corpus that has a name instead of a path."""

    name: str
    kind: str
    """Of its examples: the name of a task."""
    description: str
    measure: Callable[[], str]
    """Says how much there is. A call, for some have to look."""
    read: Callable[[Split], Iterator[Any]]
    """The examples of a split: `Pair`s, or documents as iterators of pieces."""

    @property
    def size(self) -> str:
        return self.measure()


# What is large or wants numpy is imported when it is read: a list of corpora is shown at once.


def _phrases(language: Literal["french", "spanish"], split: Split) -> Iterator[Pair]:
    from regard.data.corpora.phrases import phrases

    for phrase in islice(phrases(language, split), PHRASES[split]):
        yield Pair(phrase.source, phrase.target)


def _short_phrases(language: Literal["french", "spanish"], split: Split) -> Iterator[Pair]:
    from regard.data.corpora.phrases import phrases

    for phrase in islice(phrases(language, split, longest=14), SHORT_PHRASES[split]):
        yield Pair(phrase.source, phrase.target)


def _news(language: Literal["french", "spanish"], split: Split) -> Iterator[Pair]:
    from regard.data.corpora.phrases import phrases
    from regard.data.corpora.speaker import Reporter

    for phrase in islice(phrases(language, split, longest=14, speaker=Reporter), SHORT_PHRASES[split]):
        yield Pair(phrase.source, phrase.target)


def _scenes(split: Split) -> Iterator[Captioned]:
    from regard.data.corpora.scenes import captioned

    return captioned(split)


def _pairs(name: str, description: str, size: str, read: Callable[[Split], Iterator[Pair]]) -> BuiltIn:
    return BuiltIn(name, "pairs", description, lambda: size, read)


_MADE = f"{PHRASES['train']:,} pairs"
_SHORT = f"{SHORT_PHRASES['train']:,} pairs"
_DRAWN = f"{DIGITS['train']:,} pairs"

CORPORA: dict[str, BuiltIn] = {
    corpus.name: corpus
    for corpus in (
        _pairs("phrases:french", "English phrases and their French", _MADE, partial(_phrases, "french")),
        _pairs("phrases:spanish", "English phrases and their Spanish", _MADE, partial(_phrases, "spanish")),
        _pairs("phrases-short:french", "the same, of 3 to 14 words", _SHORT, partial(_short_phrases, "french")),
        _pairs("phrases-short:spanish", "the same, of 3 to 14 words", _SHORT, partial(_short_phrases, "spanish")),
        _pairs("news:french", "the same, mostly of documents", _SHORT, partial(_news, "french")),
        _pairs("news:spanish", "the same, mostly of documents", _SHORT, partial(_news, "spanish")),
        _pairs("digits:copy", "digits, to be said again", _DRAWN, partial(digits, "copy")),
        _pairs("digits:reverse", "digits, to be said backwards", _DRAWN, partial(digits, "reverse")),
        _pairs("digits:sort", "digits, to be put in order", _DRAWN, partial(digits, "sort")),
        BuiltIn(
            "scenes", "captions", "drawn scenes and what is in them", lambda: f"{SCENES['train']:,} pictures", _scenes
        ),
        BuiltIn("python", "text", "the source of Python's standard library", python_size, python_source),
        _pairs(
            "cmudict",
            "English words as they are spoken (an extra)",
            "about 135,000 pairs",
            cmudict,
        ),
    )
}
