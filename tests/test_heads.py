"""Profiles of heads: planted heads whose figures are known, uniform weights, slow definitions, and the command."""

import json
import math

import pytest
import torch
import zoo
from tiny import untrained

from regard import LanguageModel, Transformer, UserError, build
from regard.cli import main
from regard.data.tagged import read_trees
from regard.look.align.words import words_of
from regard.look.find.properties import digits
from regard.look.heads.induction import induction
from regard.look.heads.marks import marked, rare_words
from regard.look.heads.profile import Example, Unit, heads_of, look_at, nats, profiles, switched_off, uniform
from regard.look.heads.relations import REACH, TO_DEPENDENT, TO_HEAD, Parsed, looks_at, relations
from regard.look.patch import patch
from regard.text import START, STOP, train_tokenizer

LETTERS = train_tokenizer("characters", ["abcdefgh 0123456789."])
PLANTED = "layer.blocks.0.self_attention[1]"
TEXTS = [Example(None, LETTERS.encode(text)) for text in ("abc 12. fed", "a cab 7 faded", "gag")]


def language_model(name: str = "lm-transformer-rotary"):
    torch.manual_seed(0)
    return build(zoo.LANGUAGE_MODELS[name], LETTERS.vocabulary).double().eval()


def planting(where):
    """An edit that makes head 1 look at `where(row)` and at nothing else."""

    def edit(weights):
        weights, rows = weights.clone(), torch.arange(weights.shape[-2])
        weights[:, 1] = 0.0
        weights[:, 1, rows, where(rows).clamp(min=0)] = 1.0
        return weights

    return {"layer.blocks.0.self_attention.weights": edit}


def profile_of(name, found):
    return next(one for one in found if one.name == name)


def test_a_head_that_looks_one_back():
    model = language_model()
    with patch(model, planting(lambda rows: rows - 1)):
        found = profiles(model, LETTERS, TEXTS, {"digits": digits})
    one = profile_of(PLANTED, found)
    assert (one.confidence, one.entropy) == (1.0, 0.0)
    assert one.offset == -1
    assert one.offsets[-1] == pytest.approx(1.0)
    positions = sum(len(example.target) for example in TEXTS)
    assert one.shares["first"] == pytest.approx(len(TEXTS) / positions)  # from the first letter to the start token
    followed = sum(text[:-1].count(digit) for text in ("abc 12. fed", "a cab 7 faded", "gag") for digit in "0123456789")
    assert one.shares["digits"] == pytest.approx(followed / positions)
    assert len(found) == 2 * 2 + 1


def test_uniform_weights_have_a_known_entropy():
    text = Example(None, LETTERS.encode("abcdefg"))
    one = profile_of("uniform", profiles(language_model(), LETTERS, [text], {}))
    sizes = range(2, 9)
    assert one.entropy == pytest.approx(sum(math.log2(n) for n in sizes) / 7)
    assert one.confidence == one.shares["first"] == pytest.approx(sum(1 / n for n in sizes) / 7)
    with patch(
        model := language_model(), {"*.self_attention.weights": lambda a: uniform(text.visible).expand_as(a).to(a)}
    ):
        for head in profiles(model, LETTERS, [text], {}):
            assert head.entropy == pytest.approx(one.entropy)
            assert head.offsets == pytest.approx(one.offsets)


@pytest.mark.parametrize("name", ["tagger-transformer", "classifier-transformer-stop", "seq2seq-transformer"])
def test_an_encoder_looks_both_ways_and_at_its_stop(name):
    torch.manual_seed(0)
    model = build(zoo.MODELS[name], 9, LETTERS.vocabulary).double().eval()
    example = Example(LETTERS.encode("abcd"), [5])
    found = profiles(model, LETTERS, [example], {})
    assert all(one.name.startswith("encoder.layer.blocks.") for one in found[:-1])
    with patch(
        model, {"encoder.layer.blocks.0.self_attention.weights": lambda a: torch.eye(5).roll(1, 1).expand_as(a).to(a)}
    ):
        one = profile_of("encoder.layer.blocks.0.self_attention[0]", profiles(model, LETTERS, [example], {}))
    assert one.offset == 1
    assert one.offsets[1] == pytest.approx(4 / 5)
    assert (one.shares["first"], one.shares["stop"]) == pytest.approx((1 / 5, 1 / 5))
    assert {str(unit) for unit, _ in switched_off(model, [example], look_at(model, example))} == {
        head.name for head in found[:-1]
    }


def test_profiles_by_the_slow_definition():
    model = language_model()
    sums, rows = {}, 0
    for example in TEXTS:
        for unit, weights in look_at(model, example).items():
            for t in range(1, len(example.looking)):
                row = weights[t].tolist()
                here = sums.setdefault(str(unit), [0.0, 0.0, 0.0])
                here[0] += max(row)
                here[1] -= sum(a * math.log2(a) for a in row if a)
                here[2] += row[t - 2] if t >= 2 else 0.0
        rows += len(example.looking) - 1
    for one in profiles(model, LETTERS, TEXTS, {})[:-1]:
        assert [one.confidence, one.entropy, one.offsets[-2]] == pytest.approx([x / rows for x in sums[one.name]])


def test_nothing_to_read():
    with pytest.raises(UserError, match=r"^heads are measured on texts of two tokens or more, found none; give more"):
        profiles(language_model(), LETTERS, [Example(None, [])], {})


# Switched off


def test_a_head_that_says_nothing_costs_nothing():
    model = language_model()
    with torch.no_grad():
        model.get_submodule("layer.blocks.0.self_attention.output").weight[:, 8:] = 0.0  # what head 1 is read by
    found = {str(unit): change for unit, change in switched_off(model, TEXTS, look_at(model, TEXTS[0]))}
    assert found[PLANTED] == pytest.approx((0.0, 0.0), abs=1e-12)
    assert abs(found["layer.blocks.0.self_attention[0]"][0]) > 1e-6


def test_the_change_is_that_of_the_loss_without_the_head():
    model, unit = language_model(), Unit("layer.blocks.1.self_attention", 0, True)

    def zero(mixed):
        return torch.cat([mixed[:, :1] * 0, mixed[:, 1:]], 1)

    with patch(model, {"layer.blocks.1.self_attention.mixed": zero}):
        without = sum(nats(model, [example]).item() for example in TEXTS)
    before = sum(nats(model, [example]).item() for example in TEXTS)
    ((_, (change, interval)),) = switched_off(model, TEXTS, [unit])
    assert change == pytest.approx((without - before) / sum(len(example.target) for example in TEXTS))
    assert interval > 0


# Induction


def test_an_induction_head_that_is_planted():
    model = language_model()
    with patch(model, planting(lambda rows: rows - 6)):  # seven letters, twice: what followed is six back
        found = induction(model, LETTERS.vocabulary, length=7, rows=2)
    assert found.scores[PLANTED] == pytest.approx(1.0)
    assert found.scores["layer.blocks.0.self_attention[0]"] < 0.5
    assert found.scores["uniform"] == pytest.approx(sum(1 / n for n in range(9, 16)) / 7)
    with patch(model, planting(lambda rows: rows - 7)):  # the token itself, not what followed
        assert induction(model, LETTERS.vocabulary, length=7, rows=2).scores[PLANTED] == 0


def test_random_tokens_cost_what_they_cost():
    found = induction(language_model(), LETTERS.vocabulary, length=5, rows=3)
    assert found.first == pytest.approx(math.log(LETTERS.vocabulary), rel=0.3)  # an untrained model knows nothing
    assert found.again == pytest.approx(found.first, rel=0.3)
    with pytest.raises(UserError, match=r"^induction wants two tokens or more to draw from, found 1$"):
        induction(language_model(), 5)


# Marks


def test_rare_words_are_the_rarest_tenth():
    rare = rare_words(["the " * 80 + "cat " * 12 + "dog " * 5 + "owl " * 3])
    assert rare("the cat dog owl").index(True) == 8
    assert sum(rare("the cat dog owl new ⁇")) == 3 + 3 + 3 + 1
    assert sum(rare_words(["a b c c"])("a b c")) == 2  # those that come once, though they are half
    assert sum(rare_words([])("new")) == 3


@pytest.mark.parametrize("kind", ["characters", "bytes", "words", "bpe"])
def test_marks_are_on_the_tokens_that_spell_them(kind):
    text = "née 42 日本 1992."
    tokenizer = train_tokenizer(kind, [text * 60], 270 if kind == "bpe" else None)
    tokens = [START, *tokenizer.encode(text), STOP]
    flags = marked(tokenizer, tokens, digits)
    pieces = tokenizer.pieces(tokens)
    assert flags == [any(48 <= byte < 58 for byte in piece) for piece in pieces]
    assert marked(tokenizer, tokens[3:], digits) == flags[3:]  # for bytes, from the middle of a character


# Relations

TREES = """# text = a cab 'd fade.
1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_
2-3\tcab'd\t_\t_\t_\t_\t_\t_\t_\t_
2\tcab\tcab\tNOUN\t_\t_\t4\tnsubj\t_\t_
3\t'd\twould\tAUX\t_\t_\t4\taux\t_\t_
4\tfade\tfade\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

"""


def test_trees_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(TREES)
    (tree,) = read_trees(path)
    assert tree.text == "a cab'd fade."
    assert tree.words == ("a", "cab", "'d", "fade", ".")
    assert tree.heads == (1, 3, 3, -1, 3)
    assert tree.relations == ("det", "nsubj", "aux", "root", "punct")
    path.write_text(TREES.replace("\t2\tdet", "\t9\tdet"))
    with pytest.raises(UserError, match=r"'a' has the head '9', which is no word of its sentence$"):
        list(read_trees(path))


def sentences(number: int) -> list[Parsed]:
    """Words that depend on a word before them; most often on the last, but who knows."""
    chance = torch.Generator().manual_seed(0)

    def draw(most):
        return int(torch.randint(most, (1,), generator=chance))

    found = []
    for _ in range(number):
        words = tuple("abcdefgh"[draw(8)] * (1 + draw(3)) for _ in range(3 + draw(5)))
        heads = [-1, *(place - 1 if draw(3) else draw(place) for place in range(1, len(words)))]
        names = ["root", *("near" if draw(2) else "far" for _ in words[1:])]
        found.append(Parsed(" ".join(words), words, tuple(heads), tuple(names)))
    return found


def looking_one_word_back(weights):
    """From every token to the last token of the word before: for texts in which each word is one letter."""
    rows = torch.arange(weights.shape[-2])
    weights = weights.clone()
    weights[:, 1] = 0.0
    weights[:, 1, rows, (rows - 2).clamp(min=0)] = 1.0
    return weights


def test_a_head_that_looks_one_word_back_is_the_baseline():
    parsed = [
        Parsed(" ".join(word[0] for word in one.words), tuple(word[0] for word in one.words), one.heads, one.relations)
        for one in sentences(60)
    ]
    model = language_model()
    with patch(model, {"layer.blocks.0.self_attention.weights": looking_one_word_back}):
        found, best = relations(model, LETTERS, parsed, source=False)
    near = next(one for one in found if (one.relation, one.direction) == ("near", TO_HEAD))
    assert (near.head, near.offset) == (PLANTED, -1)
    assert near.accuracy == near.offset_accuracy > near.chance
    assert best[PLANTED].accuracy == pytest.approx(best[PLANTED].to_beat)
    assert all(one.direction == TO_HEAD for one in found), "nobody looks at what comes later"


@pytest.mark.parametrize("source", [False, True])
def test_relations_by_the_slow_definition(source):
    torch.manual_seed(0)
    encoder = build(zoo.MODELS["tagger-transformer"], 9, LETTERS.vocabulary).double().eval()
    model, parsed = encoder if source else language_model(), sentences(50)
    found, best = relations(model, LETTERS, parsed, source=source)
    right, number, distances = {}, {}, {}
    for place, sentence in enumerate(parsed):
        tokens = LETTERS.encode(sentence.text)
        owners = words_of(LETTERS, sentence.text, tokens)[1]
        shift = 0 if source else 1
        looks = look_at(model, Example(tokens, []) if source else Example(None, tokens))
        for relation, direction, at, to in sentence.arcs:
            if not source and to > at:
                continue
            key = (place % 2, relation, direction)
            number[key] = number.get(key, 0) + 1
            distances.setdefault(key, []).append(to - at)
            last = max(t for t, owner in enumerate(owners) if owner == at) + shift
            for unit, weights in looks.items():
                others = [w for w in range(len(sentence.words)) if w != at and (source or w < at)]
                total = {
                    w: sum(weights[last, t + shift] for t, owner in enumerate(owners) if owner == w) for w in others
                }
                hit = max(total, key=lambda w: total[w]) == to
                right[(*key, str(unit))] = right.get((*key, str(unit)), 0) + hit
    assert found
    assert {one.direction for one in found} == ({TO_HEAD, TO_DEPENDENT} if source else {TO_HEAD})
    for one in found:
        first, other = ((half, one.relation, one.direction) for half in (0, 1))
        assert one.number == number[other]
        assert one.accuracy == pytest.approx(right[(*other, one.head)] / number[other])
        assert right[(*first, one.head)] == max(right[(*first, str(unit))] for unit in looks)
        counts = [distances[first].count(offset) for offset in range(-REACH, REACH + 1)]
        assert distances[first].count(one.offset) == max(counts)
        assert one.offset_accuracy == pytest.approx(distances[other].count(one.offset) / number[other])
    assert set(best) == {str(unit) for unit in looks}


def test_a_word_without_a_token_looks_at_nothing():
    weights = torch.full((1, 3, 3), 1 / 3)
    may = ~torch.eye(3, dtype=torch.bool)
    assert looks_at(weights, torch.tensor([0, 2, 2]), may).tolist() == [[2, -1, 0]]


# The command


@pytest.fixture
def run(tmp_path):
    config = LanguageModel(Transformer(width=16, layers=1, heads=2))
    return untrained(tmp_path / "run", config, LETTERS)


def test_heads_in_a_table_and_in_a_file(run, tmp_path, capsys):
    text, trees, file = tmp_path / "text.txt", tmp_path / "trees.conllu", tmp_path / "heads.json"
    text.write_text("abc 12. fed a cab\n" * 40)
    trees.write_text("".join(TREES.replace("1\ta", "1\t" + "ab" * (n + 1)) for n in range(40)))
    words = ["heads", str(run), "--data", str(text), "--texts", "3", "--conllu", str(trees), "--save", str(file)]
    assert main([*words, "--sort", "loss"]) == 0
    shown = capsys.readouterr().out
    for expected in ("uniform", "induction", "Δ loss", "best offset", "one half", "where it looked", "layer.blocks.0"):
        assert expected.lower() in shown.lower()
    figures = json.loads(file.read_text())
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == figures
    heads = figures["heads"]
    assert [one["name"][-3:] for one in heads] == ["[0]", "[1]", "orm"]
    assert all(sum(one["offsets"].values()) <= 1 + 1e-9 for one in heads)


def test_a_large_model_switches_heads_off_where_that_is_asked_for(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("regard.look.heads.profile.AFFORDABLE", 0)
    monkeypatch.setattr("regard.look.heads.profile.AT_ONCE", 200)
    (tmp_path / "text.txt").write_text("abc 12. fed a cab\n" * 40)
    words = ["heads", str(run), "--data", str(tmp_path / "text.txt"), "--number", "3"]
    assert main([*words, "--sort", "induction", "--save", str(tmp_path / "heads.json")]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith("Δ loss is left out: all texts would be read 2 times more; --sort loss measures it.\n")
    assert "switched off" not in shown
    figures = json.loads((tmp_path / "heads.json").read_text())["heads"]
    assert [one["loss"] for one in figures] == [None] * 3
    assert not any(one["offsets"][str(offset)] for one in figures for offset in range(-16, -10))  # texts of ten
    assert main([*words, "--sort", "loss", "--show", "1"]) == 0
    shown = capsys.readouterr().out
    assert "when the head is switched off" in shown
    assert shown.count("layer.blocks.0") == 1


@pytest.mark.parametrize("name", ["lm-transformer-rotary", "seq2seq-transformer"])
def test_heads_are_known_before_anything_is_read(name):
    model = build(zoo.MODELS[name], LETTERS.vocabulary, *[LETTERS.vocabulary] * (not name.startswith("lm")))
    example = TEXTS[0] if name.startswith("lm") else Example(TEXTS[0].target, TEXTS[1].target)
    assert heads_of(model) == list(look_at(model, example))


def test_what_can_be_wrong_with_it(run, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("abc")

    def said(*words):
        assert main(["heads", *map(str, words)]) == 1
        return capsys.readouterr().err

    assert said(run, "--sort", "confidense") == "regard: sort 'confidense' does not exist; did you mean 'confidence'?\n"
    assert said(run, "--texts", 0) == "regard: number must be a whole number from 1 up, found 0\n"
    trees, longer = tmp_path / "trees.conllu", tmp_path / "longer.txt"
    trees.write_text(TREES)
    longer.write_text("abc 12. fed a cab\n" * 20)
    assert said(run, "--data", longer, "--conllu", trees) == (
        "regard: no relation comes 20 times in each half of the sentences; give more sentences\n"
    )
    recurrent = untrained(tmp_path / "cells", zoo.MODELS["lm-lstm"], LETTERS)
    assert said(recurrent, "--data", text) == (
        "regard: this run has no heads of self-attention; the units of a recurrent one are cells: regard find\n"
    )
