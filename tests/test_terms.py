"""Terminology: phrases stand by themselves, for every tokenizer; terms of each line, in batches as alone."""

import re

import pytest
import torch
import zoo
from hypothesis import given
from hypothesis import strategies as st

from regard import Search, UserError, build
from regard.boundaries import places, stands_in
from regard.decode.terms import Glossary, Term, glossary, glossary_of, read_glossary
from regard.decode.translate import Translation, translate
from regard.decode.wording import Wording, phrase_of
from regard.models.model import Model
from regard.special import START, STOP
from regard.text import Lower, Tokenizer, train_tokenizer
from regard.text.growing import Cursor

TEXT = "Le chat dort. un chaton, le chat noir et l'été: chat chats chatte. xylophone zébré! Ab — ⁇ "
KINDS = {
    "characters": train_tokenizer("characters", [TEXT.replace("é", "e")]),  # é is spelled by half-bytes
    "bytes": train_tokenizer("bytes", [TEXT]),
    "words": train_tokenizer("words", [TEXT]),
    "bpe": train_tokenizer("bpe", [TEXT * 60], 290),
    "lower bpe": Lower(train_tokenizer("bpe", [TEXT.lower() * 60], 280)),
    "lower words": Lower(train_tokenizer("words", [TEXT.lower()])),
}
every_tokenizer = pytest.mark.parametrize("kind", KINDS)
LINES = ["the cat", "a dog", "", "the cat saw the dog and the cat", "dog cat " * 6, "it", "cat"]
SOURCE = train_tokenizer("words", ["the cat saw a dog and it"])


def made(name: str, writer: Tokenizer) -> Model:
    """A translator of the zoo with weights at random, in double precision."""
    torch.manual_seed(3)
    model = build(zoo.SEQ2SEQ[name], writer.vocabulary, SOURCE.vocabulary).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def alone(phrase: str, text: str) -> bool:
    """Written another way: an expression."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


# Words by themselves


@given(text=st.text("ab. é", max_size=9), phrase=st.text("abé", min_size=1, max_size=3))
def test_where_a_phrase_stands_by_itself(text, phrase):
    assert stands_in(phrase, text) == alone(phrase, text)
    assert all(text[at : at + len(phrase)] == phrase for at in places(phrase, text))


def test_scripts_without_blanks_have_words_anywhere():
    assert stands_in("日本", "私は日本語を話す")
    assert not stands_in("re\u0301", "re\u0301e")
    assert not stands_in("e", "e\u0301")  # an accent belongs to its letter


@every_tokenizer
@given(text=st.one_of(st.text(max_size=12), st.text("chatoné .l'", max_size=12)))
def test_a_text_that_grows_is_the_text(kind, text):
    tokenizer, cursor, said = KINDS[kind], Cursor(), ""
    for token in (tokens := tokenizer.encode(text)):
        cursor, more = cursor.add(tokenizer, token)
        said += more
    assert said + cursor.end() == tokenizer.decode(tokens)


@every_tokenizer
@given(
    texts=st.lists(st.sampled_from(["chat", " chat", "on", "le", " le", " ", ".", ". Le", "C", "hat", "é"]), max_size=6)
)
def test_what_is_left_to_say_is_what_the_whole_text_says(kind, texts):
    """However a text is cut into tokens: an answer may end where the text has all of it, and nothing that is banned."""
    tokenizer = KINDS[kind]
    wording = Wording(tokenizer, (phrase_of(tokenizer, ["le chat"]),), (phrase_of(tokenizer, ["zébré"]),))
    tokens = [token for text in texts for token in tokenizer.encode(text)]
    standing = wording.start([START])
    for token in tokens:
        standing = wording.after(standing, token)
    text = tokenizer.decode(tokens)
    met = phrase_of(tokenizer, ["le chat"]).stands_in(text)
    assert met == (
        alone("le chat", text) or (tokenizer.cased and re.search(r"(^|[.!?…] ) *Le chat\b", text) is not None)
    )
    assert (wording.after(standing, STOP) is not None) == met == (wording.left(standing) == 0)
    assert met == (not wording.wants(standing))


@every_tokenizer
@pytest.mark.parametrize("begun", ["", "un", "un ", "l'", "le", "le ", "(", "Un. ", "chat", "unle "])
def test_what_is_wanted_leads_there(kind, begun):
    """Whoever always says what is wanted has said it, and has no more to say than was left."""
    tokenizer = KINDS[kind]
    wording = Wording(tokenizer, (phrase_of(tokenizer, ["le chat", "xylophone zébré"]),))
    standing, tokens = wording.start([START]), tokenizer.encode(begun)
    for token in tokens:
        standing = wording.after(standing, token)
    left = wording.left(standing)
    for _ in range(left):
        token = min(wording.wants(standing), key=lambda token: wording.left(wording.after(standing, token)))
        standing, tokens = wording.after(standing, token), [*tokens, token]
    assert wording.left(standing) == 0
    text = tokenizer.decode(tokens).lower()  # where a sentence begins it may have a capital
    assert alone("le chat", text) or alone("xylophone zébré", text)


def test_a_banned_word_may_become_another():
    bpe = KINDS["bpe"]
    chat = phrase_of(bpe, ["chat"])
    for patient in (True, False):
        wording = Wording(bpe, (), (chat,), patient)
        standing = wording.start([START])
        for letter in "cha":
            (token,) = bpe.encode(letter)
            standing = wording.after(standing, token)
        (token,) = bpe.encode("t")
        standing = wording.after(standing, token)
        assert (standing is not None) == patient
        if standing is not None:  # however it was cut into tokens
            assert wording.after(standing, STOP) is None
            assert wording.after(standing, bpe.encode(".")[0]) is None
            assert wording.after(standing, bpe.encode(" ")[0]) is None
            assert wording.after(standing, bpe.encode("o")[0]) is not None


# Every model


def found(
    model: Model, writer: Tokenizer, terms: Glossary, lines: list[str], batch: int, **wishes
) -> list[list[Translation]]:
    search = Search(**{"beam": 4, "n_best": 2, "max_length": 30} | wishes)
    return list(translate(model, (SOURCE, writer), lines, search, terms=terms, batch=batch))


@pytest.mark.parametrize("name", zoo.SEQ2SEQ)
def test_terms_of_a_line_stand_in_its_translations(name):
    """Of every model: each hypothesis has them by themselves, a batch changes nothing, the score is the model's own."""
    writer = KINDS["words"]
    model, terms = made(name, writer), glossary_of({"cat": "chat noir", "dog": ["zébré", "été"]})
    together = found(model, writer, terms, LINES, 8, never=("dort",))
    apart = [one for line in LINES for one in found(model, writer, terms, [line], 1, never=("dort",))]
    for line, several, same in zip(LINES, together, apart, strict=True):
        assert [one.text for one in several] == [one.text for one in same]
        assert [one.score for one in several] == pytest.approx([one.score for one in same])
        for one in several if line else []:
            assert not alone("dort", one.text)
            assert [met.term.source for met in one.terms] == list(dict.fromkeys(re.findall("cat|dog", line)))
            assert all(met.met for met in one.terms)
            assert ("cat" not in line) or alone("chat noir", one.text) or one.text.startswith("Chat noir")
            source = torch.tensor([[*SOURCE.encode(line), STOP]])
            tokens = torch.tensor([START, *one.tokens, STOP])[: 1 + len(one.logs)]
            scores, _ = model(tokens[None, :-1], model.start(zoo.Source(source)))
            logs = scores[0].log_softmax(-1).gather(1, tokens[1:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(one.logs, dtype=torch.double), logs)
    plain = found(model, writer, Glossary(), ["it"], 1, never=("dort",))
    assert [one.text for one in plain[0]] == [one.text for one in together[LINES.index("it")]]


@every_tokenizer
@pytest.mark.parametrize("beam", [1, 4])
def test_phrases_for_every_tokenizer(kind, beam):
    """The one that was glued to other words: --must 'xylophone zébré'; and a word that must not be."""
    writer = KINDS[kind]
    model = made("seq2seq-gru-attention", writer)
    wishes = {"must": ("xylophone zébré", "chat"), "never": ("le", "noir"), "beam": beam, "n_best": 1, "max_length": 60}
    for batch in (1, 8):
        for (one,) in found(model, writer, Glossary(), ["the cat", "a dog saw it"], batch, **wishes):
            text = one.text
            assert alone("xylophone zébré", text) or alone("Xylophone zébré", text)
            assert alone("chat", text) or alone("Chat", text)
            assert not any(alone(banned, text) for banned in ("le", "noir"))


def test_a_term_that_finds_no_place_is_reported_and_the_line_is_answered():
    writer = KINDS["words"]
    model = made("seq2seq-gru-attention", writer)
    terms = glossary_of({"cat": "licorne", "dog": "le chat noir et", "saw": "été"})
    (unwritable,), (too_long,), (both,) = found(
        model, writer, terms, ["the cat", "a dog", "dog saw"], 4, max_length=3, n_best=1
    )
    assert [met.met for one in (unwritable, too_long) for met in one.terms] == [False, False]
    assert unwritable.text
    assert too_long.text
    assert [(met.term.source, met.met) for met in both.terms] == [("dog", False), ("saw", True)]


# Glossaries


def test_which_terms_a_line_has():
    terms = glossary([("New York", "a"), ("new york city", "b"), ("US", "c"), ("us", "d"), ("york", "e")])
    said = {
        "I saw New York City": "b",
        "NEW YORK CITY, york": "be",
        "New  York\tis": "a",
        "new york": "e",  # an entry with capitals means those
        "US and us": "cd",
        "Us": "d",
        "yorkshire": "",
        "Cusp": "",
    }
    assert {line: "".join(term.targets[0] for term in terms.of(line)) for line in said} == said


def test_a_glossary_as_translators_keep_it():
    lines = ["Source\tTarget", "# ours", "", "bike\tvélo\tnot: moto", " bike \tbicyclette", "bike\tvélo", "cat\tchat"]
    assert read_glossary(lines, "g.tsv") == Glossary((Term("bike", ("vélo", "bicyclette")), Term("cat", ("chat",))))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a\tb", "bike vélo"], "line 2 of g.tsv has no tab; write source term<TAB>target term"),
        (["bike\t "], "line 1 of g.tsv has no target term; write source term<TAB>target term"),
        (["\tvélo"], "line 1 of g.tsv has no source term; write source term<TAB>target term"),
        (["# none"], "g.tsv has no terms; write source term<TAB>target term, one on each line"),
    ],
)
def test_a_glossary_that_is_none(lines, expected):
    with pytest.raises(UserError) as error:
        read_glossary(lines, "g.tsv")
    assert str(error.value) == expected


def test_a_term_that_must_not_be_said():
    writer = KINDS["words"]
    with pytest.raises(UserError, match=r"^the term 'cat' must become 'le chat', and 'chat' must not appear; drop one"):
        found(made("seq2seq-rnn-none", writer), writer, glossary_of({"cat": "le chat"}), ["cat"], 1, never=("chat",))
    with pytest.raises(UserError, match=r"^a term wants a source and a target, found 'cat': ''$"):
        glossary_of({"cat": ""})
    with pytest.raises(UserError, match=r"^every answer begins with 'le chat' and must not have 'chat'; drop one"):
        Search(prefix="le chat", never=("chat",))
    assert Search(must=("chaton",), never=("chat",))
