"""What training holds out: nothing is on both sides."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import recipe
from trainings import held_out_losses, quietly

from regard.config import Data, Text, to_table
from regard.data.corpora.registry import CORPORA
from regard.data.examples import held_out
from regard.runs import load_run
from regard.tasks import spread
from regard.tasks.pairs import PairsTask
from regard.text import STOP
from regard.training import loop
from regard.training.loop import train


def test_the_end_of_a_text_is_held_out(tmp_path):
    plan = recipe(tmp_path, "lm-rnn", steps=1)
    run = quietly(plan, tmp_path / "run")
    found = run.material
    seen, unseen = (run.tokenizer.decode(part[0].tokens) for part in (found.train, found.valid))
    text = Path(plan.data.train).read_text()
    assert seen + unseen == text
    assert len(unseen) / len(text) == pytest.approx(0.1, abs=0.01)
    assert found.valid_bytes == len(unseen.encode())


@pytest.mark.parametrize("shared", [True, False])
def test_no_source_is_on_both_sides(shared, tmp_path):
    plan = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    run = quietly(replace(plan, text=replace(plan.text, shared=shared)), tmp_path / "run")
    found = run.material
    sides = [
        {run.source_tokenizer.decode(part[0][i]) for i in range(len(part[0]))} for part in (found.train, found.valid)
    ]
    everything = [line.split("\t")[0] for line in Path(plan.data.train).read_text().splitlines()]
    assert sides[0].isdisjoint(sides[1])
    assert all(sides)
    assert len(found.train[0]) + len(found.valid[0]) == len(everything) > len(set(everything))
    assert (run.folder.source_tokenizer.exists()) == (not shared)
    for part in (found.train, found.valid):  # and every target still belongs to its source
        for i in range(len(part[0])):
            source = run.source_tokenizer.decode(part[0][i]).split()
            assert run.tokenizer.decode(part[1][i]).split() == source[::-1]


def test_no_document_is_on_both_sides(tmp_path):
    texts = [f"note {n}: the tide was {n % 7} feet high\n" for n in range(60)]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts + texts[:20]))
    plan = replace(recipe(tmp_path, "lm-rnn", steps=1), data=Data(str(path), share=0.2))
    run = quietly(plan, tmp_path / "run")
    found = run.material
    for part, wanted in ((found.train, False), (found.valid, True)):
        tokens = part[0].tokens
        documents = [run.tokenizer.decode(some) for some in np.split(tokens, np.flatnonzero(tokens == STOP) + 1)[:-1]]
        assert documents == [text for text in texts + texts[:20] if held_out(text, 0.2) == wanted]
    assert found.valid_bytes == sum(map(len, documents))


@pytest.mark.parametrize("content", ["the tide comes in\n", "a boat lies on the sand\n"])
def test_a_folder_of_one_file_has_its_end_held_out(content, tmp_path):
    """Whether or not its name falls among those that would be held out."""
    folder = tmp_path / "books"
    folder.mkdir()
    numbers = (n for n in range(1000) if held_out((f"{n} " + content * 90)[:1000], 0.1) == content.startswith("a"))
    (folder / "book.txt").write_text(f"{next(numbers)} " + content * 90)
    plan = replace(recipe(tmp_path, "lm-rnn", steps=1), data=Data(str(folder), share=0.1))
    found = quietly(plan, tmp_path / "run").material
    assert len(found.train[0].tokens) > 8 * len(found.valid[0].tokens) > 0


def test_the_end_of_a_few_documents_is_held_out(tmp_path):
    """None of these five would be held out as a whole."""
    folder = tmp_path / "books"
    folder.mkdir()
    for number in range(5):
        assert not held_out(f"{number} été\n", 0.4)
        (folder / f"{number}.txt").write_text(f"{number} été\n", encoding="utf-8")
    plan = replace(recipe(tmp_path, "lm-rnn", steps=1), data=Data(str(folder), share=0.4))
    found = quietly(plan, tmp_path / "run").material
    assert found.valid_bytes == 2 * len("3 été\n".encode())
    assert len(found.train[0].tokens) == 3 * len("^3 été\n$")


def test_a_held_out_file_is_used_as_it_is(tmp_path):
    plan = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    other = tmp_path / "other.tsv"
    other.write_text("one two\ttwo one\nfour\tfour\n")
    run = quietly(replace(plan, data=replace(plan.data, valid=str(other), test=str(other))), tmp_path / "run")
    found = run.material
    assert len(found.valid[0]) == 2
    assert len(found.train[0]) == len(Path(plan.data.train).read_text().splitlines())
    assert found.valid_bytes == len("two one" + "four")
    assert run.evaluate()["data"] == "test"
    assert to_table(run.recipe)["data"]["valid"] == str(other)
    assert run.recipe.text == Text("words")


@given(st.integers(0, 3000), st.integers(1, 700))
def test_what_a_look_asks_is_spread_over_the_whole_part(number, most):
    places = spread(number, most)
    assert len(places) == min(number, most)
    assert set(places) <= set(range(number))
    steps = np.diff(places)
    assert set(steps) <= {number // most, number // most + 1} if number > most else places == list(range(number))


@pytest.mark.parametrize(
    "name", ["lm-lstm", "lm-transformer", "seq2seq-rnn-attention", "classifier-lstm", "tagger-rnn"]
)
def test_a_look_reads_no_more_than_it_is_allowed(name, tmp_path):
    plan = recipe(tmp_path, name, steps=1)
    run = quietly(plan, tmp_path / "run")
    task, valid, length = run.task, run.material.valid, 4

    def read(share: float = 1.0) -> list[tuple[bytes, bytes]]:
        """Every row that a look reads: its source and what it is fed."""
        batches = task.held_out_batches(valid, length, share)
        sides = [(batch.tokens if batch.source is None else batch.source, batch.tokens) for batch in batches]
        rows = [row for source, fed in sides for row in zip(source, fed, strict=True)]
        return [(a.numpy().tobytes(), b.numpy().tobytes()) for a, b in rows]

    every = read()
    assert read(1.0) == every == read(run.material.share(0)) == read(run.material.share(10**9))
    some = read(run.material.share(run.material.valid_tokens // 4))
    assert some == read(0.25)  # the same each time
    assert 0.15 < len(some) / len(every) < 0.4
    assert len(read(1e-9)) > 0


def test_a_share_of_a_text_is_the_beginning_of_every_stream(tmp_path):
    """Sixteen places, evenly over all of it, and no token is asked for behind what it does not follow."""
    run = quietly(recipe(tmp_path, "lm-lstm", steps=1), tmp_path / "run")
    every, some = (list(run.task.held_out_batches(run.material.valid, 4, share)) for share in (1.0, 0.3))
    assert 0 < len(some) < len(every)
    for one, other in zip(some, every, strict=False):
        assert torch.equal(one.tokens, other.tokens)
        assert one.fresh == other.fresh


@pytest.mark.parametrize("metric", ["loss", "macro_f1"])
def test_a_look_says_how_much_it_reads_and_evaluate_reads_all(metric, tmp_path, capsys, monkeypatch):
    plan = recipe(tmp_path, "classifier-lstm", steps=2, metric=metric)
    run = train(plan, tmp_path / "whole")
    every = run.material.valid_tokens
    assert "a look reads" not in capsys.readouterr().err
    train(replace(plan, train=replace(plan.train, look_tokens=30)), tmp_path / "some")
    assert f"a look reads 30 of {every} held-out tokens, spread evenly\n" in capsys.readouterr().err
    whole, some = (held_out_losses(tmp_path / name) for name in ("whole", "some"))
    assert whole != some
    judged = [load_run(tmp_path / name).evaluate()["loss"] for name in ("whole", "some")]
    assert judged[0] == judged[1] == pytest.approx(whole[-1], abs=1e-5)


def test_a_look_at_a_sorted_held_out_part_asks_from_all_of_it(tmp_path, monkeypatch):
    words = sorted(map("".join, itertools.product("abcde", repeat=3)))
    valid = tmp_path / "valid.tsv"
    valid.write_text("".join(f"one\t{word}\n" for word in words))
    plan = replace(recipe(tmp_path, "seq2seq-rnn-attention", steps=1, metric="exact"), text=Text("characters"))
    plan = replace(plan, data=replace(plan.data, valid=str(valid)))
    asked: list[str] = []
    scores = PairsTask.scores

    def heard(self, said, wanted, cased=True):
        asked.extend(wanted)
        return scores(self, said, wanted, cased)

    monkeypatch.setattr(PairsTask, "scores", heard)
    monkeypatch.setattr(loop, "ANSWERS", 20)
    quietly(plan, tmp_path / "run")
    assert Counter(word[0] for word in asked) == dict.fromkeys("abcde", 4)


@pytest.mark.parametrize("valid", ["", "other.tsv"])
def test_a_built_in_corpus_is_trained_on_by_its_own_part_alone(valid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("other.tsv").write_text("1 2\t1 2\n")
    plan = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    run = quietly(replace(plan, data=Data("digits:copy", valid=valid)), tmp_path / "run")
    found = run.task.material(run.folder)
    seen = [run.source_tokenizer.decode(found.train[0][i]) for i in range(len(found.train[0]))]
    assert seen == [pair.source for pair in CORPORA["digits:copy"].read("train")]
    for part in ("valid", "test"):
        assert {pair.source for pair in CORPORA["digits:copy"].read(part)}.isdisjoint(seen)
