"""The finder on translators, classifiers, taggers: units of the side that is read, and of the side that is said."""

import json
import random
import re
from dataclasses import replace
from functools import partial

import albums
import numpy as np
import pytest
import tiny
import torch
from shapes import unchecked
from zoo import MODELS, VOCABULARY, make

import regard
from regard import Recurrent, Seq2Seq, UserError
from regard.cli import main
from regard.config.looking import Effort
from regard.decode.score import score
from regard.layers.tap import SOURCE, WRITTEN
from regard.look.find.ablation import Clamp, changes
from regard.look.find.activations import read, received, received_by_some, signals, streams_of
from regard.look.find.evidence import evidence
from regard.look.find.find import Subject, find, find_on_sides
from regard.look.find.labelled import labelled_apart
from regard.look.find.passages import Answered, ShortTexts
from regard.look.find.properties import quotes
from regard.look.find.statistics import AS_THEY_ARE, AUROC, midranks
from regard.look.find.windows import Piece
from regard.look.patch import patch
from regard.look.trace import trace
from regard.look.units import clamped
from regard.models.model import Source
from regard.special import START, STOP
from regard.text.characters import Characters
from regard.training.loop import train
from regard.training.report import Report

captioner = albums.run
LETTERS = "abcdefghij "
WIDTH = 12
SIDES = ("source", "target")


def silent(items, *_):
    return iter(items)


def speech(draw: random.Random, quoted: bool) -> str:
    """Letters at random; if quoted, with one « and one » somewhere among them."""
    letters = draw.choices(LETTERS.strip(), k=draw.randint(28, 40))
    if quoted:
        begin, end = sorted(draw.sample(range(1, len(letters)), 2))
        letters[begin:begin], letters[end + 1 : end + 1] = "«", "»"
    return "".join(letters)


@pytest.fixture(scope="module")
def tokenizer() -> Characters:
    return Characters("".join(sorted(LETTERS + "«»")))


def examples(tokenizer: Characters, number: int = 160) -> list[Answered]:
    """Quotation marks on both sides, which have nothing to do with each other."""
    draw = random.Random(0)
    sides = [[tokenizer.encode(speech(draw, draw.random() < 0.8)) for _ in range(2)] for _ in range(number)]
    return [Answered(np.array([*source, STOP]), np.array([*target, STOP])) for source, target in sides]


def latch(model: torch.nn.Module, tokenizer: Characters, side: str) -> None:
    """Unit 3 of a side of a vanilla RNN is set by « and reset by »; nothing else of the model has to do with it."""
    (opening,), (closing,) = tokenizer.encode("«"), tokenizer.encode("»")
    weights = dict(model.named_parameters())
    with torch.no_grad():
        inputs = weights[f"{side}.embedding.lookup.weight"]
        (layer,) = (name.removesuffix("W_hx.weight") for name in weights if re.match(rf"{side}.*W_hx\.weight", name))
        weights[layer + "W_hx.weight"][3] = torch.eye(WIDTH)[3]
        weights[layer + "W_hh.weight"][3] = weights[layer + "W_hh.weight"][:, 3] = 0  # no other unit hears of it
        weights[layer + "W_hh.weight"][3, 3] = 3
        inputs[:, 3] = -0.1  # without a mark: outside
        inputs[opening, 3], inputs[[closing, START, STOP], 3] = 9, -9


@pytest.fixture(scope="module")
def planted(tokenizer):
    """A translator with a known unit on a side that is named, and with the same untrained beside it.

    The encoder's unit is read by the decoder, whose letters then depend on it; the decoder's says whether » may come.
    """

    def made(side: str) -> Subject:
        torch.manual_seed(0)
        layer = Recurrent("rnn", width=WIDTH, layers=1)
        config = Seq2Seq(layer, layer, context="none" if side == "target" else "attention")
        model, untrained = (regard.build(config, tokenizer.vocabulary, tokenizer.vocabulary).eval() for _ in range(2))
        latch(model, tokenizer, {"source": "encoder", "target": "decoder"}[side])
        return Subject(model, untrained, tokenizer)

    return made


EFFORT = Effort(number=2, shifts=120, controls=4)  # q ≤ 0.05 for one row of four


@unchecked()
@pytest.mark.parametrize("side", SIDES)
def test_a_planted_unit_is_found_on_its_side_and_nothing_on_the_other(planted, tokenizer, side):
    subject, here = planted(side), examples(tokenizer)
    readings = [labelled_apart(tokenizer, here, name) for name in SIDES]
    found = find_on_sides(subject, readings, {"quotes": quotes}, EFFORT, silent)
    assert [one.side for one in found] == ["source", "source", "target", "target"]
    best = {name: next(one for one in found if one.side == name) for name in SIDES}
    known = "encoder" if side == "source" else "decoder"
    assert re.fullmatch(rf"{known}\..*layers\.0\.hidden\[3\]", best[side].unit)
    assert best[side].named == f"{side}: {best[side].unit}"
    assert best[side].score > 0.95
    assert not {"null", "untrained", "characters around", "last characters"} & {*best[side].failed}
    other = [one for one in found if one is not best[side]]
    assert all(one.failed for one in other)
    assert best["source" if side == "target" else "target"].score < 0.8


@unchecked()
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", ["seq2seq-lstm-attention", "seq2seq-transformer"])
def test_nothing_is_found_in_an_untrained_model(tokenizer, name, side):
    torch.manual_seed(1)
    config = tiny.MODELS[name]
    model, other = (regard.build(config, tokenizer.vocabulary, tokenizer.vocabulary).eval() for _ in range(2))
    reading = labelled_apart(tokenizer, examples(tokenizer, 80), side)
    properties = {
        "quotes": quotes,
        "place": lambda text: np.arange(len(text)),
        "vowel": lambda text: [c in "aei" for c in text],
    }
    found = find(Subject(model, other, tokenizer), reading, properties, Effort(number=2, shifts=40), silent)
    assert len(found) == 6
    assert all(one.failed for one in found), [(one.property, one.unit, one.score) for one in found if not one.failed]


# The null and the controls know that texts are short


def test_labels_change_places_between_texts_and_keep_their_place_in_them(tokenizer):
    passage = labelled_apart(tokenizer, examples(tokenizer), "source").passage
    text = np.searchsorted(passage.ends, np.arange(len(passage)), "right")
    sizes = np.diff(passage.ends, prepend=0)
    place = np.arange(len(text)) - (passage.ends - sizes)[text]
    far = np.minimum(place, sizes[text] - 1 - place)
    for move in passage.moves(1, 10, seed=0):
        taken = move(np.arange(len(text)))
        assert sorted(taken) == [*range(len(text))], "every label is still there, once"
        assert (text[taken] != text).mean() > 0.99, "and belongs to another text"
        assert (np.abs(far[taken] - far) <= 1).all(), "as far from the nearer end as before"
        together = text[taken][1:] == text[taken][:-1]
        assert together[text[1:] == text[:-1]].mean() > 0.9, "beside the labels it stood beside"


@unchecked()
def test_a_place_in_a_text_alone_is_no_finding(tokenizer):
    """Marks only ever stand at the beginning, and a unit that knows nothing but the place looks as if it knew them."""
    draw = np.random.default_rng(0)
    texts = [tokenizer.encode("".join(draw.choice(list("abcdefghij"), 30))) for _ in range(140)]
    reading = labelled_apart(tokenizer, [Answered(np.array([*t, STOP]), np.array([*t, STOP])) for t in texts], "source")
    place = np.arange(len(reading.passage)) % 30
    label = (place < 6) & (draw.random(len(place)) < 0.7)
    signal = (-place + draw.normal(size=len(place))).astype(np.float16)[None]
    measure, ranks = AUROC(label), midranks(signal)
    score = measure.scores(ranks, AS_THEY_ARE)[0, 0]
    null = measure.scores(ranks, reading.passage.moves(1, 100, 0))[:, 0]
    along = [partial(np.roll, shift=shift) for shift in 15 + 30 * draw.integers(2, 130, 100)]
    rolled = measure.scores(ranks, along)[:, 0]
    assert score > 0.9
    assert (null >= score).mean() > 0.05, "the place explains it"
    assert (rolled < score).all(), "a shift along the whole would have announced it"


def test_what_is_counted_reaches_over_no_text(tokenizer):
    same = [Answered(np.array([*tokenizer.encode(text), STOP]), np.array([STOP])) for text in ("ab", "cab", "dab")]
    codes = labelled_apart(tokenizer, same, "source").contexts()
    assert len({codes[-1][at] for at in (0, 3, 6)}) == 3, "ab: alone, behind c, behind d"
    first = labelled_apart(tokenizer, same[:1], "source").contexts()
    assert [code[1] for code in first] == [code[1] for code in labelled_apart(tokenizer, same[:1], "source").contexts()]
    target = [Answered(one.source, one.source) for one in same]
    last = labelled_apart(tokenizer, target, "target").contexts()
    assert last[1][1] == last[1][4] == last[1][7], "a, then b"
    assert last[2][1] != last[2][4], "behind the beginning, and behind c"
    assert codes[1][0] != codes[1][3], "in a source the second is the one before"


def test_a_text_that_comes_twice_is_read_once(tokenizer):
    here = examples(tokenizer, 5)
    again = labelled_apart(tokenizer, [*here, *here, Answered(np.array([STOP]), here[0].target)], "source")
    assert len(again.passage.examples) == 5
    assert again.passage.ends.tolist() == labelled_apart(tokenizer, here, "source").passage.ends.tolist()


# What is read is what passes


def some_examples(number: int = 5, low: int = 3) -> list[Answered]:
    draw = np.random.default_rng(0)
    return [
        Answered(
            np.append(draw.integers(4, VOCABULARY, draw.integers(low, 9)), STOP),
            np.append(draw.integers(4, VOCABULARY, draw.integers(low, 9)), STOP),
        )
        for _ in range(number)
    ]


TRANSLATORS = ["seq2seq-bilstm-dot", "seq2seq-transformer"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("seq2seq")])
def test_signals_are_what_passes_when_each_text_is_read_alone(name, side):
    model = make(name).float()
    here = some_examples()
    passage = ShortTexts(here, side)
    streams = streams_of(model, (), passage)
    assert streams
    kept = signals(model, passage, streams, 1, silent)
    assert kept.shape == (len(streams), len(passage))
    begin = 0
    for one in here:
        with torch.no_grad(), trace(model) as seen:
            model(torch.tensor([[START, *one.target[:-1]]]), model.start(Source(torch.tensor(one.source)[None])))
        size = len(passage.tokens_of(one))
        sizes = {SOURCE: len(one.source), WRITTEN: len(one.target)}
        keep = {name: torch.ones(1, size, dtype=torch.bool) for name, size in sizes.items()}
        piece = Piece(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1), seen, keep)
        first = int(side == "target")
        for row, stream in zip(kept, streams, strict=True):
            alone = read(piece, stream.unit.read_at, stream.what)[0, first : first + size, stream.unit.number]
            np.testing.assert_allclose(row[begin : begin + size], alone.half().numpy(), rtol=2e-3, atol=2e-3)
        begin += size


def test_received_is_the_same_by_both_ways_where_nothing_is_padding():
    weights = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(0)).tril()
    may = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(received_by_some(weights, may), received(weights))
    even = torch.full((1, 1, 4, 6), 1 / 6)
    torch.testing.assert_close(received_by_some(even, torch.ones(1, 4, 6, dtype=torch.bool)), torch.ones(1, 6, 1))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", TRANSLATORS)
def test_clamps_side_by_side_do_what_each_does_alone(name, side):
    model = make(name).float()
    passage = ShortTexts(some_examples(), side)
    units = {stream.unit for stream in streams_of(model, (), passage) if stream.unit.number == 1}
    clamps = [Clamp(unit, 0.0 if unit.head else 0.3) for unit in sorted(units)]
    found = changes(model, passage, clamps, silent)
    for clamp, change in zip(clamps, found, strict=True):
        begin = 0
        for one in passage.examples:
            tokens = torch.tensor([[START, *one.target]])
            logs = []
            for edits in ({}, clamped(clamp.unit, clamp.value)):
                with torch.no_grad(), patch(model, edits):
                    logs.append(score(model, tokens, model.start(Source(torch.tensor(one.source)[None])))[0])
            alone = (logs[1] - logs[0]).numpy()
            size = len(passage.tokens_of(one))
            wanted = np.full(size, alone.mean()) if side == "source" else alone[1:]
            np.testing.assert_allclose(change[begin : begin + size], wanted, atol=1e-5)
            begin += size


def test_units_run_over_the_side_that_their_taps_say():
    model = make("seq2seq-transformer")
    over = {side: streams_of(model, (), ShortTexts(some_examples(), side)) for side in SIDES}
    cross = {side: {one.what for one in streams if "cross" in one.unit.path} for side, streams in over.items()}
    assert cross == {"source": {"received"}, "target": {"confidence"}}, "what is looked at, and how surely"
    assert {one.unit.path.partition(".")[0] for one in over["source"] if "cross" not in one.unit.path} == {"encoder"}
    assert {one.unit.path.partition(".")[0] for one in over["target"]} == {"decoder"}


# The command


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("seq2seq-gru-attention", "classifier-transformer", "tagger-rnn"):
        recipe = tiny.recipe(folder, name, steps=3, evaluate=3)
        if name == "classifier-transformer":
            recipe = replace(recipe, model=regard.Classifier(tiny.CELLS["rnn"], pooling="attention"))
        train(recipe, folder / name, Report(True))
    draw = random.Random(3)

    def words() -> str:
        return " ".join(draw.choices(("One", "two", "3", "four"), k=draw.randint(4, 9)))

    (folder / "more.tsv").write_text("".join(f"{words()}\t{words()}\n" for _ in range(600)))
    (folder / "more.labels").write_text("".join(f"two\t{words()}\n" for _ in range(600)))
    tagged = ("".join(f"{word}\todd\n" for word in words().split()) for _ in range(600))
    (folder / "more.tags").write_text("\n".join(tagged))
    return folder


DATA = {"seq2seq-gru-attention": "more.tsv", "classifier-transformer": "more.labels", "tagger-rnn": "more.tags"}


def typed(runs, name: str, *words: str) -> int:
    few = ["--shifts", "20", "--number", "1"]
    return main(["find", str(runs / name), "--data", str(runs / DATA[name]), *few, *words])


@unchecked()
@pytest.mark.parametrize(("name", "sides"), [*zip(DATA, [SIDES, SIDES[:1], SIDES[:1]], strict=True)])
def test_regard_find_on_a_translator_a_classifier_a_tagger(runs, capsys, monkeypatch, tmp_path, name, sides):
    monkeypatch.setenv("COLUMNS", "250")
    page = tmp_path / "found.html"
    assert typed(runs, name, "--property", "position_in_line", "--evidence", str(page)) == 0
    printed = capsys.readouterr().out
    assert [side for side in SIDES if f"{side}: " in printed] == [*sides]
    assert all(f"signals over the {side}" in printed for side in sides)
    assert page.read_text().count("<h2>") == len(sides)
    assert typed(runs, name, "--property", "position_in_line", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["side"] for one in found] == [*sides]
    keys = "property unit side measure score interval null p q untrained last_characters k effect failed searched sign"
    assert {*found[0]} == {*keys.split(), "mean", "spread", "base_rate", "average_precision", "f1", "threshold"}


@unchecked()
def test_one_side_or_the_side_of_a_unit(runs, capsys):
    words = "--property", "position_in_line", "--json"
    for more, side in (
        ("--side target", "target"),
        ("--units encoder.*", "source"),
        ("--units decoder.*hidden", "target"),
    ):
        assert typed(runs, "seq2seq-gru-attention", *words, *more.split()) == 0
        assert [json.loads(line)["side"] for line in capsys.readouterr().out.splitlines()] == [side]


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("classifier-transformer", "--side target", "side 'target' of a classifier is no text to look in; it has "
         "source: leave --side out"),
        ("seq2seq-gru-attention", "--side sourc", "side 'sourc' does not exist; did you mean 'source'?"),
        ("seq2seq-gru-attention", "--side source --units decoder.*hidden --property position_in_line",
         "no units of decoder.*hidden run over the source; leave out --side"),
        ("seq2seq-gru-attention", "--property quotes", "property 'quotes' never occurs in the first half of the "
         "source, so nothing can follow it; give another text"),
    ],
)  # fmt: skip
def test_mistakes_get_one_line(runs, capsys, name, words, said):
    assert typed(runs, name, *words.split()) == 1
    assert capsys.readouterr().err == f"regard: {said}\n"


def test_what_was_held_out_may_be_too_little(runs, capsys):
    assert main(["find", str(runs / "seq2seq-gru-attention"), "--property", "position_in_line"]) == 1
    line = capsys.readouterr().err
    assert re.search(r"the source has \d+ tokens, 2000 are wanted", line)
    assert "use translate" not in line


def test_from_python_a_translator_is_searched_on_what_it_held_out(runs):
    run = regard.load(runs / "seq2seq-gru-attention")
    with pytest.raises(UserError, match="the source has"):
        run.find("position_in_line")
    with pytest.raises(UserError, match="a translator is searched on what it held out, found a text; leave it out"):
        run.find("position_in_line", "some text")


@unchecked()
def test_evidence_of_short_texts_has_a_line_for_each(tokenizer, planted):
    subject = planted("source")
    reading = labelled_apart(tokenizer, examples(tokenizer), "source")
    (found,) = find(subject, reading, {"quotes": quotes}, replace(EFFORT, number=1), silent)
    shown = evidence(subject, reading, found, quotes)
    lines = "".join(one.text for one in shown).splitlines()
    assert {*lines} <= {*reading.texts}
    assert len(lines) > 10
    right = [(one.value > 0) == (one.label > 0) for one in shown]
    assert np.mean(right) > 0.9


def test_a_captioner_is_looked_into_where_it_writes(captioner, tmp_path, capsys):
    words = ["find", str(captioner.folder.path), "--property", "regex:red|blue", "--shifts", "20", "--number", "1"]
    assert main(words) == 1
    assert capsys.readouterr().err == (
        "regard: the target has 18 tokens, 2000 are wanted: units are chosen on one half and judged on the other; "
        "give a longer text, such as --data FILE\n"
    )
    albums.album(tmp_path, 260)
    draw = random.Random(0)
    said = [f"{at}.png\t{' '.join(draw.choices(('it', 'is', 'all', 'red', 'blue'), k=10))}\n" for at in range(260)]
    (tmp_path / "captions.tsv").write_text("".join(said))
    assert main([*words, "--data", str(tmp_path / "captions.tsv"), "--json"]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["property"], found["side"]) == ("regex:red|blue", "target")
    assert main([*words, "--side", "source"]) == 1
    assert capsys.readouterr().err == (
        "regard: side 'source' of a captioner is no text to look in; it has target: leave --side out\n"
    )
