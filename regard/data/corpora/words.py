"""The dictionary's tables read into words with all their forms: plurals, agreement and conjugation.

Everything Romance comes as a pair, (French, Spanish). Forms that agree are indexed `[plural][feminine]`, conjugated
forms by person: I, you, he, we, they.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from regard.data.corpora import lexicon

Links = tuple[int, ...]  # positions of English words
Forms = tuple[tuple[str, str], tuple[str, str]]  # [plural][feminine]
FRENCH, SPANISH = 0, 1
VOWELS = "aeiouáéíóúâàèêëîïôûùœ"


class Adjective(NamedTuple):
    english: str
    romance: tuple[Forms, Forms]
    before: tuple[bool, bool]  # whether it comes before the noun
    estar: bool

    @property
    def predicative(self) -> bool:
        """Whether we say that something is so; not where the form before a noun (buen, bel) is a special one."""
        return not self.before[SPANISH] and self.english != "beautiful"


class Noun(NamedTuple):
    english: tuple[str, str]  # singular, plural
    romance: tuple[tuple[str, str], tuple[str, str]]
    feminine: tuple[bool, bool]
    kind: str
    mass: bool  # not counted: no plural, no "a"
    qualities: tuple[Adjective, ...]
    types: tuple[Adjective, ...]


class EnglishVerb(NamedTuple):
    base: str
    present: str  # third person singular
    past: str
    participle: str
    gerund: str


class Conjugation(NamedTuple):
    present: tuple[str, ...]
    past: tuple[str, ...]  # of French verbs only être has one: for "ate" we say "has eaten"
    future: tuple[str, ...]
    gerund: str  # empty in French: for "is eating" we say "eats"
    participle: Forms


class Verb(NamedTuple):
    english: EnglishVerb
    romance: tuple[Conjugation, Conjugation]
    objects: tuple[Noun, ...]
    marks: frozenset[str]


class Determiner(NamedTuple):
    english: tuple[str, str]
    romance: tuple[Forms, Forms]


class Rendering(NamedTuple):
    words: tuple[tuple[str, Links], ...]
    feminine: bool = False
    plural: bool = False


class Fixed(NamedTuple):
    """A name, a preposition, a set expression: its translation says word by word which English words it renders."""

    english: tuple[str, ...]
    romance: tuple[Rendering, Rendering]
    person: bool = False


def entries(table: str) -> Iterator[list[str]]:
    """The fields of every entry: English, French, Spanish, and anything more."""
    for entry in re.split(r";|(?:\n|\s{2})(?!\s*=)", table):
        if entry.strip():
            yield [field.strip() for field in re.split(r"[:=]", entry)]


def ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def english_plural(word: str) -> str:
    """A noun's plural, or a verb's third person singular."""
    if ends_in_consonant_y(word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def french_plural(word: str) -> str:
    if word.endswith(("s", "x")):
        return word
    return word[:-2] + "aux" if word.endswith("al") else word + ("x" if word.endswith("eau") else "s")


def spanish_plural(word: str) -> str:
    if word[-1] in VOWELS:
        return word + "s"
    if word[-1] in "ns":  # the plural has one syllable more, so its stress needs no accent: jardín, jardines
        word = word[:-2] + word[-2].translate(str.maketrans("áéíóú", "aeiou")) + word[-1]
    return word[:-1] + "ces" if word.endswith("z") else word + "es"


def numbers(text: str, language: int) -> tuple[str, str]:
    singular, _, plural = text.partition("/")
    return singular, plural or (french_plural, spanish_plural)[language](singular)


def feminine(word: str, language: int) -> str:
    if language == FRENCH:
        return word if word.endswith("e") else word + "e"
    return re.sub("o$", "a", re.sub("és$", "esa", re.sub("án$", "ana", word)))


def agreeing(text: str, language: int) -> Forms:
    masculine, _, irregular = text.partition(",")
    he, they = numbers(masculine, language)
    she, women = numbers(irregular or feminine(he, language), language)
    return (he, she), (they, women)


def adjectives(tables: dict[str, str], kind: str) -> tuple[Adjective, ...]:
    found = []
    for english, *romance in (entry for kinds in tables if kind in kinds.split() for entry in entries(tables[kinds])):
        french, spanish = (agreeing(text.strip("_ *"), language) for language, text in enumerate(romance))
        before = romance[FRENCH].endswith("_"), romance[SPANISH].endswith("_")
        found.append(Adjective(english, (french, spanish), before, romance[SPANISH].endswith("*")))
    return tuple(found)


def nouns(kind: str) -> tuple[Noun, ...]:
    suitable = adjectives(lexicon.QUALITIES, kind), adjectives(lexicon.TYPES, kind)
    found = []
    for english, french, spanish in entries(lexicon.NOUNS[kind]):
        singular, _, plural = english.partition("/")
        (un, nom), (uno, nombre) = french.split(), spanish.split()
        romance = numbers(nom, FRENCH), numbers(nombre, SPANISH)
        number = singular, plural or english_plural(singular)
        found.append(Noun(number, romance, (un == "une", uno == "una"), kind, english.endswith("/"), *suitable))
    return tuple(found)


def english_verb(text: str) -> EnglishVerb:
    base, *irregular = text.split()
    stem = base.removesuffix("e")
    past = base[:-1] + "ied" if ends_in_consonant_y(base) else stem + "ed"
    present = "has" if base == "have" else english_plural(base)
    return EnglishVerb(base, present, *irregular, *[past, past, stem + "ing"][len(irregular) :])


def french_verb(infinitive: str) -> Conjugation:
    stem, ending = infinitive[:-2], infinitive[-2:]
    if infinitive in lexicon.FRENCH_VERBS:
        *present, future, participle = lexicon.FRENCH_VERBS[infinitive].split()
    else:
        endings, participle = {
            "er": ("e es e ons ent", stem + "é"),
            "ir": ("is is it issons issent", stem + "i"),
            "re": ("s s _ ons ent", stem + "u"),
        }[ending]
        present = [stem + end.strip("_") for end in endings.split()]
        present[3] = re.sub("gons$", "geons", re.sub("cons$", "çons", present[3]))
        future = infinitive.removesuffix("e")
    past = ("étais", "étais", "était", "étions", "étaient") if infinitive == "être" else ()
    tomorrow = tuple(future + end for end in ("ai", "as", "a", "ons", "ont"))
    return Conjugation(tuple(present), past, tomorrow, "", agreeing(participle, FRENCH))


def spanish_verb(infinitive: str) -> Conjugation:
    stem, ending = infinitive[:-2], infinitive[-2:]
    endings = {
        "ar": "present o as a amos an past é aste ó amos aron gerund ando participle ado",
        "er": "present o es e emos en past í iste ió imos ieron gerund iendo participle ido",
        "ir": "present o es e imos en past í iste ió imos ieron gerund iendo participle ido",
    }[ending]
    forms = {name: [stem + end for end in ends] for name, ends in named(endings).items()} | {"future": [infinitive]}
    forms["past"][0] = re.sub("cé$", "qué", re.sub("zé$", "çé", forms["past"][0])).replace("ç", "c")
    forms |= named(lexicon.SPANISH_VERBS.get(infinitive, ""))
    tomorrow = tuple(forms["future"][0] + end for end in ("é", "ás", "á", "emos", "án"))
    participle = agreeing(forms["participle"][0], SPANISH)
    return Conjugation(tuple(forms["present"]), tuple(forms["past"]), tomorrow, forms["gerund"][0], participle)


def named(text: str) -> dict[str, list[str]]:
    """`past di dio gerund dando` → {past: [di, dio], gerund: [dando]}."""
    pieces = re.split(r"\b(present|past|future|gerund|participle)\b", text)
    return {name: forms.split() for name, forms in zip(pieces[1::2], pieces[2::2], strict=True)}


def verb(english: str, french: str, spanish: str, marks: str) -> Verb:
    objects = tuple(noun for mark in marks.split() for noun in NOUNS.get(mark, ()))
    return Verb(english_verb(english), (french_verb(french), spanish_verb(spanish)), objects, frozenset(marks.split()))


def determiner(english: str, *romance: str) -> Determiner:
    singular, plural = english.split("/")
    french, spanish = (((he, she), (they, women)) for he, she, they, women in map(str.split, romance))
    return Determiner((singular, plural), (french, spanish))


def fixed(table: str) -> dict[str, Fixed]:
    return {
        english: Fixed(tuple(english.split()), (rendering(french, english), rendering(spanish, english)))
        for english, french, spanish in entries(table)
    }


def rendering(text: str, english: str) -> Rendering:
    *words, last = text.split()
    traits = last if last in ("m", "f", "mp", "fp") else ""
    everything = tuple(range(len(english.split())))
    pieces = [word.split(".") for word in (words if traits else [*words, last])]
    linked = tuple((word, tuple(map(int, links[0])) if links else everything) for word, *links in pieces)
    return Rendering(linked, "f" in traits, "p" in traits)


def inside(place: Fixed) -> Fixed:
    """`Rome` → `in Rome`: à Rome, en Roma. A country: en France; but au Japon, aux États-Unis (à le, à les)."""
    french, spanish = (
        tuple((word, tuple(link + 1 for link in links)) for word, links in side.words) for side in place.romance
    )
    article, name = french[:-1], french[-1]
    side = place.romance[FRENCH]
    en = article and not side.plural and (side.feminine or name[0][0] in "AEIOU")
    renderings = (("en", (0,)), name) if en else (("à", (0,)), *french), (("en", (0,)), *spanish)
    return Fixed(("in", *place.english), (Rendering(renderings[0]), Rendering(renderings[1])))


def person(sex: str, *names: str) -> Fixed:
    side = Rendering(tuple((name, (place,)) for place, name in enumerate(names)), sex == "f")
    return Fixed(names, (side, side), person=True)


NOUNS = {kind: nouns(kind) for kind in lexicon.NOUNS}
VERBS = {verb.english.base: verb for verb in (verb(*entry) for entry in entries(lexicon.VERBS))}
ETRE, AVOIR, SER, ESTAR, HABER = *map(french_verb, ("être", "avoir")), *map(spanish_verb, ("ser", "estar", "haber"))
DETERMINERS = {word.english: word for word in (determiner(*entry) for entry in entries(lexicon.DETERMINERS))}
CITIES, COUNTRIES, ORGANISATIONS = map(fixed, (lexicon.CITIES, lexicon.COUNTRIES, lexicon.ORGANISATIONS))
MONTHS, PREPOSITIONS, CONJUNCTIONS = map(fixed, (lexicon.MONTHS, lexicon.PREPOSITIONS, lexicon.CONJUNCTIONS))
TIMES = {tense: tuple(fixed(table).values()) for tense, table in lexicon.TIMES.items()}
INSIDE = tuple(inside(place) for place in (*CITIES.values(), *COUNTRIES.values()))
PEOPLE = tuple(
    person(sex, *name)
    for given, sex in map(str.split, lexicon.GIVEN_NAMES.split(";"))
    for name in [(given,), *((given, surname) for surname in lexicon.SURNAMES.split())]
)
