"""A grammar of English with French or Spanish: every rule says its part of the sentence in both languages at once.

A sentence is a tree of small values. A `Writer` puts the English words on one side and the Romance words on the other,
and each Romance word is born knowing the English words that it renders: those links are the gold alignment.

What is linked: a word to its translation, an article to an article; a contraction (du = de + le) to what either half
renders; `not` to both `ne` and `pas`; auxiliaries to the auxiliary where there is one (`was signed`: was–a, was–été,
signed–signé; `ate`: ate–a, ate–mangé) and to the verb where there is none (`does eat`: both to mange). A word without
a counterpart goes with the word that calls for it: a dropped subject pronoun with the Spanish verb, the articles of
`du pain` and `la France` and the `a` of `a la mujer` with the noun, the `de` of a Spanish date with what follows it.
"""

from typing import ClassVar, Literal, NamedTuple, TypeAlias, Union

from regard.data.corpora import words
from regard.data.corpora.words import FRENCH, SPANISH, VOWELS, Adjective, Determiner, Fixed, Links, Noun, Verb

Tense = Literal["present", "past", "future", "progressive", "perfect", "passive"]
Written: TypeAlias = tuple[str, Links]
BE = {"present": ("am", "are", "is"), "past": ("was", "were", "was")}
DO, HAVE = ("do", "do", "does"), ("have", "have", "has")
FUE = ("fui", "fuiste", "fue", "fuimos", "fueron")
NOT_AN = ("Eu", "uni", "use")  # a European, a university, a useful: the vowel is seen, not heard
ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'"}
BEFORE_A_VOWEL = ELIDED | {"ma": "mon", "ta": "ton", "sa": "son", "ce": "cet", "beau": "bel", "nouveau": "nouvel"}
NOT_A_VOWEL = ("héros", "huit", "onze")


class Agreement(NamedTuple):
    """What a subject asks of its verb."""

    english: int  # I, we, he: 0, 1, 2
    person: int  # I, you, he, we, they: 0 to 4
    feminine: bool = False
    dropped: Links = ()  # a pronoun that is left to the verb's ending

    @property
    def plural(self) -> bool:
        return self.person > 2


THIRD = [[Agreement(2, 2), Agreement(2, 2, True)], [Agreement(1, 4), Agreement(1, 4, True)]]  # [plural][feminine]
RENDERED = [THIRD[False], [Agreement(2, 4), Agreement(2, 4, True)]]  # English names are singular: the United States is


class Pronoun(NamedTuple):
    english: str
    french: str
    agreement: Agreement


class NounPhrase(NamedTuple):
    determiner: Determiner | None
    plural: bool
    noun: Noun
    adjectives: tuple[Adjective, ...] = ()
    after: Union["Complement", "Clause", None] = None  # a clause is a relative one: without subject, or without object


class Both(NamedTuple):
    first: NounPhrase | Fixed
    second: NounPhrase | Fixed


class Complement(NamedTuple):
    preposition: Fixed
    thing: NounPhrase | Fixed


class Date(NamedTuple):
    day: str = ""
    month: Fixed | None = None
    year: str = ""


class Clause(NamedTuple):
    subject: Pronoun | NounPhrase | Fixed | Both | None
    verb: Verb | Adjective  # an adjective: the verb is "to be"
    tense: Tense
    negated: bool = False
    object: Union[NounPhrase, Fixed, Both, "Clause", None] = None  # a clause: "says that …"
    adjuncts: tuple[Complement | Fixed | Date, ...] = ()


class Sentence(NamedTuple):
    clauses: tuple[Clause, ...]
    conjunctions: tuple[Fixed, ...] = ()
    stop: bool = False


class Writer:
    """Writes one sentence; a subclass knows what its language does in its own way."""

    language: int
    day: str  # what opens a date with a day in it
    contracted: ClassVar[dict[tuple[str, str], str]]
    changing: ClassVar[frozenset[str]]  # words whose form may depend on the next word
    relative: tuple[str, str]  # for a subject, for an object

    def __init__(self, sentence: Sentence) -> None:
        self.english: list[str] = []
        self.romance: list[Written] = []
        for conjunction, clause in zip((None, *sentence.conjunctions), sentence.clauses, strict=True):
            if conjunction:
                self.fixed(conjunction)
            self.clause(clause)
        if sentence.stop:
            self.romance.append((".", self.say(".")))

    def say(self, word: str) -> Links:
        """Put down an English word; gives the link to it."""
        self.english.append(word)
        return (len(self.english) - 1,)

    def translation(self) -> list[Written]:
        """The Romance side with elisions and contractions made, from the end: a word's form depends on the next."""
        done = [self.romance[-1]]
        for word, links in reversed(self.romance[:-1]):
            if word in self.changing:
                following, others = done[-1]
                if (word, following) in self.contracted:
                    done[-1] = self.contracted[word, following], links + others
                    continue
                word = self.before(word, following)
            done.append((word, links))
        return done[::-1]

    def clause(self, clause: Clause, antecedent: Agreement | None = None) -> None:
        """A main clause, or a relative one: then the antecedent is its subject if it has none, and else its object."""
        subject = self.subject(clause.subject) if clause.subject else antecedent
        assert subject is not None
        self.verb(clause, subject, antecedent)
        if isinstance(clause.verb, Adjective):
            form = clause.verb.romance[self.language][subject.plural][subject.feminine]
            self.romance.append((form, self.say(clause.verb.english)))
        if isinstance(clause.object, Clause):
            self.romance.append(("que", self.say("that")))
            self.clause(clause.object)
        elif clause.object:
            self.thing(clause.object, is_object=True, denied=clause.negated)
        for adjunct in clause.adjuncts:
            if isinstance(adjunct, Date):
                self.date(adjunct)
            elif isinstance(adjunct, Complement):
                self.fixed(adjunct.preposition)
                self.thing(adjunct.thing)
            else:
                self.fixed(adjunct)

    def subject(self, subject: Pronoun | NounPhrase | Fixed | Both) -> Agreement:
        if not isinstance(subject, Pronoun):
            return self.thing(subject)
        return subject.agreement._replace(dropped=self.pronoun(subject, self.say(subject.english)))

    def thing(self, thing: NounPhrase | Fixed | Both, is_object: bool = False, denied: bool = False) -> Agreement:
        if isinstance(thing, NounPhrase):
            return self.noun_phrase(thing, is_object, denied)
        if isinstance(thing, Fixed):
            if is_object and thing.person:
                self.mark_person((len(self.english),))
            return self.fixed(thing)
        first = self.thing(thing.first, is_object)
        self.fixed(words.CONJUNCTIONS["and"])
        second = self.thing(thing.second, is_object)
        return Agreement(1, 4, first.feminine and second.feminine)

    def fixed(self, fixed: Fixed) -> Agreement:
        start = len(self.english)
        self.english += fixed.english
        rendering = fixed.romance[self.language]
        for word, links in rendering.words:
            self.romance.append((word, (start + links[0],) if len(links) == 1 else tuple([start + at for at in links])))
        return RENDERED[rendering.plural][rendering.feminine]

    def noun_phrase(self, phrase: NounPhrase, is_object: bool, denied: bool) -> Agreement:
        """English: the beautiful red houses. French: les belles maisons rouges; mirror order behind the noun."""
        determiner, plural, noun, adjectives, after = phrase
        article: Links = ()
        if determiner:
            word = determiner.english[plural]
            following = adjectives[0].english if adjectives else noun.english[plural]
            an = word == "a" and (following[0] in "aeiouAEIOU" or following == "honest")
            article = self.say("an" if an and not following.startswith(NOT_AN) else word)
        for adjective in adjectives:
            self.english.append(adjective.english)
        head = self.say(noun.english[plural])

        language, feminine = self.language, noun.feminine[self.language]
        if is_object and noun.kind == "person":
            self.mark_person(head)
        self.determiner(phrase, article or head, denied)
        before: list[Written] = []
        behind: list[Written] = []
        for at, adjective in enumerate(adjectives, head[0] - len(adjectives)):
            side = before if adjective.before[language] else behind
            side.append((adjective.romance[language][plural][feminine], (at,)))
        self.romance += [*before, (noun.romance[language][plural], head), *behind[::-1]]

        agreement = THIRD[plural][feminine]
        if not after:
            return agreement
        if isinstance(after, Complement):
            self.fixed(after.preposition)
            self.thing(after.thing)
        else:
            pronoun = "that" if after.subject else "who" if noun.kind == "person" else "which"
            self.romance.append((self.relative[after.subject is not None], self.say(pronoun)))
            self.clause(after, agreement)
        return agreement

    def determiner(self, phrase: NounPhrase, links: Links, denied: bool) -> None:
        determiner = phrase.determiner
        if determiner:
            feminine = phrase.noun.feminine[self.language]
            self.romance.append((determiner.romance[self.language][phrase.plural][feminine], links))

    def verb(self, clause: Clause, subject: Agreement, antecedent: Agreement | None) -> None:
        auxiliary, main = self.english_verb(clause, subject.english)
        helper = self.say(auxiliary) if auxiliary else ()
        no = self.say("not") if clause.negated else ()
        meaning = self.say(main) if main else ()
        first, *others = self.conjugated(clause, subject, antecedent if clause.subject else None)
        group = [(first, subject.dropped + (helper or meaning if others else helper + meaning))]
        group += [(word, helper or meaning) for word in others[:-1]] + [(word, meaning) for word in others[-1:]]
        self.romance += self.negated(group, no) if clause.negated else group

    def english_verb(self, clause: Clause, person: int) -> tuple[str, str]:
        """The auxiliary and the verb, either of which may be missing."""
        verb, tense = clause.verb, clause.tense
        if isinstance(verb, Adjective):
            return ("will", "be") if tense == "future" else (BE[tense][person], "")
        forms = verb.english
        if tense == "future":
            return "will", forms.base
        if tense == "progressive":
            return BE["present"][person], forms.gerund
        if tense in ("perfect", "passive"):
            return (HAVE if tense == "perfect" else BE["past"])[person], forms.participle
        if clause.negated:
            return "did" if tense == "past" else DO[person], forms.base
        return "", forms.past if tense == "past" else forms.present if person == 2 else forms.base

    def date(self, date: Date) -> None:
        """English: on 4 August 1992. French: le 4 août 1992. Spanish: el 4 de agosto de 1992."""
        self.romance.append((self.day if date.day else "en", self.say("on" if date.day else "in")))
        parts: list[str | Fixed] = [part for part in date if part]
        for part in parts:
            if self.language == SPANISH and self.romance[-1][0] not in ("el", "en"):
                self.romance.append(("de", (len(self.english),)))
            if isinstance(part, Fixed):
                self.fixed(part)
            else:
                self.romance.append((part, self.say(part)))

    def before(self, word: str, following: str) -> str:
        """The form that a word takes before the next one."""
        raise NotImplementedError

    def pronoun(self, pronoun: Pronoun, links: Links) -> Links:
        """Write a subject pronoun, or leave its links to the verb."""
        raise NotImplementedError

    def mark_person(self, links: Links) -> None:
        """Comes before an object that is a person."""

    def conjugated(self, clause: Clause, subject: Agreement, ahead: Agreement | None) -> list[str]:
        """The words of the verb group. `ahead` is the object, where it comes before the verb."""
        raise NotImplementedError

    def negated(self, group: list[Written], links: Links) -> list[Written]:
        raise NotImplementedError


class French(Writer):
    language = FRENCH
    day = "le"
    relative = ("qui", "que")
    contracted: ClassVar = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
    changing = frozenset([*BEFORE_A_VOWEL, "à", "si"])

    def before(self, word: str, following: str) -> str:
        if word in BEFORE_A_VOWEL:
            heard = (following[0].lower() in VOWELS or following[0] == "h") and following not in NOT_A_VOWEL
            return BEFORE_A_VOWEL[word] if heard else word
        return "s'" if word == "si" and following in ("il", "ils") else word

    def pronoun(self, pronoun: Pronoun, links: Links) -> Links:
        self.romance.append((pronoun.french, links))
        return ()

    def determiner(self, phrase: NounPhrase, links: Links, denied: bool) -> None:
        """No noun is bare: du pain, de la soupe, des pommes; but de bonnes pommes, and pas de pain, pas de pomme."""
        determiner, adjectives = phrase.determiner, phrase.adjectives
        if denied and (not determiner or determiner.english[0] == "a"):
            self.romance.append(("de", links))
        elif determiner:
            super().determiner(phrase, links, denied)
        elif phrase.plural:
            self.romance.append(("de" if adjectives and adjectives[0].before[FRENCH] else "des", links))
        else:
            self.romance += [("de", links), ("la" if phrase.noun.feminine[FRENCH] else "le", links)]

    def conjugated(self, clause: Clause, subject: Agreement, ahead: Agreement | None) -> list[str]:
        verb, tense, person = clause.verb, clause.tense, subject.person
        if isinstance(verb, Adjective):
            etre = words.ETRE
            return [(etre.past if tense == "past" else etre.future if tense == "future" else etre.present)[person]]
        forms = verb.romance[FRENCH]
        if tense == "passive":
            return [words.AVOIR.present[person], "été", forms.participle[subject.plural][subject.feminine]]
        if tense in ("past", "perfect"):  # agrees with an object ahead of it: la lettre qu'il a écrite
            participle = forms.participle[ahead.plural][ahead.feminine] if ahead else forms.participle[0][0]
            return [words.AVOIR.present[person], participle]
        return [(forms.future if tense == "future" else forms.present)[person]]

    def negated(self, group: list[Written], links: Links) -> list[Written]:
        return [("ne", links), group[0], ("pas", links), *group[1:]]


class Spanish(Writer):
    language = SPANISH
    day = "el"
    relative = ("que", "que")
    contracted: ClassVar = {("de", "el"): "del", ("a", "el"): "al"}
    changing = frozenset(["de", "a", "y", "o"])

    def before(self, word: str, following: str) -> str:
        if word == "y" and following.lower().startswith(("i", "hi", "í")):
            return "e"
        return "u" if word == "o" and following.lower().startswith(("o", "ho", "ó")) else word

    def pronoun(self, pronoun: Pronoun, links: Links) -> Links:
        return links

    def mark_person(self, links: Links) -> None:
        self.romance.append(("a", links))

    def conjugated(self, clause: Clause, subject: Agreement, ahead: Agreement | None) -> list[str]:
        verb, tense, person = clause.verb, clause.tense, subject.person
        if isinstance(verb, Adjective):
            be = words.ESTAR if verb.estar else words.SER
            return [(be.past if tense == "past" else be.future if tense == "future" else be.present)[person]]
        forms = verb.romance[SPANISH]
        if tense == "progressive":
            return [words.ESTAR.present[person], forms.gerund]
        if tense == "perfect":
            return [words.HABER.present[person], forms.participle[0][0]]
        if tense == "passive":
            return [FUE[person], forms.participle[subject.plural][subject.feminine]]
        return [(forms.past if tense == "past" else forms.future if tense == "future" else forms.present)[person]]

    def negated(self, group: list[Written], links: Links) -> list[Written]:
        return [("no", links), *group]
