"""The built-in parallel corpus: right, one translation for each sentence, aligned, split for good, and large."""

import random
from itertools import islice

import pytest

from regard.data.corpora import speaker, words
from regard.data.corpora.grammar import Both, Clause, Complement, Date, French, NounPhrase, Sentence, Spanish
from regard.data.corpora.phrases import join_words, notes_sentences, phrases, split_words
from regard.errors import UserError

LANGUAGES = ("french", "spanish")
WRITERS = {"french": French, "spanish": Spanish}
NOUN = {number: (noun, plural) for noun in speaker.ALL_NOUNS for plural, number in enumerate(noun.english)}
ADJECTIVE = {word.english: word for noun in speaker.ALL_NOUNS for word in noun.qualities + noun.types}
ARTICLE = {word.english[plural]: word for word, plural in speaker.COUNTED}
NAME = {" ".join(name.english): name for name in (*words.PEOPLE, *speaker.POWERS, *words.CITIES.values())}
INSIDE = {" ".join(place.english): place for place in words.INSIDE}
PRONOUN = speaker.PRONOUNS


def a(text, after=None):
    """`the red cars` as a noun phrase; `bread` without an article."""
    *before, last = text.split()
    noun, plural = NOUN[last]
    article = ARTICLE[before.pop(0)] if before and before[0] in ARTICLE else None
    return NounPhrase(article, bool(plural), noun, tuple(ADJECTIVE[word] for word in before), after)


def prep(preposition, thing):
    return Complement(words.PREPOSITIONS[preposition], thing)


def say(subject, verb, tense="present", negated=False, object=None, *adjuncts):
    return Clause(subject, words.VERBS.get(verb) or ADJECTIVE[verb], tense, negated, object, adjuncts)


WE, I, SHE, HE, YOU, THEY, IT = (PRONOUN[word] for word in ("we", "I", "she", "he", "you", "they", "it"))
CHECKED = [  # (clause, English, French, Spanish)
    (say(WE, "eat", "progressive", False, a("bread")),
     "we are eating bread", "nous mangeons du pain", "estamos comiendo pan"),
    (say(WE, "eat", "past", True, a("bread")),
     "we did not eat bread", "nous n'avons pas mangé de pain", "no comimos pan"),
    (say(I, "buy", "present", False, a("eggs")), "I buy eggs", "j'achète des œufs", "compro huevos"),
    (say(SHE, "have", "present", True, a("a dog")),
     "she does not have a dog", "elle n'a pas de chien", "no tiene un perro"),
    (say(THEY, "drink", "future", False, a("oil")), "they will drink oil", "ils boiront de l'huile", "beberán aceite"),
    (say(HE, "have", "perfect", False, a("this hat")),
     "he has had this hat", "il a eu ce chapeau", "ha tenido este sombrero"),
    (say(YOU, "tired"), "you are tired", "tu es fatigué", "estás cansado"),
    (say(SHE, "Spanish", "past", True), "she was not Spanish", "elle n'était pas espagnole", "no era española"),
    (say(a("the big houses"), "white", "future"),
     "the big houses will be white", "les grandes maisons seront blanches", "las casas grandes serán blancas"),
    (say(a("that young man"), "sleep"), "that young man sleeps", "ce jeune homme dort", "ese hombre joven duerme"),
    (say(a("these young women"), "sleep", "past"),
     "these young women slept", "ces jeunes femmes ont dormi", "estas mujeres jóvenes durmieron"),
    (say(a("my idea"), "strange"), "my idea is strange", "mon idée est étrange", "mi idea es extraña"),
    (say(a("the beautiful hotel"), "see", "passive"),
     "the beautiful hotel was seen", "le bel hôtel a été vu", "el hotel hermoso fue visto"),
    (say(a("the good engineer"), "work"),
     "the good engineer works", "le bon ingénieur travaille", "el buen ingeniero trabaja"),
    (say(a("a great actress"), "sing"), "a great actress sings", "une grande actrice chante", "una gran actriz canta"),
    (say(a("the hero"), "speak", "past", False, None, prep("to", a("the heroes"))),
     "the hero spoke to the heroes", "le héros a parlé aux héros", "el héroe habló a los héroes"),
    (say(a("a honest lawyer"), "wait", "present", True),
     "an honest lawyer does not wait", "un avocat honnête n'attend pas", "un abogado honesto no espera"),
    (say(a("a European law"), "write", "passive", False, None, prep("by", a("the minister"))),
     "a European law was written by the minister", "une loi européenne a été écrite par le ministre",
     "una ley europea fue escrita por el ministro"),
    (say(I, "give", "past", False, a("a new knife"), prep("to", a("the teacher"))),
     "I gave a new knife to the teacher", "j'ai donné un nouveau couteau au professeur",
     "di un nuevo cuchillo al profesor"),
    (say(WE, "see", "past", False, Both(a("the woman"), a("the king"))),
     "we saw the woman and the king", "nous avons vu la femme et le roi", "vimos a la mujer y al rey"),
    (say(Both(a("the sister"), a("the daughters")), "happy"),
     "the sister and the daughters are happy", "la sœur et les filles sont heureuses",
     "la hermana y las hijas están felices"),
    (say(Both(a("the sister"), NAME["Iris"]), "know", "past", False, NAME["Paul"]),
     "the sister and Iris knew Paul", "la sœur et Iris ont connu Paul", "la hermana e Iris conocieron a Paul"),
    (say(a("the letters", say(SHE, "write", "perfect")), "long"),
     "the letters that she has written are long", "les lettres qu'elle a écrites sont longues",
     "las cartas que ha escrito son largas"),
    (say(a("the artist", say(None, "paint", "past", False, a("red flowers"))), "dream"),
     "the artist who painted red flowers dreams", "l'artiste qui a peint des fleurs rouges rêve",
     "el artista que pintó flores rojas sueña"),
    (say(WE, "choose", "present", False, a("good tools")),
     "we choose good tools", "nous choisissons de bons outils", "elegimos buenas herramientas"),
    (say(a("the car", prep("of", a("the neighbours"))), "steal", "passive", False, None,
         Date("4", words.MONTHS["May"])),
     "the car of the neighbours was stolen on 4 May", "la voiture des voisins a été volée le 4 mai",
     "el coche de los vecinos fue robado el 4 de mayo"),
    (say(NAME["the United States"], "publish", "progressive", False, a("the reports", prep("of", a("the judge")))),
     "the United States is publishing the reports of the judge", "les États-Unis publient les rapports du juge",
     "los Estados Unidos están publicando los informes del juez"),
    (say(I, "study", "past", False, a("a book", prep("on", NAME["Spain"])), INSIDE["in Japan"]),
     "I studied a book on Spain in Japan", "j'ai étudié un livre sur l'Espagne au Japon",
     "estudié un libro sobre España en Japón"),
    (say(I, "publish", "past", False, a("eleven grey chairs")),
     "I published eleven grey chairs", "j'ai publié onze chaises grises", "publiqué once sillas grises"),
    (say(NAME["Emma"], "say", "present", False, say(IT, "find", "passive", True)),
     "Emma says that it was not found", "Emma dit qu'il n'a pas été trouvé", "Emma dice que no fue encontrado"),
    (say(a("the boy", prep("from", NAME["Athens"])), "run", "future", False, None, INSIDE["in the Netherlands"]),
     "the boy from Athens will run in the Netherlands", "le garçon d'Athènes courra aux Pays-Bas",
     "el chico de Atenas correrá en los Países Bajos"),
]  # fmt: skip


def translated(language, sentence):
    written = WRITERS[language](sentence)
    return join_words(written.english), join_words([word for word, _ in written.translation()])


@pytest.mark.parametrize(("clause", "english", "french", "spanish"), CHECKED, ids=[row[1] for row in CHECKED])
def test_hand_checked(clause, english, french, spanish):
    assert translated("french", Sentence((clause,))) == (english, french)
    assert translated("spanish", Sentence((clause,))) == (english, spanish)


def test_hand_checked_clauses_together():
    sentence = Sentence((say(I, "sing"), say(HE, "dance")), (words.CONJUNCTIONS["if"],), stop=True)
    assert translated("french", sentence) == ("I sing if he dances.", "je chante s'il danse.")
    sentence = Sentence((say(I, "sing"), say(NAME["Omar"], "dance")), (words.CONJUNCTIONS["or"],))
    assert translated("spanish", sentence)[1] == "canto u Omar baila"
    sentence = Sentence((say(I, "sing"), say(NAME["Omar"], "dance")), (words.CONJUNCTIONS["because"],))
    assert translated("french", sentence)[1] == "je chante parce qu'Omar danse"


def links(phrase):
    return {(phrase.source_words[source], phrase.target_words[target]) for source, target in phrase.alignment}


def test_the_sentences_of_the_notes():
    eating, signing = notes_sentences("spanish")
    assert (eating.source, eating.target) == ("we are eating bread", "estamos comiendo pan")
    assert eating.alignment == ((0, 0), (1, 0), (2, 1), (3, 2))
    assert signing.target == "el acuerdo sobre el Espacio Económico Europeo fue firmado en agosto de 1992."

    eating, signing = notes_sentences("french")
    assert eating.target == "nous mangeons du pain"
    assert signing.source == "the agreement on the European Economic Area was signed in August 1992."
    assert signing.target == "l'accord sur la zone économique européenne a été signé en août 1992."
    assert signing.source_words[:2] == ("the", "agreement")
    assert signing.target_words[:2] == ("l'", "accord")
    assert links(signing) == {
        ("the", "l'"), ("agreement", "accord"), ("on", "sur"), ("the", "la"), ("European", "européenne"),
        ("Economic", "économique"), ("Area", "zone"), ("was", "a"), ("was", "été"), ("signed", "signé"), ("in", "en"),
        ("August", "août"), ("1992", "1992"), (".", "."),
    }  # fmt: skip


def test_what_is_linked():
    def linked(language, clause):
        written = WRITERS[language](Sentence((clause,)))
        return [(word, tuple(written.english[link] for link in links)) for word, links in written.translation()]

    refuse = say(WE, "eat", "present", True, a("the bread"))
    assert linked("french", refuse)[:4] == [
        ("nous", ("we",)), ("ne", ("not",)), ("mangeons", ("do", "eat")), ("pas", ("not",))
    ]  # fmt: skip
    assert linked("spanish", refuse)[:2] == [("no", ("not",)), ("comemos", ("we", "do", "eat"))]
    give = say(HE, "show", "past", False, a("a book"), prep("to", a("the king")))
    assert ("au", ("to", "the")) in linked("french", give)
    assert linked("french", give)[1:3] == [("a", ("showed",)), ("montré", ("showed",))]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_is_well_formed(language):
    sample = list(islice(phrases(language, "train", seed=1), 6_000))
    assert len({phrase.source for phrase in sample}) == len(sample)
    assert {len(phrase.source_words) for phrase in sample} == set(range(3, 41))
    assert sum(len(phrase.source_words) >= 15 for phrase in sample) > len(sample) / 4
    for phrase in sample:
        assert split_words(phrase.source) == phrase.source_words
        assert split_words(phrase.target) == phrase.target_words
        assert list(phrase.alignment) == sorted(set(phrase.alignment))
        assert {target for _, target in phrase.alignment} == set(range(len(phrase.target_words)))
        assert {source for source, _ in phrase.alignment} == set(range(len(phrase.source_words)))
        assert phrase.source.endswith(".") == phrase.target.endswith(".")
        assert "-" not in phrase.source_words + phrase.target_words


def assert_one_translation_each(lengths, count):
    drawn = speaker.Speaker(random.Random(2))
    seen: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for _ in range(count):
        sentence = drawn.sentence(lengths)
        written = [writer(sentence) for writer in (French, Spanish)]
        translations = [tuple(word for word, _ in side.translation()) for side in written]
        assert seen.setdefault(tuple(written[0].english), translations) == translations
    return len(seen)


def test_no_sentence_has_two_translations():
    assert_one_translation_each(range(3, 9), 50_000)


def test_no_sentence_has_two_translations_however_it_is_bracketed(monkeypatch):
    """A tiny dictionary makes different trees meet in one English sentence all the time; they must agree."""

    def thin(*names):
        return tuple(
            NOUN[name][0]._replace(qualities=(ADJECTIVE["big"],), types=(ADJECTIVE["French"],)) for name in names
        )

    persons, everything = thin("man", "woman"), thin("man", "woman", "book")
    verbs = [
        words.VERBS[name]._replace(objects=tuple(noun for noun in everything if noun.kind in words.VERBS[name].marks))
        for name in ("find",)
    ]
    articles = [(ARTICLE["a"], False)]
    taking = {noun.kind: [verb for verb in verbs if noun.kind in verb.marks] for noun in everything}
    small = {
        "PERSONS": persons, "ALL_NOUNS": everything, "TRANSITIVE": verbs, "TAKING": taking,
        "SUFFERED": taking, "INTRANSITIVE": [words.VERBS["sleep"]], "SAYING": [words.VERBS["say"]], "COUNTED": articles,
        "BARE_COUNTED": articles, "TENSES": (("past", 0),), "AGENTS": [THEY], "WITH": speaker.WITH[:1],
        "SINGLE_NAMES": [NAME["Paul"]], "FULL_NAMES": [NAME["Anna Vega"]], "JOINING": [words.CONJUNCTIONS["and"]],
        "POWERS": speaker.POWERS[:1], "CITIES": speaker.CITIES[:1], "PREDICATES": {
            kind: [ADJECTIVE["French"]] for kind in ("person", "document")
        },
    }  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(speaker, name, value)
    monkeypatch.setattr(speaker.Speaker, "deeds", verbs)
    monkeypatch.setattr(speaker.Speaker, "adjuncts", lambda self, tense: [])
    afford = speaker.Speaker.afford
    likely = {0.12: 0.6, 0.15: 0.6, 0.3: 0, 0.2: 0.2}  # "and" often, adjectives seldom
    monkeypatch.setattr(
        speaker.Speaker, "afford", lambda self, cost, chance: afford(self, cost, likely.get(chance, chance))
    )
    assert assert_one_translation_each(range(12, 16), 60_000) < 50_000  # many came more than once


def test_the_same_seed_gives_the_same_sentences_and_another_seed_others():
    first, again, other = (list(islice(phrases("french", "train", seed), 500)) for seed in (4, 4, 5))
    assert first == again
    assert first != other
    spanish = islice(phrases("spanish", "train", 4), 500)
    assert [phrase.source for phrase in spanish] == [phrase.source for phrase in first]


def test_splits_never_share_a_sentence():
    seeds = {"train": 1, "valid": 2, "test": 3}
    drawn = {
        split: {phrase.source_words for phrase in islice(phrases("french", split, seed, longest=4), 400)}
        for split, seed in seeds.items()
    }
    assert all(len(sources) == 400 for sources in drawn.values())
    assert not drawn["train"] & drawn["valid"]
    assert not drawn["train"] & drawn["test"]
    assert not drawn["valid"] & drawn["test"]
    shuffled = {phrase.source_words for phrase in islice(phrases("spanish", "valid", 9, longest=4), 400)}
    assert shuffled & drawn["valid"]
    assert not shuffled & drawn["train"]


def test_lengths_are_kept_to():
    for shortest, longest in ((3, 3), (7, 9), (25, 40), (40, 40)):
        drawn = islice(phrases("french", "train", 0, shortest, longest), 200)
        assert all(shortest <= len(phrase.source_words) <= longest for phrase in drawn)


def test_there_are_more_than_ten_million_sentences():
    """Counted exactly for one pattern alone: article, person, verb in the past, article, noun.

    Any person goes with any verb, and any verb with each of its objects. All fillings of a place are different words,
    so different fillings are different sentences.
    """
    articles = {mass: {(w.english[plural], plural) for w, plural in options} for mass, options in (
        (False, speaker.COUNTED), (True, speaker.UNCOUNTED)
    )}  # fmt: skip

    def two_words(nouns):
        pairs = [(article, noun.english[plural]) for noun in nouns for article, plural in articles[noun.mass]]
        assert len(set(pairs)) == len(pairs)
        return len(pairs)

    assert len({verb.english.past for verb in speaker.TRANSITIVE}) == len(speaker.TRANSITIVE)
    count = two_words(speaker.PERSONS) * sum(two_words(verb.objects) for verb in speaker.TRANSITIVE)
    assert count >= 10_000_000


def test_every_english_word_stands_for_one_thing():
    nouns = [noun.english for noun in speaker.ALL_NOUNS]
    assert len({form for noun in nouns for form in noun}) == 2 * len(nouns)
    assert len(words.VERBS) == len({verb.english.past for verb in words.VERBS.values()})


def test_errors_say_what_to_do():
    with pytest.raises(UserError, match=r"^language 'german' does not exist; choose one of french, spanish$"):
        phrases("german", "train")
    with pytest.raises(UserError, match=r"^split 'tests' does not exist; did you mean 'test'\?$"):
        phrases("french", "tests")
    with pytest.raises(UserError, match=r"^phrases have 3 to 40 words, found shortest 9 and longest 5$"):
        phrases("french", "train", shortest=9, longest=5)
