"""Makes up sentences to a given length: trees of the grammar, drawn at random.

Nothing here may be said in two ways: what English leaves open, the choices below close. A relative clause belongs to
the noun right before it and holds no "and"; only the last of two coordinated nouns has anything after it; no subject
is coordinated in a clause that follows "and"; a negated verb has one object.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from regard.data.corpora import lexicon, words
from regard.data.corpora.grammar import (
    Agreement,
    Both,
    Clause,
    Complement,
    Date,
    NounPhrase,
    Pronoun,
    Sentence,
    Tense,
)
from regard.data.corpora.words import CONJUNCTIONS, NOUNS, PREPOSITIONS, VERBS, Adjective, Determiner, Fixed, Noun, Verb

T = TypeVar("T")
Adjunct = Complement | Fixed | Date

# Articles that a noun may take, each with whether the noun is then plural. Objects may also go without.
WEIGHTS = {"the": 5, "a": 8, "-": 1}
COUNTED = [
    (word, plural)
    for word in words.DETERMINERS.values()
    for plural in (False, True)
    if word.english[plural] != "-"
    for _ in range(WEIGHTS.get(word.english[0], 2))
]
UNCOUNTED = [(word, plural) for word, plural in COUNTED if not plural and word.english[0] not in ("a", "each")]
BARE_COUNTED: list[tuple[Determiner | None, bool]] = [*COUNTED, *[(None, True)] * 6]
BARE_UNCOUNTED: list[tuple[Determiner | None, bool]] = [*UNCOUNTED, *[(None, False)] * 12]

OWNERS = ("my", "your", "his", "her", "our", "their")
PERSONS, PLACES = NOUNS["person"], NOUNS["place"]
ALL_NOUNS = tuple(noun for nouns in NOUNS.values() for noun in nouns)
PREDICATES = {
    kind: [word for word in nouns[0].qualities + nouns[0].types if word.predicative] for kind, nouns in NOUNS.items()
}
TRANSITIVE = [verb for verb in VERBS.values() if verb.objects]
TAKING = {kind: [verb for verb in TRANSITIVE if kind in verb.marks] for kind in NOUNS}  # verbs by what they are done to
SUFFERED_VERBS = [verb for verb in TRANSITIVE if "stative" not in verb.marks]
SUFFERED = {kind: [verb for verb in verbs if "stative" not in verb.marks] for kind, verbs in TAKING.items()}
INTRANSITIVE = [verb for verb in VERBS.values() if not verb.marks]
SAYING = [verb for verb in VERBS.values() if "that" in verb.marks]
JOINING = [CONJUNCTIONS[word] for word in ("and", "and", "and", "but", "but", "because", "because", "or", "if")]
CITIES = tuple(words.CITIES.values())
POWERS = (*words.COUNTRIES.values(), *words.ORGANISATIONS.values())
SINGLE_NAMES = [name for name in words.PEOPLE if len(name.english) == 1]
FULL_NAMES = [name for name in words.PEOPLE if len(name.english) == 2]
PRONOUNS = {
    english: Pronoun(english, french, Agreement((0, 1, 2, 1, 1)[int(person)], int(person), sex == "f"))
    for english, french, person, sex in map(str.split, lexicon.PRONOUNS.split(";"))
}
AGENTS = [pronoun for english, pronoun in PRONOUNS.items() if english != "it"]
PATIENTS = [PRONOUNS["it"], PRONOUNS["they"]]
WHERE = [PREPOSITIONS[word] for word in ("in", "near", "behind", "in front of")]
WITH = [PREPOSITIONS[word] for word in ("with", "for", "without")]
MONTHS = tuple(words.MONTHS.values())
TENSES: tuple[tuple[Tense, int], ...] = (  # each with the words that it adds to the verb
    ("present", 0), ("present", 0), ("past", 0), ("past", 0), ("progressive", 1), ("future", 1), ("perfect", 1)
)  # fmt: skip


class Speaker:
    """Makes up sentences. `spare` is how many more words there is room for, beyond those already decided on."""

    brevity = 2.2  # how much short sentences are preferred; 1: not at all
    states = 0.22  # how often a clause says what somebody or something is, or what was done to it
    opinions = 0.5  # how many of those say what it is
    topics = 0.3  # how often what more is said of a document is what it is on
    deeds: Sequence[Verb] = SUFFERED_VERBS  # what is told to have been done

    def __init__(self, random: Random) -> None:
        self.random = random.random
        self.spare = 0
        self.and_before = False  # the clause follows an "and"

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def afford(self, cost: int, chance: float) -> bool:
        """Whether to go for something that costs so many words; if so they are spent."""
        if self.spare < cost or self.random() > chance:
            return False
        self.spare -= cost
        return True

    def sentence(self, lengths: range) -> Sentence:
        """Clauses one after another until a length is reached that was drawn beforehand, short ones more often."""
        left = lengths[int(len(lengths) * self.random() ** self.brevity)]
        stop = left > 3 and self.random() < 0.5
        left -= stop
        clauses: list[Clause] = []
        conjunctions: list[Fixed] = []
        while True:
            self.spare = left if left < 12 else min(left - 5, 4 + int(11 * self.random()))
            left -= self.spare
            self.spare -= 2  # the shortest clause: a pronoun and a verb
            before = conjunctions[-1].english[0] if conjunctions else ""
            self.and_before = before == "and"
            clauses.append(self.clause(TENSES[:5] if before == "if" else TENSES))  # no future after "if"
            left += self.spare
            if left < 4:
                return Sentence(tuple(clauses), tuple(conjunctions), stop)
            left -= 1
            conjunctions.append(self.pick(JOINING))

    def clause(self, tenses: Sequence[tuple[Tense, int]]) -> Clause:
        """Spends what there is beyond two words."""
        if self.afford(3, 0.06):
            speaker = self.agent(False)
            return Clause(speaker, self.pick(SAYING), "present", object=self.clause(TENSES))
        if self.afford(1, self.states):
            return self.described(tenses) if self.random() < self.opinions else self.passive()
        if self.spare < 1 or self.random() < 0.2:
            verb, official = self.pick(INTRANSITIVE), False
        else:
            verb = self.pick(TRANSITIVE)
            official = "official" in verb.marks
            self.spare -= 1
        tense, negated = self.tense(verb, tenses)
        subject = self.agent(official)
        return Clause(subject, verb, tense, negated, *self.rest(verb, tense, negated, joins=not negated))

    def tense(self, verb: Verb, tenses: Sequence[tuple[Tense, int]]) -> tuple[Tense, bool]:
        tense, cost = self.pick(tenses)
        if (tense == "progressive" and "stative" in verb.marks) or not self.afford(cost, 1):
            tense, cost = "past", 0
        return tense, self.afford(1 if cost else 2, 0.2)

    def rest(
        self, verb: Verb, tense: Tense, negated: bool, joins: bool
    ) -> tuple[NounPhrase | Both | None, tuple[Adjunct, ...]]:
        """What comes after the verb; the first word of an object is already paid for."""
        object: NounPhrase | Both | None = None
        adjuncts: list[Adjunct] = []
        if verb.objects:
            noun = self.pick(verb.objects)
            object = self.noun_phrase(noun, bare=True, relative=not negated)
            if joins and not object.after and self.afford(3, 0.12):
                object = Both(object, self.noun_phrase(self.pick(verb.objects), bare=True))
            if "gives" in verb.marks and self.afford(2, 0.5):
                adjuncts.append(Complement(PREPOSITIONS["to"], self.someone()))
        return object, (*adjuncts, *self.adjuncts(tense))

    def adjuncts(self, tense: Tense) -> list[Adjunct]:
        found: list[Adjunct] = []
        if self.afford(2, 0.25):
            found.append(Complement(self.pick(WITH), self.someone()))
        if self.spare >= 2 and self.random() < 0.5:
            found += self.where()
        if self.spare >= 1 and self.random() < 0.6:
            found += self.when(tense)
        return found

    def where(self) -> list[Adjunct]:
        if self.random() < 0.35:
            inside = self.pick(words.INSIDE)
            return [inside] if self.afford(len(inside.english), 1) else []
        preposition = self.pick(WHERE)
        if not self.afford(len(preposition.english) + 1, 1):
            return []
        return [Complement(preposition, self.noun_phrase(self.pick(PLACES)))]

    def when(self, tense: Tense) -> list[Adjunct]:
        tense = "past" if tense == "passive" else tense
        if tense in ("past", "future") and self.random() < 0.6:
            year = str((1900 if tense == "past" else 2030) + int(120 * self.random()))
            if self.afford(4, 0.3):
                return [Date(self.day(), self.pick(MONTHS), year)]
            if self.afford(3, 0.6):
                month = self.pick(MONTHS)
                return [Date("", month, year) if self.random() < 0.6 else Date(self.day(), month)]
            return [Date(year=year)] if self.afford(2, 1) else []
        if tense not in words.TIMES:
            return []
        time = self.pick(words.TIMES[tense])
        return [time] if self.afford(len(time.english), 1) else []

    def day(self) -> str:
        return str(2 + int(27 * self.random()))  # not the first: French says "le 1er"

    def agent(self, official: bool) -> Pronoun | NounPhrase | Fixed | Both:
        """Who does something; the first word is already paid for."""
        if official and self.random() < 0.4:
            power = self.pick(POWERS)
            if self.afford(len(power.english) - 1, 1):
                return power
        if not self.afford(1, 0.6):
            return self.pick(AGENTS) if self.random() < 0.6 else self.pick(SINGLE_NAMES)
        first = self.pick(FULL_NAMES) if self.random() < 0.15 else self.noun_phrase(self.pick(PERSONS))
        alone = isinstance(first, Fixed) or not first.after
        if alone and not self.and_before and self.afford(3, 0.15):
            return Both(first, self.noun_phrase(self.pick(PERSONS)))
        return first

    def someone(self) -> NounPhrase | Fixed:
        """A person after a preposition; the first word is already paid for."""
        return self.noun_phrase(self.pick(PERSONS)) if self.afford(1, 0.7) else self.pick(SINGLE_NAMES)

    def noun_phrase(self, noun: Noun, bare: bool = False, relative: bool = True) -> NounPhrase:
        """An article and a noun, already paid for, with adjectives and more; `bare`: only the noun is paid for."""
        options = (BARE_UNCOUNTED if bare else UNCOUNTED) if noun.mass else (BARE_COUNTED if bare else COUNTED)
        determiner, plural = self.pick(options)
        if bare and determiner and not self.afford(1, 1):
            determiner, plural = None, not noun.mass
        adjectives: tuple[Adjective, ...] = (self.pick(noun.qualities),) if self.afford(1, 0.3) else ()
        if self.afford(1, 0.2):
            adjectives += (self.pick(noun.types),)
        after: Complement | Clause | None = None
        if determiner and self.spare >= 2 and self.random() < self.detail(noun):
            after = self.modifier(noun, relative, owned=determiner.english[0] in OWNERS)
        return NounPhrase(determiner, plural, noun, adjectives, after)

    def detail(self, noun: Noun) -> float:
        """How often more is said of a noun, where there is room."""
        return 0.35

    def modifier(self, noun: Noun, relative: bool, owned: bool) -> Complement | Clause | None:
        """What comes after a noun: of whom, from where, about what, or a relative clause."""
        if noun.kind == "document" and self.afford(3, self.topics):
            power = self.pick(POWERS)
            if self.afford(len(power.english) - 2, 0.5):
                return Complement(PREPOSITIONS["on"], power)
            return Complement(PREPOSITIONS["on"], self.noun_phrase(self.pick(ALL_NOUNS)))
        if noun.kind == "person" and self.afford(2, 0.2):
            return Complement(PREPOSITIONS["from"], self.pick(CITIES))
        if not owned and self.afford(2, 0.4):
            return Complement(PREPOSITIONS["of"], self.someone())
        return self.relative(noun) if relative else None

    def relative(self, noun: Noun) -> Clause | None:
        """The bread that we ate; the woman who sings; the house which was built, which is small."""
        if self.afford(3, 0.45):
            verb = self.pick(TAKING[noun.kind])
            tense, negated = self.tense(verb, TENSES)
            return Clause(self.agent("official" in verb.marks), verb, tense, negated)
        if noun.kind == "person" and self.afford(2, 0.6):
            verb = self.pick(TRANSITIVE if self.afford(1, 0.6) else INTRANSITIVE)
            tense, negated = self.tense(verb, TENSES)
            return Clause(None, verb, tense, negated, *self.rest(verb, tense, negated, joins=False))
        if self.afford(3, 1):
            return self.described(TENSES, noun) if self.random() < 0.5 else self.passive(noun)
        return None

    def described(self, tenses: Sequence[tuple[Tense, int]], noun: Noun | None = None) -> Clause:
        """Somebody or something is so. Without a noun that it is about, it finds itself a subject."""
        kind = noun.kind if noun else "person"
        subject: Pronoun | NounPhrase | Fixed | Both | None = None
        if not noun:
            if self.afford(1, 0.4):
                noun = self.pick(ALL_NOUNS)
                kind, subject = noun.kind, self.noun_phrase(noun)
            else:
                subject = self.agent(False)
        tense, cost = self.pick(tenses)
        if tense not in ("present", "past") and not (tense == "future" and self.afford(cost, 1)):
            tense = "present"
        negated = self.afford(1, 0.2)
        return Clause(subject, self.pick(PREDICATES[kind]), tense, negated, None, tuple(self.adjuncts(tense)))

    def passive(self, noun: Noun | None = None) -> Clause:
        """Something was done to it, in the past, perhaps by somebody."""
        subject: Pronoun | NounPhrase | None = None
        if noun:
            verb = self.pick(SUFFERED[noun.kind])
        else:
            verb = self.pick(self.deeds)
            subject = self.noun_phrase(self.pick(verb.objects)) if self.afford(1, 0.9) else self.pick(PATIENTS)
        negated = self.afford(1, 0.2)
        by: list[Adjunct] = [Complement(PREPOSITIONS["by"], self.someone())] if self.afford(2, 0.35) else []
        return Clause(subject, verb, "passive", negated, None, (*by, *self.adjuncts("passive")))


class Reporter(Speaker):
    """Speaks as newspapers do: of agreements, laws and letters, what they are on, what was done to them and when."""

    brevity, states, opinions, topics = 1.3, 0.45, 0.2, 1.0
    deeds = SUFFERED_VERBS + 5 * SUFFERED["document"]

    def detail(self, noun: Noun) -> float:
        return 0.95 if noun.kind == "document" else 0.15
