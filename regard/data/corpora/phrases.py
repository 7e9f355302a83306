"""The built-in parallel corpus: English sentences with their French or Spanish translation and gold word alignment.

Sentences are drawn from our own grammar (`grammar`) and dictionary (`lexicon`): the corpus needs no download, has no
end, and is right word by word: an English sentence has exactly one translation, and every word of that knows which
English words it renders.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import Literal, NamedTuple

from regard.data.corpora import words
from regard.data.corpora.grammar import Clause, Complement, Date, French, NounPhrase, Sentence, Spanish, Writer
from regard.data.corpora.speaker import ALL_NOUNS, PRONOUNS, Speaker
from regard.errors import UserError, unknown

Language = Literal["french", "spanish"]
Split = Literal["train", "valid", "test"]
WRITERS: dict[str, type[Writer]] = {"french": French, "spanish": Spanish}
SPLITS = {"valid": range(1), "test": range(1, 2), "train": range(2, 50)}  # of an English sentence's hash, modulo 50
SHORTEST, LONGEST = 3, 40
PATIENCE = 20_000  # draws in a row without a new sentence, after which we take it that there are none left


class Phrase(NamedTuple):
    """A sentence pair. In its word lists `l'` and `.` are words of their own."""

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]  # sorted (source, target) positions

    @property
    def source(self) -> str:
        return join_words(self.source_words)

    @property
    def target(self) -> str:
        return join_words(self.target_words)


def join_words(parts: Sequence[str]) -> str:
    return " ".join(parts).replace("' ", "'").replace(" .", ".")


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text: an apostrophe ends one, punctuation stands by itself. Undoes `join_words`."""
    return tuple(re.findall(r"[^\s'.,;:!?]+'?|['.,;:!?]", text))


def phrases(
    language: Language,
    split: Split,
    seed: int = 0,
    shortest: int = SHORTEST,
    longest: int = LONGEST,
    speaker: type[Speaker] = Speaker,
) -> Iterator[Phrase]:
    """Ever new sentence pairs of `shortest` to `longest` English words, a full stop counted; the same for a seed.

    An English sentence belongs to one split, whatever the seed and the language. None comes twice; where a narrow range
    of lengths holds only so many, the iterator ends when it finds no more.
    """
    if language not in WRITERS:
        raise unknown("language", language, WRITERS)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise UserError(f"phrases have {SHORTEST} to {LONGEST} words, found shortest {shortest} and longest {longest}")
    return _draw(WRITERS[language], SPLITS[split], speaker(Random(seed)), range(shortest, longest + 1))


def _draw(writer: type[Writer], part: range, speaker: Speaker, lengths: range) -> Iterator[Phrase]:
    seen: set[int] = set()
    idle = 0
    while idle < PATIENCE:
        idle += 1
        written = writer(speaker.sentence(lengths))
        mark = int.from_bytes(blake2b(" ".join(written.english).encode(), digest_size=8).digest(), "little")
        if mark % 50 in part and mark not in seen and len(written.english) in lengths:
            seen.add(mark)
            idle = 0
            yield _phrase(written)


def _phrase(written: Writer) -> Phrase:
    target = written.translation()
    links = {(source, place) for place, (_, sources) in enumerate(target) for source in sources}
    return Phrase(tuple(written.english), tuple(word for word, _ in target), tuple(sorted(links)))


def notes_sentences(language: Language) -> list[Phrase]:
    """The sentences that the lecture notes translate, put together from the grammar."""
    if language not in WRITERS:
        raise unknown("language", language, WRITERS)
    noun = {noun.english[0]: noun for noun in ALL_NOUNS}
    eating = Clause(PRONOUNS["we"], words.VERBS["eat"], "progressive", object=NounPhrase(None, False, noun["bread"]))
    topic = Complement(words.PREPOSITIONS["on"], words.ORGANISATIONS["the European Economic Area"])
    agreement = NounPhrase(words.DETERMINERS["the", "the"], False, noun["agreement"], after=topic)
    signing = Clause(agreement, words.VERBS["sign"], "passive", adjuncts=(Date("", words.MONTHS["August"], "1992"),))
    return [_phrase(WRITERS[language](s)) for s in (Sentence((eating,)), Sentence((signing,), stop=True))]
