"""The finder: planted units are found, echoes and chance are called by their names, mistakes get one line."""

import json
import re

import numpy as np
import pytest
import tiny
import torch
from shapes import unchecked
from zoo import VOCABULARY, make

import regard
from regard import LanguageModel, Recurrent, UserError
from regard.cli import main
from regard.config.looking import Effort
from regard.look.find.ablation import Clamp, changes
from regard.look.find.activations import confidence, received, signals, streams_of
from regard.look.find.evidence import Shown, as_page, as_text, evidence
from regard.look.find.find import Subject, find
from regard.look.find.labelled import labelled
from regard.look.find.passages import LongText, densest
from regard.look.find.properties import PROPERTIES, quotes
from regard.look.find.windows import walk
from regard.look.patch import patch
from regard.look.pictures.style import signed
from regard.look.units import Unit, clamped
from regard.text import START
from regard.text.bpe import BPE
from regard.text.characters import Characters
from regard.text.raw_bytes import Bytes
from regard.text.words import Words
from regard.training.loop import train
from regard.training.report import Report

LETTERS = "abcdefghij "
WIDTH = 16


def silent(items, *_):
    return iter(items)


def speech(length: int, seed: int = 0) -> str:
    """Letters at random; « and » come about every thirty of them, and nothing else tells inside from outside."""
    draw = np.random.default_rng(seed)
    parts, inside = [], False
    while sum(map(len, parts)) < length:
        parts += ["".join(draw.choice(list(LETTERS), draw.integers(15, 50))), "»" if inside else "«"]
        inside = not inside
    return "".join(parts)[:length]


def vowels(text: str) -> np.ndarray:
    return np.array([letter in "aei" for letter in text])


@pytest.fixture(scope="module")
def text() -> str:
    return speech(6000)


@pytest.fixture(scope="module")
def subject() -> Subject:
    """A vanilla RNN made by hand: cell 3 is set by « and reset by », cell 5 says whether a vowel was just read.

    It expects » only where cell 3 is set, and « only where it is not.
    """
    torch.manual_seed(0)
    tokenizer = Characters("".join(sorted(LETTERS + "«»")))
    config = LanguageModel(Recurrent("rnn", width=WIDTH, layers=1))
    model, untrained = (regard.build(config, tokenizer.vocabulary).eval() for _ in range(2))
    (opening,), (closing,) = tokenizer.encode("«"), tokenizer.encode("»")
    with torch.no_grad():
        weights = dict(model.named_parameters())
        inputs, layer = weights["embedding.lookup.weight"], "layer.layers.0."
        own = torch.zeros(2, WIDTH)
        own[0, 3], own[1, 5] = 1, 1
        for place, unit in enumerate((3, 5)):
            weights[layer + "W_hx.weight"][unit] = own[place]
            weights[layer + "W_hh.weight"][unit] = 0
        weights[layer + "W_hh.weight"][3, 3] = 3  # tanh(3 h) has two stable points: a latch
        inputs[:, 3] = 0
        inputs[opening, 3], inputs[[closing, START], 3] = 9, -9
        inputs[:, 5] = -1
        inputs[tokenizer.encode("aei"), 5] = 1
        head = weights["head.W.weight"]
        head[:] = 0
        weights["head.W.bias"][:] = 0
        weights["head.W.bias"][:4] = -20  # no special token, and no half-byte, ever comes
        weights["head.W.bias"][4:20] = -20
        weights["head.W.bias"][[opening, closing]] = -6
        head[opening, 3], head[closing, 3] = -6, 6
    return Subject(model, untrained, tokenizer)


def test_a_planted_cell_is_found_and_passes_every_control(subject, text):
    first, second = find(subject, labelled(subject.tokenizer, [text]), {"quotes": quotes}, Effort(number=2), silent)
    assert first.unit == "layer.layers.0.hidden[3]"
    assert first.failed == ()
    assert first.sign == 1
    assert first.score > 0.98
    assert first.f1 > 0.98
    assert first.interval[0] > 0.97
    assert first.average_precision > 0.97
    assert 0.4 < first.base_rate < 0.6
    assert first.null < 0.8
    assert first.p == first.q == pytest.approx(1 / 201)
    assert first.last_characters < 0.8
    assert first.effect.change < -0.01 < first.effect.controls
    assert first.effect.beaten == first.effect.of == 10
    assert first.searched == WIDTH
    assert second.score < first.score
    assert "effect" in second.failed


def test_an_echo_of_the_input_is_no_memory(subject, text):
    (found,) = find(subject, labelled(subject.tokenizer, [text]), {"vowels": vowels}, Effort(number=1), silent)
    assert found.unit == "layer.layers.0.hidden[5]"
    assert found.score == pytest.approx(1)
    assert found.last_characters == pytest.approx(1)
    assert found.k == 1
    assert "last characters" in found.failed
    assert "null" not in found.failed


@unchecked()
def test_shuffled_labels_are_not_found(subject, text, monkeypatch):
    """The label moved along in a hundred different ways has nothing to do with any unit."""
    monkeypatch.setattr("regard.look.find.passages.LENGTH", 64)  # it is not what this test is about, and takes long

    def moved(shift: int):
        return lambda text: np.roll(quotes(text), shift)

    shifts = np.random.default_rng(1).integers(600, len(text) - 600, 100)
    reading = labelled(subject.tokenizer, [text])
    found = find(
        subject, reading, {str(k): moved(shift) for k, shift in enumerate(shifts)}, Effort(number=1, controls=1), silent
    )
    assert sum(one.p < 0.05 for one in found) <= 10
    assert all(one.failed for one in found)


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer-rotary"])
@unchecked()
def test_nothing_is_found_in_an_untrained_model(name, text):
    tokenizer = Bytes()
    config = LanguageModel(Recurrent("lstm", width=12)) if name == "lm-lstm" else LanguageModel(tiny.BLOCKS)
    model, other = (regard.build(config, tokenizer.vocabulary).eval() for _ in range(2))
    reading = labelled(tokenizer, [text[:3000]])
    properties = {
        "quotes": quotes,
        "place": lambda text: np.arange(len(text)) % 50,
        "kind": lambda text: np.array(["vowel" if letter in "aei" else letter.strip() or "blank" for letter in text]),
    }
    found = find(Subject(model, other, tokenizer), reading, properties, Effort(number=2, shifts=50), silent)
    assert {one.property for one in found} == {"quotes", "place", "kind"}
    assert all(one.failed for one in found)
    assert {one.measure for one in found} == {"AUROC", "Spearman", "information"}


def test_a_head_that_looks_at_a_place_is_found_by_what_the_place_receives():
    """Attention patched so that all look at the last token with an odd number at an even share, if there is one."""
    weights = torch.tril(torch.ones(2, 3, 7, 7))
    weights = weights / weights.sum(-1, keepdim=True)
    torch.testing.assert_close(received(weights), torch.ones(2, 7, 3))
    torch.testing.assert_close(confidence(weights)[0, :, 0], 1 / torch.arange(1.0, 8))
    before = torch.cat([torch.zeros(2, 3, 7, 2), weights], -1)  # two positions before the window, never looked at
    assert (received(before) > 1).all()
    only = torch.zeros(1, 1, 4, 4)
    only[:, :, :, 0] = 1
    torch.testing.assert_close(received(only)[0, :, 0], torch.tensor([4 / (1 + 1 / 2 + 1 / 3 + 1 / 4), 0, 0, 0]))


@pytest.mark.parametrize("name", ["lm-lstm", "lm-gru", "lm-transformer-rotary"])
def test_signals_are_what_passes_at_the_taps(name):
    model = make(name).float()
    streams = streams_of(model)
    tokens = torch.randint(4, VOCABULARY, (100,), generator=torch.Generator().manual_seed(0))
    kept = signals(model, LongText(tokens), streams, 3, silent)
    assert kept.shape == (len(streams), 34)
    (piece,) = walk(model, tokens, ["*"], carry=not model.grows, rows=1)
    for row, stream in zip(kept, streams, strict=True):
        path, number, head = stream.unit
        if head:
            value = {"confidence": confidence, "received": received}[stream.what](piece.seen[path + ".weights"])
        else:
            value = piece.seen[path]
        np.testing.assert_array_equal(row, value[0, ::3, number].half().numpy())


def test_clamps_side_by_side_do_what_each_does_alone():
    for name in ("lm-lstm", "lm-transformer-rotary"):
        model = make(name).float()
        tokens = torch.randint(4, VOCABULARY, (40,), generator=torch.Generator().manual_seed(0))
        units = {stream.unit for stream in streams_of(model) if stream.unit.number in (0, 1)}
        clamps = [Clamp(unit, 0.0 if unit.head else 0.3) for unit in sorted(units)]
        found = changes(model, LongText(tokens), clamps, silent)
        (plain,) = walk(model, tokens, [], carry=True, rows=1)
        for clamp, change in zip(clamps, found, strict=True):
            with patch(model, clamped(clamp.unit, clamp.value)):
                (alone,) = walk(model, tokens, [], carry=True, rows=1)
            np.testing.assert_allclose(change[:-1], (alone.logs - plain.logs)[0, 1:].numpy(), atol=1e-5)
            assert np.isnan(change[-1]), "nothing stands behind the last token"


def test_the_densest_stretches():
    matters = np.zeros(100, bool)
    matters[41:44] = matters[95] = True
    assert densest(matters, 10).tolist() == list(range(40, 50))
    assert densest(matters, 10, 2).tolist() == [*range(40, 50), *range(90, 100)]
    assert densest(matters, 200, 4).tolist() == list(range(100))


# Tokens and their characters


@pytest.mark.parametrize("tokenizer", [Characters("acé "), Bytes(), BPE.learn(["é é ac ac"] * 99, None)])
def test_a_token_has_the_label_of_the_last_character_that_it_completes(tokenizer):
    written = "ac é日c"
    reading = labelled(tokenizer, [written, "a"])
    assert reading.text == written + "a"
    assert reading.documents == (6, 7)
    ends = np.cumsum([len(piece) for piece in tokenizer.pieces(reading.passage.tokens.tolist())])
    sizes = np.cumsum([len(letter.encode()) for letter in reading.text])
    assert reading.last.tolist() == [max(0, (sizes <= end).sum() - 1) for end in ends]
    assert reading.last[-1] == 6
    begins = reading.labels("begin", lambda text: np.arange(len(text)) == 0)
    assert begins[-1]
    assert not begins[-2]


def test_words_are_labelled_in_the_text_that_they_make():
    tokenizer = Words.learn(["one two, three"], None)
    reading = labelled(tokenizer, ["one   two,\nthree four"])
    assert reading.text == "one two, three ⁇"
    assert [reading.text[place] for place in reading.last] == ["e", "o", ",", "e", "⁇"]


def test_parts_end_where_a_document_does():
    tokenizer = Bytes()
    assert labelled(tokenizer, ["a" * 40, "b" * 60]).middle == 40
    assert labelled(tokenizer, ["a" * 10, "b" * 90]).middle == 50


def test_the_second_part_has_no_say_in_the_choice(subject, text):
    """Another second part changes every figure, and neither the units nor their order."""
    units = []
    for seed in (1, 2):
        reading = labelled(subject.tokenizer, [text[:3000], speech(3000, seed)])
        found = find(subject, reading, {"quotes": quotes, "vowels": vowels}, Effort(controls=1), silent)
        units.append([(one.unit, one.sign, one.threshold) for one in found])
    assert units[0] == units[1]


# Evidence


def test_evidence_shows_the_text_the_unit_and_the_label(subject, text):
    reading = labelled(subject.tokenizer, [text])
    (found,) = find(subject, reading, {"quotes": quotes}, Effort(number=1), silent)
    shown = evidence(subject, reading, found, quotes)
    joined = "".join(one.text for one in shown)
    assert len(joined) == 1500
    place = text.index(joined)
    assert place >= 3000 - 1
    assert [one.label > 0 for one in shown] == quotes(text)[place : place + 1500].tolist()
    assert all((one.value > 0) == (one.label > 0) for one in shown)
    assert as_text(shown).plain == joined
    page = as_page([(found, shown)])
    assert "passes every control" in page
    assert re.sub("<[^>]+>|⏎", "", page.partition('<pre class="text">')[2]).startswith(joined)
    assert f"background:{signed(max(one.value for one in shown))}" in page
    assert "http" not in page


def test_blue_is_above_the_mean_as_in_every_picture():
    high, low = (span.style.bgcolor.triplet for span in as_text([Shown("a", 1.0, 0.0), Shown("b", -1.0, 1.0)]).spans)
    assert (high.hex, low.hex) == (signed(1.0), signed(-1.0))
    assert high.blue > high.red
    assert low.red > low.blue


# The command and its mistakes


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(tiny.recipe(folder, "lm-lstm", steps=4, evaluate=4), folder / "lm-lstm", Report(True))
    return folder


@pytest.fixture
def runs(trained, monkeypatch):
    """Read in short rows, which these tests do not mind: a third of the time."""
    monkeypatch.setattr("regard.look.find.passages.LONG", 128)
    monkeypatch.setattr("regard.look.find.passages.LENGTH", 64)
    return trained


def test_the_command_lists_saves_and_shows(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    table, page = runs / "found.json", runs / "found.html"
    words = ["--data", runs / "tides.txt", "--top", "2", "--shifts", "20", "--save", table, "--evidence", page]
    find = ["find", str(runs / "lm-lstm"), *map(str, words), "--property=digits", "--property=position_in_line"]
    assert main([*find, "--property", "indent"]) == 1
    assert "property 'indent' is the same everywhere" in capsys.readouterr().err
    assert main(find) == 0
    printed = capsys.readouterr().out
    assert "48 signals searched" in printed
    found = json.loads(table.read_text())
    assert main([*find, "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == found
    assert [one["property"] for one in found] == ["digits", "digits", "position_in_line", "position_in_line"]
    for one in found:
        assert one["unit"] in printed
        assert one["searched"] == 48
        assert one["interval"][0] <= one["interval"][1]
        assert one["effect"]["of"] == 10
        assert "last characters" in one["failed"] or one["property"] != "digits"
    assert page.read_text().count("<h2>") == 2


def test_without_properties_all_that_occur_are_looked_for(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    words = ["--data", runs / "tides.txt", "--units", "*.1.cells", "--top", "1", "--evidence", "terminal"]
    assert main(["find", *map(str, [runs / "lm-lstm", *words])]) == 0
    printed = capsys.readouterr().out
    assert "12 signals searched" in printed
    for name in ("digits", "position_in_line", "line_length"):
        assert name in printed
    assert "quotes" not in printed
    assert "the tide comes in" in printed


def short(text: str) -> np.ndarray:
    return np.zeros(3)


def test_the_same_from_python(runs):
    run = regard.load(runs / "lm-lstm")
    text = (runs / "tides.txt").read_text()
    by_name, by_function = (
        run.find(wanted, text, Effort(number=1, shifts=20, units=("layer.layers.0.cells[3]",)))
        for wanted in ("digits", [PROPERTIES["digits"]])
    )
    assert by_name == by_function
    assert by_name[0].unit == "layer.layers.0.cells[3]"
    with pytest.raises(UserError, match=r"property 'short' must give one label for each of [\d,]+ characters, found"):
        run.find(short, text)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--property", "quots"], "property 'quots' does not exist; did you mean 'quotes'?"),
        (["--property", "quotes", "--data", "{tides}"], "property 'quotes' never occurs in the first half of the text"),
        (["--property", "digits"], r"the text has \d+ tokens, 2000 are wanted: units are chosen on one half"),
        (
            ["--units", "*.cell", "--data", "{tides}"],
            r"no units match '\*\.cell'; choose from candidate, cells, gate, hidden, or name one as path\[number\]",
        ),
        (["--units", "layer.layers.0.cells[12]", "--data", "{tides}"], "has units 0 to 11, found 12"),
        (["--units", "layer.layers.7.cells[1]", "--data", "{tides}"], r"unit 'layer\.layers\.7\.cells' does not exist"),
        (["--top", "0"], "number must be a whole number from 1 up, found 0"),
        (["--shifts", "3"], "shifts must be a whole number from 20 up, found 3"),
        (["--evidence", "found.png"], r"--evidence wants a name that ends in \.html, or terminal, found 'found\.png'"),
    ],
)
def test_mistakes_get_one_line(runs, capsys, words, line):
    assert main(["find", str(runs / "lm-lstm"), *(word.format(tides=runs / "tides.txt") for word in words)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch("regard: [^\n]+\n", said.err)
    assert re.search(line, said.err)


def test_a_property_that_is_everywhere(subject, text):
    with pytest.raises(UserError, match="property 'all' is everywhere in the first half of the text"):
        find(subject, labelled(subject.tokenizer, [text]), {"all": lambda t: np.ones(len(t), bool)}, Effort(), silent)


def test_units_are_named(subject):
    assert Unit("layer.layers.0.hidden", 3) in [stream.unit for stream in streams_of(subject.model)]
