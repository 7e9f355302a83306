"""Translating lines: order, batches that change nothing, wishes that are kept, alignments that fit the words."""

from itertools import pairwise

import pytest
import torch
import zoo
from hypothesis import given
from hypothesis import strategies as st

from regard import Search, Seq2Seq, Transformer, UserError, build
from regard.decode.batches import BUDGET, WINDOW, bucket_of, in_order
from regard.decode.probability import score_pairs, score_texts
from regard.decode.translate import EMPTY, MOST, Alignment, Translation, translate
from regard.look.align.weights import attention_to_source
from regard.look.align.words import align, links_of, pharaoh, words_of
from regard.models.model import Model
from regard.text import START, STOP, UNKNOWN, Tokenizer, train_tokenizer

WORDS = train_tokenizer("words", ["the cat sat on a mat, and the dog saw it ."])
LETTERS = train_tokenizer("characters", ["abcdefgh "])
PAIR = (WORDS, LETTERS)
LINES = ["the cat", "", "a dog sat on the mat and the dog saw it", "it", " \t", "the mat, a mat " * 5, "dog"]


def made(name: str, tokenizers: tuple[Tokenizer, Tokenizer] = PAIR) -> Model:
    """A translator of the zoo for these tokenizers, in double precision."""
    torch.manual_seed(3)
    reader, writer = tokenizers
    model = build(zoo.SEQ2SEQ[name], writer.vocabulary, reader.vocabulary).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def best(model: Model, lines: list[str], batch: int = 32, **wishes) -> list[Translation]:
    return [found[0] for found in translate(model, PAIR, lines, Search(**wishes), batch=batch)]


# Many at once, in order


@given(sizes=st.lists(st.integers(0, 3000), max_size=60), batch=st.integers(1, 6))
def test_batches_are_of_one_class_and_answers_in_order(sizes, batch):
    def answer(group: list[tuple[int, int]]) -> list[tuple[int, int]]:
        assert 1 <= len(group) <= batch
        assert len({bucket_of(size) for size, _ in group}) == 1
        assert len(group) == 1 or len(group) * bucket_of(group[0][0]) <= BUDGET
        return group

    items = [(size, number) for number, size in enumerate(sizes)]
    assert list(in_order(items, lambda item: item[0], answer, batch)) == items


def test_a_class_has_room_for_its_sizes_and_less_than_twice_as_much():
    assert bucket_of(0) == 0
    assert [bucket_of(size) for size in (1, 16, 17, 32, 33)] == [16, 16, 32, 32, 64]
    assert all(size <= bucket_of(size) < 2 * size for size in range(16, 5000))


@pytest.mark.parametrize(("batch", "most"), [(1, 1), (3, 3 * WINDOW)])
def test_no_more_than_a_window_is_read_ahead(batch, most):
    read = []

    def endless():
        while True:
            read.append(1)
            yield "x"

    answers = in_order(endless(), len, list, batch)
    for count in range(1, 200):
        next(answers)
        assert count <= len(read) < count + most


def test_an_item_that_cannot_be_answered_comes_after_those_before_it():
    def answer(group: list[int]) -> list[int]:
        if 5 in group:
            raise UserError("five is too many")
        return group

    answers = in_order(range(1, 9), lambda _: 1, answer, 4)
    assert [next(answers) for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(UserError, match=r"^line 5: five is too many$"):
        next(answers)


def test_an_item_that_cannot_be_read_comes_after_those_before_it():
    def items():
        yield from (1, 2)
        raise UserError("no tab")

    answers = in_order(items(), lambda _: 1, list, 4)
    assert [next(answers) for _ in range(2)] == [1, 2]
    with pytest.raises(UserError, match=r"^no tab$"):
        next(answers)


@pytest.mark.parametrize("name", zoo.SEQ2SEQ)
def test_a_batch_changes_no_translation(name):
    model = made(name)
    alone = best(model, LINES, batch=1, beam=3, max_length=9)
    for batch in (2, 32):
        together = best(model, LINES, batch=batch, beam=3, max_length=9)
        assert [one.text for one in together] == [one.text for one in alone]
        torch.testing.assert_close([one.score for one in together], [one.score for one in alone])


def test_how_much_may_be_written_does_not_depend_on_the_neighbours():
    model = made("seq2seq-rnn-attention")
    with torch.no_grad():
        model.decoder.head.W.bias[STOP] = -1e9  # never stops by itself
    texts = [one.text for one in best(model, ["it", LINES[5]], beam=1)]
    assert texts == [best(model, [line], beam=1)[0].text for line in ("it", LINES[5])]
    assert len(best(model, ["it"], beam=1)[0].tokens) == 2 * 16 + 20


# Each translation


@pytest.mark.parametrize("name", zoo.SEQ2SEQ)
@torch.no_grad()
def test_what_is_said_of_a_translation_is_the_model_s_own(name):
    """Its logs are those of forced decoding, and its score is their sum over ((5 + n) / 6)^α."""
    model = made(name)
    wishes = Search(beam=4, n_best=4, max_length=9)
    for line, found in zip(LINES, translate(model, PAIR, LINES, wishes), strict=True):
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert len({one.tokens for one in found}) == len(found)
        for one in found if line.strip() else []:
            assert LETTERS.decode(one.tokens) == one.text
            source = torch.tensor([[*WORDS.encode(line), STOP]])
            tokens = torch.tensor([START, *one.tokens, STOP])[: 1 + len(one.logs)]
            scores, _ = model(tokens[None, :-1], model.start(zoo.Source(source)))
            logs = scores[0].log_softmax(-1).gather(1, tokens[1:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(one.logs, dtype=torch.double), logs)
            torch.testing.assert_close(one.score, float(logs.sum()) / ((5 + len(logs)) / 6) ** 0.6)


def test_an_empty_line_keeps_its_place():
    found = best(made("seq2seq-rnn-attention"), LINES, beam=2)
    assert [one == EMPTY for one in found] == [not line.strip() for line in LINES]
    assert best(made("seq2seq-rnn-attention"), ["", " "], beam=1) == [EMPTY, EMPTY]
    assert best(made("seq2seq-rnn-attention"), []) == []


@pytest.mark.parametrize("beam", [1, 4])
def test_lengths_are_kept(beam):
    model, lines = made("seq2seq-transformer"), [line for line in LINES if line.strip()]
    assert all(5 <= len(one.tokens) <= 7 for one in best(model, lines, beam=beam, min_length=5, max_length=7))
    assert all(len(one.tokens) == 6 for one in best(model, lines, beam=beam, min_length=6, max_length=6))


@pytest.mark.parametrize("beam", [1, 4])
def test_a_translation_begins_as_wished(beam):
    model = made("seq2seq-gru-attention")
    found = best(model, ["the cat"], beam=beam, prefix="fed ", max_length=9)[0]
    assert found.text.startswith("fed ")
    assert found.tokens[:4] == tuple(LETTERS.encode("fed "))
    assert 4 <= len(found.tokens) <= 9
    assert len(best(model, ["the cat"], beam=beam, prefix="fed ", min_length=6, max_length=6)[0].tokens) == 6
    with pytest.raises(
        UserError, match=r"^line 1: the prefix has 4 tokens and leaves no room: 4 may be written in all$"
    ):
        best(model, ["the cat"], prefix="fed ", max_length=4)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_must_never_be_written_is_not(beam):
    model = made("seq2seq-gru-attention", (WORDS, WORDS))

    def words(**wishes) -> list[str]:
        search = Search(beam=beam, min_length=6, max_length=6, **wishes)
        return WORDS.decode(next(translate(model, (WORDS, WORDS), ["the cat"], search))[0].tokens).split()

    plain = words()
    assert plain[1] not in words(never=(plain[1],))
    assert " ".join(plain[:2]) not in " ".join(words(never=(" ".join(plain[:2]),)))
    assert plain == words(never=("zebra",))  # which it cannot write anyway


@pytest.mark.parametrize("beam", [1, 4])
def test_what_must_be_written_is(beam):
    model = made("seq2seq-gru-attention", (WORDS, WORDS))
    plain = next(translate(model, (WORDS, WORDS), ["the cat"], Search(beam=beam)))[0].text
    assert "mat saw" not in plain
    search = Search(beam=beam, must=("mat saw", "dog"))
    for (one,) in translate(model, (WORDS, WORDS), ["the cat", "a dog saw the cat"], search):
        assert "mat saw" in one.text
        assert "dog" in one.text.split()


def test_no_run_comes_twice():
    text = best(made("seq2seq-rnn-none"), ["the cat"], beam=2, min_length=12, no_repeat=2)[0].tokens
    pairs = list(pairwise(text))
    assert len(set(pairs)) == len(pairs)


def test_a_table_of_positions_ends_a_translation_and_not_the_work():
    blocks = Transformer(width=8, heads=2, layers=1, positions="learned", longest=24)
    model = build(Seq2Seq(blocks, blocks), LETTERS.vocabulary, WORDS.vocabulary).eval()
    with torch.no_grad():
        model.decoder.head.W.bias[STOP] = -1e9  # never stops by itself
    found = best(model, ["the cat", "it"], beam=2)
    assert [len(one.tokens) for one in found] == [24, 24]
    with pytest.raises(UserError, match=r"^line 2: position 41 is past the end of the learned position table"):
        best(model, ["it", "the " * 40])


def test_a_line_that_is_no_line():
    with pytest.raises(UserError) as error:
        best(made("seq2seq-rnn-attention"), ["it", "the " * (MOST + 1)])
    assert str(error.value) == "line 2: 10,001 tokens are too many (at most 10,000); one sentence to a line is wanted"


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({"beam": 0}, "beam must be a whole number from 1 up, found 0"),
        ({"n_best": 6}, "n_best (6) must not be above beam (5), which finds no more; widen it"),
        ({"min_length": 9, "max_length": 8}, "min_length (9) must not be above max_length (8)"),
        ({"length_penalty": "mean"}, "length_penalty must be a number from 0 up or 'average', found mean"),
        ({"length_penalty": -1.0}, "length_penalty must be a number from 0 up or 'average', found -1.0"),
        ({"must": ("le chat",), "never": ("chat",)}, "'le chat' must appear and 'chat' must not; drop one of the two"),
        ({"never": (" ",)}, "must and never want words, found an empty one; leave it out"),
    ],
)
def test_wishes_that_cannot_be(wish, expected):
    with pytest.raises(UserError) as error:
        Search(**wish)
    assert str(error.value) == expected


def test_what_must_appear_must_be_possible():
    model = made("seq2seq-gru-attention", (WORDS, WORDS))
    with pytest.raises(UserError) as error:
        list(translate(model, (WORDS, WORDS), ["the cat"], Search(must=("zebra",))))
    assert str(error.value) == ("'zebra' must appear, and the run has no token for it; use words of its training text")
    with pytest.raises(UserError) as error:
        list(translate(model, (WORDS, WORDS), ["the cat"], Search(must=("the cat", "dog"), max_length=2)))
    assert str(error.value) == ("what must appear has 3 tokens, more than max_length (2); allow more")


# Alignments

TEXT = "the tide, l'été — naïve 日本語 déjà  vu.\n"
KINDS = {
    "characters": train_tokenizer("characters", ["the tide comes in, and goes out é.\n"]),
    "bytes": train_tokenizer("bytes", [TEXT]),
    "words": train_tokenizer("words", [TEXT]),
    "bpe": train_tokenizer("bpe", [TEXT * 60], 280),
}


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(st.text(max_size=12), st.text("ab €5,.'", max_size=12)))
def test_tokens_belong_to_the_words_they_spell(kind, text):
    tokenizer = KINDS[kind]
    tokens = tokenizer.encode(text)
    words, owners = words_of(tokenizer, text, tokens)
    assert [word.encode() for word in words] == text.encode().split()
    assert len(owners) == len(tokens)
    assert [owner for owner in owners if owner >= 0] == sorted(owner for owner in owners if owner >= 0)
    assert {owner for owner in owners if owner >= 0} == set(range(len(words)))
    if UNKNOWN not in tokens:
        for number, word in enumerate(words):
            mine = [token for token, owner in zip(tokens, owners, strict=True) if owner == number]
            if kind != "words":  # which may spell a word in another way
                assert tokenizer.decode(mine).strip(" \t\n\r\v\f") == word


def test_a_word_never_seen_does_not_move_the_others():
    words, owners = words_of(WORDS, "the €5 cat", WORDS.encode("the €5 cat"))
    assert (words, owners) == (["the", "€5", "cat"], [0, 1, 1, 2])


@pytest.mark.parametrize("name", ["seq2seq-rnn-attention", "seq2seq-bilstm-dot", "seq2seq-transformer"])
def test_words_get_the_sum_over_what_is_read_and_the_mean_over_what_is_written(name):
    model, line = made(name, (LETTERS, LETTERS)), "bad cafe"
    tokens = tuple(LETTERS.encode("a fed"))
    source, target, weights = align(model, (LETTERS, LETTERS), line, Translation("a fed", 0.0, tokens, ()))
    assert (source, target) == (["bad", "cafe"], ["a", "fed"])
    raw = attention_to_source(model, torch.tensor([*LETTERS.encode(line), STOP]), torch.tensor([START, *tokens[:-1]]))
    expected = [
        [raw[rows][:, columns].sum(1).mean() for columns in ([0, 1, 2], [4, 5, 6, 7])] for rows in ([0], [2, 3, 4])
    ]
    torch.testing.assert_close(weights, torch.tensor(expected, dtype=torch.double))


def test_an_alignment_of_nothing():
    model = made("seq2seq-rnn-attention")
    assert pharaoh(links_of(align(model, PAIR, "", EMPTY))) == ""
    assert pharaoh(links_of(align(model, PAIR, "the cat", EMPTY))) == ""


def test_links_go_where_most_weight_lies_and_nowhere_if_that_is_no_word():
    weights = torch.tensor([[0.6, 0.3, 0.0], [0.1, 0.2, 0.7], [0.2, 0.1, 0.1]])
    assert pharaoh(links_of(Alignment(["a", "b", "c"], ["x", "y", "z"], weights))) == "0-0 2-1"


def test_a_model_that_does_not_look():
    with pytest.raises(
        UserError, match=r"^this model has no attention over a source, so there is no alignment to show$"
    ):
        align(made("seq2seq-rnn-fixed"), PAIR, "the cat", Translation("a", 0.0, tuple(LETTERS.encode("a")), ()))


# How probable


@torch.no_grad()
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", zoo.SEQ2SEQ)
def test_pairs_are_scored_alone_as_together(name, batch):
    model, targets = made(name), ["bad", "", "a", "fade bad cafe" * 2, "h"]
    pairs = [("the cat", target) for target in targets]
    found = list(score_pairs(model, PAIR, pairs, batch=batch))
    assert [one.text for one in found] == targets
    for target, one in zip(targets, found, strict=True):
        tokens = torch.tensor([[START, *LETTERS.encode(target), STOP]])
        scores, _ = model(tokens[:, :-1], model.start(zoo.Source(torch.tensor([[*WORDS.encode("the cat"), STOP]]))))
        logs = scores[0].log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(one.logs, dtype=torch.double), logs[: len(one.logs)])
        assert len(one.tokens) == len(one.logs) == (len(target) + 1 if target else 0)


@torch.no_grad()
def test_a_text_is_scored_without_its_end():
    torch.manual_seed(0)
    model = build(zoo.LANGUAGE_MODELS["lm-lstm"], LETTERS.vocabulary).double().eval()
    one, nothing = score_texts(model, LETTERS, ["bad", ""])
    assert one.tokens == ("b", "a", "d")
    scores, _ = model(torch.tensor([[START, *LETTERS.encode("ba")]]), model.start())
    logs = scores[0].log_softmax(-1).gather(1, torch.tensor(LETTERS.encode("bad"))[:, None])
    torch.testing.assert_close(one.log_probability, float(logs.sum()))
    assert (nothing.tokens, nothing.logs, nothing.log_probability) == ((), (), 0)
