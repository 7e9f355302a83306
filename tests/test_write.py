"""Writing: text as it is made, whole characters only, the same text however it is made."""

from dataclasses import replace

import pytest
import torch
import zoo
from hypothesis import given
from hypothesis import strategies as st

from regard import LanguageModel, Transformer, UserError, Writing, build
from regard.decode import write as module
from regard.decode.write import Detokenizer, write
from regard.models.model import Model
from regard.text import START, STOP, Tokenizer, train_tokenizer

TEXT = "the tide comes in, the tide goes out; l'été, naïve, 日本語 — déjà vu 😀.\n"
KINDS = {
    "characters": train_tokenizer("characters", ["the tide comes in, and goes out é.\n"]),
    "bytes": train_tokenizer("bytes", [TEXT]),
    "words": train_tokenizer("words", [TEXT]),
    "bpe": train_tokenizer("bpe", [TEXT * 60], 280),
}
LETTERS = train_tokenizer("characters", ["abcdef "])


def made(name: str, tokenizer: Tokenizer = LETTERS) -> Model:
    """A language model of the zoo for this tokenizer, in double precision, that hardly ever stops."""
    torch.manual_seed(2)
    model = build(zoo.LANGUAGE_MODELS[name], tokenizer.vocabulary).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def texts(model: Model, prompt: str, tokenizer: Tokenizer = LETTERS, **wishes) -> list[str]:
    found = [""] * wishes.get("number", 1)
    for number, piece in write(model, tokenizer, prompt, Writing(**wishes)):
        found[number] += piece
    return found


def unfolded(tokenizer: Tokenizer, prompt: list[int], tokens: list[int], stop: str = "") -> list[str]:
    text = Detokenizer(tokenizer, prompt, (stop,) if stop else ())
    return [*map(text.add, tokens), text.end()]


# A text that grows


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_text_that_grows_becomes_what_its_tokens_say(kind, data):
    """Any tokens at all: halves of bytes, bytes of half a character, special tokens in the middle."""
    tokenizer = KINDS[kind]
    ids = st.lists(st.integers(0, tokenizer.vocabulary - 1), max_size=30)
    low = st.lists(
        st.integers(0, min(24, tokenizer.vocabulary - 1)), max_size=30
    )  # where the special tokens and the half-bytes are
    prompt, tokens = tokenizer.encode(data.draw(st.text(max_size=9))), data.draw(st.one_of(ids, low))
    before_stop = tokens[: tokens.index(STOP)] if STOP in tokens else tokens
    pieces = tokenizer.pieces([START, *prompt, *before_stop])[1 + len(prompt) :]
    assert "".join(unfolded(tokenizer, [START, *prompt], tokens)) == b"".join(pieces).decode(errors="replace")


@pytest.mark.parametrize("kind", KINDS)
def test_a_character_is_shown_whole_or_not_yet(kind):
    tokenizer = KINDS[kind]
    shown = unfolded(tokenizer, [START], tokenizer.encode(TEXT))
    assert "".join(shown) == tokenizer.decode(tokenizer.encode(TEXT))
    assert not any("\ufffd" in piece for piece in shown)


def test_half_a_character_at_the_very_end():
    *most, _ = KINDS["bytes"].encode("vu 😀")
    assert unfolded(KINDS["bytes"], [START], most)[-1] == "\ufffd"
    assert "".join(unfolded(KINDS["bytes"], [START], [*most, STOP])) == "vu \ufffd"


@given(text=st.text("ab", max_size=12), stop=st.text("ab", min_size=1, max_size=4))
def test_a_stop_text_is_never_shown_even_in_part(text, stop):
    shown = unfolded(KINDS["bytes"], [START], KINDS["bytes"].encode(text), stop)
    assert "".join(shown) == text.partition(stop)[0]
    end = text.partition(stop)[0] if stop in text else text
    for count in range(len(shown)):  # at no time more than what stays
        assert end.startswith("".join(shown[:count]))


# The same text however it is made


@pytest.mark.parametrize("name", zoo.LANGUAGE_MODELS)
def test_argmax_is_what_reading_all_of_it_again_for_each_token_gives(name):
    model, tokens = made(name), [START, *LETTERS.encode("bad ")]
    for _ in range(12):
        scores, _ = model(torch.tensor([tokens]), model.start())
        tokens.append(int(scores[0, -1].argmax()))
        if tokens[-1] == STOP:
            break
    assert texts(model, "bad ", length=12, choose="argmax") == [LETTERS.decode(tokens[5:])]


@pytest.mark.parametrize("name", zoo.LANGUAGE_MODELS)
def test_a_seed_gives_its_text_whatever_else_is_written(name):
    model = made(name)
    several = texts(model, "a fad", length=10, number=3, seed=7)
    assert several == [texts(model, "a fad", length=10, seed=seed)[0] for seed in (7, 8, 9)]
    assert len(set(several)) == 3


def test_many_samples_are_written_some_at_a_time(monkeypatch):
    model = made("lm-lstm")
    whole = texts(model, "a", length=5, number=7)
    monkeypatch.setattr(module, "ROWS", 3)
    assert texts(model, "a", length=5, number=7) == whole


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer-rotary"])
def test_the_prompt_is_read_once_in_one_pass_for_all_samples(name, monkeypatch):
    model, fed = made(name), []
    model.embedding.register_forward_pre_hook(lambda _, given: fed.append(tuple(given[0].shape)))
    texts(model, "abcdef", length=3, number=4, min_p=0.001)
    assert fed == [(1, 6), (4, 1), (4, 1), (4, 1)]


@pytest.mark.parametrize("choose", ["argmax", "beam", "sample"])
def test_rules_know_the_prompt(choose):
    model = made("lm-gru")
    with torch.no_grad():
        model.head.W.bias[LETTERS.encode("bad")] += 20.0  # which it would say
    assert set(texts(model, "bad", choose=choose, length=3)[0]) <= set("bad")
    assert not set("bad") & set(texts(model, "bad", choose=choose, no_repeat=1, length=3)[0])


def test_a_high_penalty_keeps_from_repeating():
    model = made("lm-transformer-none")
    with torch.no_grad():
        model.head.W.bias[LETTERS.encode("abc")] += 20.0  # so that it says nothing else
    plain, punished = (texts(model, "", choose="argmax", length=3, repetition_penalty=p)[0] for p in (1.0, 1e9))
    assert len(set(plain)) < 3
    assert set(punished) == set("abc")


def test_a_beam_gives_its_best_texts():
    model = made("lm-lstm")
    with torch.no_grad():
        model.head.W.bias[: LETTERS.vocabulary - 7] = -1e9  # letters and nothing else, so that no two spell one text
    several = texts(model, "bad", choose="beam", number=3, length=6)
    assert len(set(several)) == 3
    assert several[:1] == texts(model, "bad", choose="beam", length=6)
    assert texts(model, "bad", choose="beam", beam=1, length=6) == texts(model, "bad", choose="argmax", length=6)


# The end of a table of positions


def short_table() -> Model:
    return build(LanguageModel(Transformer(width=8, heads=2, layers=1, positions="learned", longest=12)), 27).eval()


@pytest.mark.parametrize("choose", ["argmax", "beam"])
def test_writing_stops_where_the_positions_end(choose):
    model = short_table()
    with torch.no_grad():  # never stops by itself
        model.head.W.bias[STOP] = -1e9
    wishes = {"choose": choose, "number": 1, "beam": 2}
    with pytest.warns(UserWarning, match="ends here") as said:
        (text,) = texts(model, "abcde", length=100, **wishes)
    assert [str(one.message) for one in said] == [
        "the learned position table (longest = 12) ends here, after 7 of 100 tokens; "
        "write less, or train with a larger 'longest' or positions = 'rotary'"
    ]
    assert [text] == texts(model, "abcde", length=7, **wishes)  # without a warning


def test_a_prompt_longer_than_the_positions():
    with pytest.raises(UserError) as error:
        texts(short_table(), "abcdef" * 3)
    assert str(error.value) == (
        "position 18 is past the end of the learned position table (longest = 12); "
        "use a shorter text, train with a larger 'longest', or positions = 'rotary'"
    )


# Wishes that cannot be


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (
            {"temperature": -1.0},
            "temperature must be a number above 0, found -1.0; for always the best token choose argmax",
        ),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, found 1.5; 1 keeps every token"),
        ({"repetition_penalty": -1.0}, "repetition_penalty must be a number above 0, found -1.0; 1 changes nothing"),
        ({"length": 0}, "length must be a whole number from 1 up, found 0"),
        ({"choose": "best"}, "choose 'best' does not exist; choose one of sample, argmax, beam"),
        ({"choose": "beam", "number": 6}, "number (6) must not be above beam (5), which finds no more; widen it"),
        ({"choose": "argmax", "number": 2}, "argmax always gives the same text, found number = 2; use sample or beam"),
    ],
)
def test_wishes_that_cannot_be(wish, expected):
    with pytest.raises(UserError) as error:
        Writing(**wish)
    assert str(error.value) == expected


def test_wishes_are_values():
    assert replace(Writing(), length=3) == Writing(length=3)
