"""Alignments against gold: the error rate by hand, by a slow definition, by laws; and every way to read one."""

import io
import json
import sys

import pytest
import torch
import zoo
from hypothesis import given
from hypothesis import strategies as st
from tiny import untrained

from regard import UserError, build
from regard.cli import main
from regard.data.corpora.phrases import phrases
from regard.look.align.against_gold import BEST, BOTH, DIAGONAL, UNIFORM, HeadRow, Segmented, halved
from regard.look.align.error_rate import Gold, as_links, at_best, by_chance, diagonal, overlap, read_gold
from regard.look.align.heads import FED, MEAN, PREDICTED, compare, read_alignments
from regard.look.align.words import align, words_of
from regard.text import train_tokenizer

LETTERS = train_tokenizer("characters", ["abcdefgh '."])
WORDS = train_tokenizer("words", ["a b c d e f g h"])

sizes = st.integers(1, 5)


@st.composite
def some_gold(draw):
    """How many words there are, gold for them, and an alignment."""
    sources, targets = draw(sizes), draw(sizes)
    places = st.tuples(st.integers(0, sources - 1), st.integers(0, targets - 1))
    sure, more = draw(st.frozensets(places)), draw(st.frozensets(places))
    chosen = draw(st.lists(st.integers(-1, sources - 1), min_size=targets, max_size=targets))
    return sources, targets, Gold(sure, sure | more), chosen


def test_a_sentence_by_hand():
    """A = {0-0, 1-1, 1-2}, S = {0-0, 2-1}, P = S + {1-2}: 1 − (1 + 2) / (3 + 2)."""
    gold = read_gold("0-0 2-1 1?2", (3, 3))
    found = overlap(as_links([0, 1, 1]), gold)
    assert found.error == pytest.approx(0.4)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(1 / 2)


@given(some_gold())
def test_the_definition(case):
    _, _, gold, chosen = case
    a = {(source, target) for target, source in enumerate(chosen) if source >= 0}
    if a or gold.sure:
        slow = 1 - (len([x for x in a if x in gold.sure]) + len([x for x in a if x in gold.possible])) / (
            len(a) + len(gold.sure)
        )
        assert overlap(as_links(chosen), gold).error == pytest.approx(slow)
    assert 0 <= overlap(as_links(chosen), gold).error <= 1


@given(some_gold())
def test_nothing_with_one_link_a_word_beats_the_best(case):
    _, targets, gold, chosen = case
    assert overlap(as_links(at_best(targets, gold)), gold).error <= overlap(as_links(chosen), gold).error + 1e-9


@given(some_gold())
def test_chance_is_the_mean_over_all_alignments(case):
    sources, targets, gold, _ = case
    if sources**targets > 300:
        return
    every = [[]]
    for _ in range(targets):
        every = [[*chosen, source] for chosen in every for source in range(sources)]
    mean = sum(overlap(as_links(chosen), gold).error for chosen in every) / len(every)
    assert by_chance(sources, targets, gold).error == pytest.approx(mean)


@given(st.integers(1, 9))
def test_a_perfect_alignment_has_no_errors(size):
    gold = read_gold(" ".join(f"{i}-{i}" for i in range(size)), (size, size))
    assert overlap(as_links(diagonal(size, size)), gold).error == 0
    assert overlap(as_links(at_best(size, gold)), gold).error == 0


def test_the_diagonal_of_unlike_lengths():
    assert diagonal(2, 4) == [0, 0, 1, 1]
    assert diagonal(6, 3) == [1, 3, 5]
    assert diagonal(1, 3) == [0, 0, 0]


def test_gold_as_the_hansards_write_it():
    gold = read_gold("3-1 1p2 2p2", (3, 2), from_one=True)
    assert gold == Gold(frozenset({(2, 0)}), frozenset({(2, 0), (0, 1), (1, 1)}))
    assert read_gold("1-3 2p1 2p2", (3, 2), from_one=True, target_first=True) == gold
    assert read_gold("2-0 0?1 1?1", (3, 2)) == gold


def test_equal_sentences_are_in_one_half():
    found = halved(["a", "B", "A", "c", "b"], str.lower)
    assert list(found) == [("a", True), ("B", False), ("A", True), ("c", True), ("b", False)]


@pytest.mark.parametrize(
    ("line", "options", "said"),
    [
        ("0-0 0:1", {}, "a link is written 3-4 if it is sure, 3?4 or 3p4 if it is possible, found '0:1'"),
        (
            "2-2",
            {},
            "link 2-2 is out of range: source and target have 2 and 3 words, counted from 0; "
            "check --from-one and --target-first",
        ),
        (
            "0-1",
            {"from_one": True},
            "link 0-1 is out of range: source and target have 2 and 3 words, counted from 1; "
            "check --from-one and --target-first",
        ),
    ],
)
def test_gold_that_cannot_be(line, options, said):
    with pytest.raises(UserError) as error:
        read_gold(line, (2, 3), **options)
    assert str(error.value) == said


# Readings of attention


def made(name: str):
    torch.manual_seed(0)
    return build(zoo.SEQ2SEQ[name], LETTERS.vocabulary, WORDS.vocabulary).double().eval()


@pytest.mark.parametrize("name", ["seq2seq-gru-attention", "seq2seq-transformer", "seq2seq-bigru-transformer"])
def test_the_row_where_a_word_is_predicted_is_the_one_before_it_is_fed(name):
    model, source = made(name), Segmented("a b c d")
    found = read_alignments(model, (WORDS, LETTERS), source, Segmented("g hg"))
    longer = read_alignments(model, (WORDS, LETTERS), source, Segmented("g hg h"))
    for reading, weights in found.items():
        torch.testing.assert_close(longer[reading][:2], weights)  # what is said later changes nothing
    heads = dict.fromkeys(reading.head for reading in found)
    for head in heads:  # letters that are words: what is predicted at a row is fed at the next
        letters = read_alignments(model, (WORDS, LETTERS), source, Segmented("ghgh", tuple("ghgh")))
        torch.testing.assert_close(letters[HeadRow(head, FED)][:-1], letters[HeadRow(head, PREDICTED)][1:])
    everyone = torch.stack([found[HeadRow(head, FED)] for head in heads if head != MEAN])
    torch.testing.assert_close(found[HeadRow(MEAN, FED)], everyone.mean(0))


def test_the_mean_as_predicted_is_the_alignment_of_a_translation():
    from regard.decode.translate import Translation

    model, tokens = made("seq2seq-transformer"), tuple(LETTERS.encode("gh a"))
    found = read_alignments(model, (WORDS, LETTERS), Segmented("a b"), Segmented("gh a"))
    alignment = align(model, (WORDS, LETTERS), "a b", Translation("gh a", 0.0, tokens, ()))
    torch.testing.assert_close(found[HeadRow(MEAN, PREDICTED)], alignment.weights)


def test_words_that_are_not_between_blanks():
    text, words = "l'eau d'abc.", ("l'", "eau", "d'", "abc", ".")
    letters = train_tokenizer("characters", [text])
    assert words_of(letters, text, letters.encode(text), words)[1] == [0, 0, 1, 1, 1, -1, 2, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("kind", ["characters", "bytes", "words", "bpe"])
def test_the_words_of_phrases_own_all_their_letters(kind):
    drawn = [phrase for _, phrase in zip(range(20), phrases("french", "test"), strict=False)]
    tokenizer = train_tokenizer(kind, [phrase.target for phrase in drawn], 300 if kind == "bpe" else None)
    for phrase in drawn:
        tokens = tokenizer.encode(phrase.target)
        words, owners = words_of(tokenizer, phrase.target, tokens, phrase.target_words)
        assert tuple(words) == phrase.target_words
        if kind != "bpe":  # which may join an apostrophe with what follows it
            assert {owner for owner in owners if owner >= 0} == set(range(len(words)))


def test_a_planted_alignment_is_found():
    """Weights are written so that head 1 of block 0 follows the gold as fed, and no other does."""
    model, size = made("seq2seq-transformer"), 4
    pairs = [
        (Segmented(" ".join(some)), Segmented(" ".join("abcd")), read_gold("0-3 1-2 2-1 3-0", (4, 4)))
        for some in ("abcd", "dcba", "aabb", "bcda")
    ]

    def planted(weights):
        weights = torch.full_like(weights, 1 / weights.shape[-1])
        rows = torch.arange(weights.shape[-2])
        weights[:, 1] = 0.0
        letter = ((rows - 1).clamp(min=0) // 2).clamp(max=size - 1)  # a letter, a blank, a letter, …
        weights[:, 1, rows, size - 1 - letter] = 1.0
        return weights

    from regard.look.patch import patch

    with patch(model, {"decoder.layer.blocks.0.cross_attention.weights": planted}):
        found, baselines = compare(model, (WORDS, LETTERS), pairs)
    best, *others = (one for one in found if one.reading.head != MEAN)
    assert best.reading == HeadRow("decoder.layer.blocks.0.cross_attention[1]", FED)
    assert best.reported.error == 0 < others[0].chosen_on.error
    errors = {one.reading.head: one.reported.error for one in baselines}
    assert errors == {DIAGONAL: 1.0, UNIFORM: pytest.approx(0.75), BEST: 0.0}
    assert len(found) == 2 * (2 * 2 + 1)


def test_one_sentence_cannot_be_cut_in_two():
    pair = (Segmented("a b"), Segmented("a b"), read_gold("0-0", (2, 2)))
    with pytest.raises(UserError, match=r"^AER wants two different sentence pairs or more, found 1; give more lines$"):
        compare(made("seq2seq-transformer"), (WORDS, LETTERS), [pair, pair])


# The command


def a_run(folder, name):
    return untrained(folder / name, zoo.MODELS[name], LETTERS)


def test_lines_in_and_pharaoh_out(tmp_path, capsys, monkeypatch):
    run = a_run(tmp_path, "seq2seq-transformer")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b c\td e\n\nab ||| f\n")))
    assert main(["align", str(run)]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    for line, most in ((first, 2), (third, 1)):
        assert all(len(link.split("-")) == 2 for link in line.split())
        assert len(line.split()) <= most
    assert second == ""


def test_weights_as_json_are_those_of_the_head_that_is_named(tmp_path, capsys):
    run = a_run(tmp_path, "seq2seq-transformer")
    (tmp_path / "pairs").write_text("a b c\td e\n")
    head = "decoder.layer.blocks.0.cross_attention[1]"
    assert main(["align", str(run), str(tmp_path / "pairs"), "--head", head, "--fed", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["source"], shown["target"]) == (["a", "b", "c"], ["d", "e"])
    assert [len(row) for row in shown["weights"]] == [3, 3]
    assert main(["align", str(run), str(tmp_path / "pairs"), "--head", "decoder.layer.cross_attention[1]"]) == 1
    assert "head 'decoder.layer.cross_attention[1]' does not exist; did you mean" in capsys.readouterr().err


def test_marks_that_are_glued_are_words_all_the_same(tmp_path, capsys):
    run = a_run(tmp_path, "seq2seq-transformer")
    (tmp_path / "pairs").write_text("a b .\td e .\n")
    (tmp_path / "plain").write_text("a b.\td e.\n")
    assert main(["align", str(run), str(tmp_path / "pairs"), "--glued", ".,", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["source"], shown["target"]) == (["a", "b", "."], ["d", "e", "."])
    assert main(["align", str(run), str(tmp_path / "plain"), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert shown["weights"][0][0] == plain["weights"][0][0]  # the model has read the same
    assert shown["weights"][0][1] + shown["weights"][0][2] == pytest.approx(plain["weights"][0][1], abs=2e-4)


def test_scores_against_gold_files_and_built_in_gold(tmp_path, capsys):
    run = a_run(tmp_path, "seq2seq-gru-attention")
    (tmp_path / "pairs").write_text("a b c ||| d e\na ||| b c\n")
    (tmp_path / "gold").write_text("1-1 2p2\n1-1 1-2\n")
    words = ["align", str(run), str(tmp_path / "pairs"), "--gold", str(tmp_path / "gold"), "--from-one"]
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["sentences"] == 2
    scores = {one["read"]: one for one in shown["scores"]}
    assert scores[DIAGONAL]["aer"] == 0
    assert scores[UNIFORM]["chosen_on"] == pytest.approx(1 - (1 / 3 + 2 / 3) / 3)
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "reported" in table
    assert "one half" in table
    assert main(["align", str(run), "--gold", "phrases-short:french", "--number", "3"]) == 0
    assert "3 sentence pairs" in capsys.readouterr().out


def test_a_run_of_the_other_direction_joins_in(tmp_path, capsys):
    there, back = a_run(tmp_path, "seq2seq-gru-attention"), a_run(tmp_path, "seq2seq-transformer")
    (tmp_path / "pairs").write_text("a b c ||| d e\na ||| b c\n")
    (tmp_path / "gold").write_text("0-0 1?1\n0-0 0-1\n")
    words = ["align", str(there), str(tmp_path / "pairs"), "--back", str(back)]
    assert main([*words, "--gold", str(tmp_path / "gold"), "--json"]) == 0
    read = [one["read"] for one in json.loads(capsys.readouterr().out)["scores"]]
    assert {f"{MEAN}, {FED}", f"back: {MEAN}, {FED}", f"union, {BOTH}", f"grow-diag-final-and, {BOTH}"} <= set(read)

    def links(*more):
        assert main([*words, *more]) == 0
        return [set(line.split()) for line in capsys.readouterr().out.splitlines()]

    for both, either in zip(links("--symmetrise", "intersection"), links("--symmetrise", "union"), strict=True):
        assert both <= either


def test_what_can_be_wrong_with_it(tmp_path, capsys):
    run = a_run(tmp_path, "seq2seq-gru-attention")
    pairs, gold = tmp_path / "pairs", tmp_path / "gold"
    pairs.write_text("a b\tc\nd\te\n")
    gold.write_text("1-1\n")

    def said(*words):
        assert main(["align", *map(str, words)]) == 1
        return capsys.readouterr().err

    assert said(run, pairs, "--gold", gold) == (
        f"regard: line 1 of {gold}: link 1-1 is out of range: source and target have 2 and 1 word, counted from 0; "
        "check --from-one and --target-first\n"
    )
    assert said(run, pairs, "--gold", gold, "--from-one") == (
        f"regard: {pairs} has a line 2, {gold} has not; gold wants a line for each pair\n"
    )
    pairs.write_text("a b c\n")
    assert said(run, pairs) == (
        "regard: line 1 has no tab and no |||; write source<TAB>target, join two files with paste\n"
    )
    assert said(a_run(tmp_path, "lm-lstm"), pairs).endswith("align wants a translator; use look\n")
    assert said(a_run(tmp_path, "seq2seq-lstm-fixed"), pairs) == (
        "regard: this model has no attention over a source, so there is no alignment to show\n"
    )
