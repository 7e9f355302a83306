"""Classes and tags from files to figures: formats, batches, models against their equations, scores against others'."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
import zoo
from asserting import text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import kind_of, read_tagged

import regard
from regard import Source
from regard.config import Data
from regard.data import store
from regard.data.batch import IGNORED, InStep
from regard.data.examples import Tagged
from regard.decode.label import classify, probabilities, tag
from regard.look.align.weights import attention_to_source
from regard.look.align.words import word_weights
from regard.metrics.labels import macro_f1, span_f1, spans
from regard.runs import load_run
from regard.text import KINDS, PADDING, START, STOP, Labels, load, save, train_tokenizer
from regard.text.labels import in_step, pieces_of_words
from regard.training.loop import train
from regard.training.report import Report

TEXTS = ["the tide comes in, and the boat isn't there", "a naïve café (1,234 times)"]
TOKENIZERS = {kind: train_tokenizer(kind, TEXTS, size=300 if kind == "bpe" else None) for kind in KINDS}
a_word = st.text(min_size=1, max_size=6).filter(lambda word: word.split() == [word])


# Names


def test_labels_are_read_and_written(tmp_path):
    labels = Labels.learn(["good", "bad", "good", "so so"])
    assert labels.names == ["bad", "good", "so so"]
    assert [labels.decode(labels.encode(name)) for name in labels.names] == labels.names
    assert labels.decode([5, 4, 6, STOP, 4]) == "good bad so so"
    save(labels, tmp_path / "labels.json")
    again = load(tmp_path / "labels.json")
    assert isinstance(again, Labels)
    assert again.names == labels.names


def test_a_label_never_seen_is_named_with_those_that_are_known():
    labels = Labels.learn(["good", "bad"])
    assert text_of(lambda: labels.encode("ugly")) == "label 'ugly' was never seen in training; there are bad, good"
    many = Labels.learn([f"{number:02}" for number in range(99)])
    assert text_of(lambda: many.encode("x")).endswith("17, 18, 19, …")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(words=st.lists(st.sampled_from(sorted({*" ".join(TEXTS).split(), ",", "(", "'t"})) | a_word, max_size=6))
def test_the_tokens_of_words_are_those_of_the_text(kind, words):
    tokenizer = TOKENIZERS[kind]
    pieces = pieces_of_words(tokenizer, words)
    assert all(pieces), "every word has a token to carry its tag"
    assert list(itertools.chain.from_iterable(pieces)) == tokenizer.encode(" ".join(words))


@given(st.lists(st.integers(1, 4), max_size=6))
def test_a_tag_stands_at_the_last_token_of_its_word(sizes):
    pieces = [[7] * size for size in sizes]
    found = in_step(pieces, range(10, 10 + len(sizes)))
    assert len(found) == sum(sizes)
    ends = np.cumsum(sizes) - 1
    assert [found[end] for end in ends] == list(range(10, 10 + len(sizes)))
    assert sum(token != PADDING for token in found) == len(sizes)


# Files

CONLLU = """# text = I can't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tca\tcan\tAUX\tMD\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def tagged(where: str) -> list[Tagged]:
    return list(read_tagged(where, None))


def test_conllu_gives_syntactic_words_and_their_parts_of_speech(tmp_path):
    where = write(tmp_path, "a.conllu", CONLLU)
    assert kind_of(where) == "tags"
    assert tagged(where) == [(("I", "ca", "n't", "."), ("PRON", "AUX", "PART", "PUNCT")), (("Yes",), ("INTJ",))]


def test_words_and_tags_in_columns(tmp_path):
    two = [(("EU", "rejects"), ("B-ORG", "O")), (("a",), ("DET",))]
    assert tagged(write(tmp_path, "a.tsv", "EU\tB-ORG\nrejects\tO\n\n\na\tDET\n")) == two
    assert tagged(write(tmp_path, "a.txt", "\nEU NNP B-ORG\nrejects VBZ O\n\na DT DET")) == two
    assert tagged(write(tmp_path, "b.tsv", "New York\tB-LOC\n")) == [(("New York",), ("B-LOC",))]


WRONG = {
    "too few columns": (
        "a.conllu",
        "# text\n1\tI\tPRON\n",
        "line 2 of {} has 3 columns, a word in CoNLL-U 10, with tabs between; mend it, or give a file of lines "
        "word<TAB>tag another ending",
    ),
    "no tab": ("a.tsv", "I\tPRON\nam\n", "line 2 of {}, 'am', has no tag; write the word, a tab, the tag"),
    "no tag": ("a.tsv", "I\tPRON\nam\t\n", "line 2 of {}, 'am', has no tag; write the word, a tab, the tag"),
    "no space": ("a.txt", "I PRON\nam\n", "line 2 of {}, 'am', has no tag; write the word, a space, the tag"),
    "empty": ("a.conllu", "", "{} is empty; give a file with text in it"),
    "only comments": (
        "a.conllu",
        "# a\n\n# b\n",
        "{} has no example: no line of it is a word with a tag; give a file with words in it",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_of_tags_that_is_wrong(case, tmp_path):
    name, text, said = WRONG[case]
    where = write(tmp_path, name, text)
    assert text_of(lambda: tagged(where)) == said.format(where)


def test_what_a_file_holds_is_what_one_is_told_where_it_can_be(tmp_path):
    table = write(tmp_path, "a.tsv", "good\ta film\n")
    assert [kind_of(table, told) for told in (None, "pairs", "labels", "tags", "text")] == [
        "pairs",
        "pairs",
        "labels",
        "tags",
        "pairs",
    ]
    plain = write(tmp_path, "a.txt", "good a film\n")
    assert [kind_of(plain, told) for told in (None, "labels", "tags", "pairs")] == ["text", "labels", "tags", "text"]
    objects = write(tmp_path, "a.jsonl", '{"label": "good", "text": "a film"}\n')
    assert [kind_of(objects, told) for told in (None, "text", "tags")] == ["labels", "text", "labels"]


# Batches


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30), budget=st.integers(1, 90), seed=st.integers(0, 3))
def test_tags_stand_beside_their_tokens_in_a_batch(sizes, budget, seed):
    """Each token 10 + i wants the tag 100 + i, but for every third, which wants nothing."""
    names = iter(range(10, 10_000))
    sources = [[next(names) for _ in range(size)] for size in sizes]
    targets = [[PADDING if token % 3 == 0 else 100 + token for token in source] for source in sources]
    batches = InStep(store.gather(sources), store.gather(targets), budget, seed)
    found = []
    for batch in (batches.at(step) for step in range(batches.per_epoch)):
        for row in range(batch.size):
            source = batch.source[row][batch.source_keep[row]].tolist()
            fed, wanted = batch.tokens[row][batch.keep[row]], batch.targets[row][batch.keep[row]].tolist()
            assert source[-1] == STOP
            assert wanted == [IGNORED if token % 3 == 0 else 100 + token for token in source[:-1]]
            assert fed[0] == START
            assert (fed >= 0).all()
            assert (batch.targets[row][~batch.keep[row]] == IGNORED).all()
            found.append(source[:-1])
    assert sorted(found) == sorted(sources)


# Models against their equations


def test_a_tagger_answers_at_each_place_from_the_vector_there():
    model, source = zoo.make("tagger-bilstm"), zoo.some_source(3, 6)
    scores, _ = model(zoo.tokens(3, 6), model.start(source))
    torch.testing.assert_close(scores, model.head(model.encoder(source).vectors))


@pytest.mark.parametrize("name", [name for name in zoo.IN_STEP if name.startswith("classifier")])
def test_a_classifier_answers_from_one_vector(name):
    model = zoo.make(name)
    source = Source(zoo.some_source(2, 6)[0], torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool())
    with torch.no_grad():
        scores, _ = model(zoo.tokens(2, 1), model.start(source))
        vectors, keep, summary, _ = model.encoder(source)
        with regard.trace(model, "weights") if "attention" in name else regard.trace(model) as seen:
            model.start(source)
        if name.endswith("attention"):
            f = model.pooling.attention.similarity
            e = f.v(torch.tanh(f.W(model.pooling.query) + f.U(vectors)))[..., 0].masked_fill(~keep, -torch.inf)
            weights = seen["pooling.attention.weights"][:, 0, 0]
            torch.testing.assert_close(weights, torch.softmax(e, -1))
            vector = (weights[..., None] * vectors).sum(1)
        elif name.endswith("mean"):
            vector = torch.stack([row[kept].mean(0) for row, kept in zip(vectors, keep, strict=True)])
        elif name.endswith(("start", "bert")):
            first = vectors[torch.arange(len(vectors)), keep.int().argmax(1)]
            vector = model.pooling.activation(model.pooling.W(first))
        else:
            vector = summary
    torch.testing.assert_close(scores[:, 0], model.head(vector))


@pytest.mark.parametrize("name", ["classifier-lstm-stop", "tagger-rnn"])
def test_a_source_is_wanted(name):
    who = name.partition("-")[0]
    assert text_of(lambda: zoo.make(name).start()) == f"a {who} wants a source, found none; call start(Source(tokens))"


def test_probabilities_are_of_labels_alone_and_do_not_depend_on_the_batch():
    model = zoo.make("tagger-transformer")
    sources = [[int(t) for t in torch.randint(4, 13, (n,))] for n in (3, 40, 1, 7, 0, 20)]
    asked = [(source, len(source)) for source in sources]
    together, alone = (list(probabilities(model, asked, batch)) for batch in (4, 1))
    for one, other, source in zip(together, alone, sources, strict=True):
        assert one.shape == (len(source), zoo.VOCABULARY - 4)
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(one.sum(-1), torch.ones(len(source)))


# Scores by hand (and once beside scikit-learn 1.9 and seqeval 1.2 on random tags: the same)


def test_macro_f1_by_hand():
    said, wanted = ["a", "ab", "bc"], ["a", "bb", "bd"]  # a: 2·1/3, b: 2·2/5, c: 0, d: 0
    assert macro_f1(said, wanted).value == pytest.approx((2 / 3 + 4 / 5) / 4)
    assert (macro_f1(wanted, wanted).value, macro_f1(wanted, wanted).signature) == (1.0, "mean over 3 labels")


SPANS = {
    "O B-X I-X O": {(1, 3, "X")},
    "B-X B-X I-Y": {(0, 1, "X"), (1, 2, "X"), (2, 3, "Y")},
    "I-X I-X O I-Y-Z": {(0, 2, "X"), (3, 4, "Y-Z")},
    "O O": set(),
    "": set(),
}


@pytest.mark.parametrize("tags", SPANS)
def test_spans_by_hand(tags):
    assert spans(tags.split()) == SPANS[tags]


def test_span_f1_by_hand():
    wanted = [["B-X", "I-X", "O"], ["B-Y", "O", "B-Y"]]
    said = [["B-X", "O", "O"], ["B-Y", "O", "B-X"]]  # of three each one is right
    spanned, plain = span_f1(said, wanted), span_f1([["a", "b"]], [["a", "c"]])
    assert (spanned.value, spanned.signature) == (pytest.approx(1 / 3), "BIO spans")
    assert (plain.value, plain.signature) == (0.5, "plain tags: each word is a span")


# From a recipe to answers


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A classifier and a tagger that have learnt what there is to learn."""
    found = {}
    for name in ("classifier-lstm", "tagger-rnn"):
        folder = tmp_path_factory.mktemp(name)
        train(tiny.recipe(folder, name, steps=150, evaluate=50, metric="accuracy"), folder / "run", Report(quiet=True))
        found[name.partition("-")[0]] = folder / "run"
    return found


def test_a_classifier_answers(runs):
    run = load_run(runs["classifier"])
    texts = ["two one one", "four", "one two three four", "three three"]
    found = list(run.classify(texts))
    assert [next(iter(likely)) for likely in found] == ["two", "four", "one", "three"]
    for likely in found:
        assert set(likely) == {"one", "two", "three", "four"}
        assert sum(likely.values()) == pytest.approx(1, abs=1e-5)
        assert list(likely.values()) == sorted(likely.values(), reverse=True)
    alone = list(classify(run.model, run.source_tokenizer, run.tokenizer, texts, batch=1))
    assert [one["two"] for one in alone] == pytest.approx([one["two"] for one in found], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_a_word_share_its_weight(kind):
    tokenizer = TOKENIZERS[kind]
    model = regard.build(zoo.IN_STEP["classifier-bilstm-attention"], 6, tokenizer.vocabulary).eval()
    weights = word_weights(model, tokenizer, "the café isn't there")
    assert [word for word, _ in weights] == ["the", "café", "isn't", "there", "<stop>"]
    source = torch.tensor([*tokenizer.encode("the café isn't there"), STOP])
    pieces = attention_to_source(model, source, torch.tensor([START]))[0]
    assert weights[-1][1] == pytest.approx(pieces[-1].item())
    assert weights[0][1] == pytest.approx(pieces[: len(tokenizer.encode("the"))].sum().item())
    blanks = [not piece.strip() for piece in tokenizer.pieces(source[:-1].tolist())] + [False]
    assert sum(weight for _, weight in weights) == pytest.approx(pieces[~torch.tensor(blanks)].sum().item(), abs=1e-5)


def test_a_tagger_answers(runs):
    run = load_run(runs["tagger"])
    sentences = [["two", "one"], ["four"], [], ["one", "three", "two"]]
    wanted = [["even", "odd"], ["even"], [], ["odd", "odd", "even"]]
    assert list(run.tag(sentences)) == wanted
    assert list(tag(run.model, run.source_tokenizer, run.tokenizer, sentences, batch=1)) == wanted


@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_figures_of_a_run(runs, kind):
    figures = load_run(runs[kind]).evaluate()
    assert figures["accuracy"] > 0.9
    assert figures["macro_f1"] > 0.9
    assert ("span_f1" in figures) == (kind == "tagger")
    assert "bits_per_byte" not in figures
    assert (runs[kind] / "confusion.png").read_bytes().startswith(b"\x89PNG")
    said = Path(load_run(runs[kind]).recipe.data.train)
    assert load_run(runs[kind]).evaluate(str(said))["accuracy"] > 0.9


def test_macro_and_span_f1_can_choose_the_best_look(tmp_path):
    for name, metric in (("classifier-transformer", "macro_f1"), ("tagger-transformer", "span_f1")):
        (tmp_path / name).mkdir()
        run = train(
            tiny.recipe(tmp_path / name, name, steps=4, evaluate=2, metric=metric),
            tmp_path / name / "run",
            Report(quiet=True),
        )
        assert metric in run.folder.read_log()[-1]["held_out"]


def test_a_label_that_only_the_held_out_part_has_is_no_error(tmp_path):
    lines = [f"{label}\ttext number {number}\n" for number, label in enumerate(["a", "b"] * 50)]
    where = write(tmp_path, "x.tsv", "".join(lines) + "rare\ttext number 7 again\nseldom\tno text at all\n")
    recipe = tiny.recipe(tmp_path, "classifier-lstm", steps=1)
    recipe = replace(recipe, data=Data(where, share=0.5))
    run = train(recipe, tmp_path / "run", Report(quiet=True))
    assert run.tokenizer.names == ["a", "b", "rare", "seldom"]
