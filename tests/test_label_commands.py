"""`regard classify`, `regard tag` and `start_from`: what they say, also when all is not well."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch

from regard.cli import main
from regard.config import Classifier, LanguageModel, Recurrent, Tagger, Text, Transformer, recipe_from
from regard.folder import Folder
from regard.runs import load_run
from regard.tasks.start_from import fitted
from regard.training.loop import Training, train
from regard.training.parallel import World
from regard.training.prepare import prepare
from regard.training.report import Report

NAMES = ("lm-gru", "classifier-lstm", "classifier-transformer", "tagger-rnn")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, str]:
    """Runs that have not learnt much, by the name of their model."""
    found = {}
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        train(tiny.recipe(folder, name, steps=2), folder / "run", Report(quiet=True))
        found[name] = str(folder / "run")
    return found


@pytest.fixture
def said(capsys, monkeypatch):
    """Runs a command with a standard input; gives its exit code, standard output and standard error."""

    def run(*words: object, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def refused(said):
    """Runs a command that must fail; gives the last line that it says."""

    def run(*words: object, typed: str = "") -> str:
        code, _, text = said(*words, typed=typed)
        assert code == 1
        assert "Traceback" not in text
        *before, last = text.splitlines()
        assert all(line.startswith(("preparing ", "left out ")) for line in before), text
        return last.removeprefix("regard: ")

    return run


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


# What they say


def test_classify_says_a_class_and_its_probability_for_each_line(runs, said, tmp_path):
    texts = ["one two", "", "four three two one", "⁇ never seen"]
    file = write(tmp_path, "texts.txt", "".join(f"{text}\n" for text in texts))
    code, out, _ = said("classify", runs["classifier-lstm"], file)
    rows = [line.split("\t") for line in out.splitlines()]
    likely = list(load_run(runs["classifier-lstm"]).classify(texts))
    assert code == 0
    assert rows == [[max(one, key=one.get), f"{max(one.values()):.4f}"] for one in likely]
    assert said("classify", runs["classifier-lstm"], typed=Path(file).read_text())[1] == out
    assert said("classify", runs["classifier-lstm"], typed="") == (0, "", "")
    eight_bits = said("classify", runs["classifier-lstm"], file, "--precision", "int8", "--batch", "1")
    assert eight_bits == (0, out, ""), "so small a model has no matrix that is worth it"


def test_classify_says_all_classes_and_weights(runs, said):
    _, out, _ = said("classify", runs["classifier-lstm"], "--all", typed="one two\n")
    columns = out.rstrip("\n").split("\t")
    assert sorted(columns[::2]) == ["four", "one", "three", "two"]
    assert sum(map(float, columns[1::2])) == pytest.approx(1, abs=3e-4)
    _, out, _ = said("classify", runs["classifier-lstm"], "--all", "--weights", "--json", typed="one two\nfour\n")
    first, second = map(json.loads, out.splitlines())
    assert [word for word, _ in first["weights"]] == ["one", "two", "<stop>"]
    assert first["all"][first["label"]] == first["probability"]
    assert second["text"] == "four"
    _, out, _ = said("classify", runs["classifier-lstm"], "--weights", typed="one two three four\n")
    words = out.rstrip("\n").split("\t")[2].split(" ")
    weights = [float(weight) for weight in words[1::2]]
    assert weights == sorted(weights, reverse=True)
    assert set(words[::2]) <= {"one", "two", "three", "four", "<stop>"}
    assert 0 < len(weights) < 5, "those above an even share"


def test_tag_says_a_tag_for_each_word(runs, said):
    code, out, _ = said("tag", runs["tagger-rnn"], typed="one two\n\n four \n")
    sentences = out.split("\n\n")
    assert code == 0
    assert [[row.split("\t")[0] for row in s.splitlines()] for s in sentences[:1]] == [["one", "two"]]
    assert {row.split("\t")[1] for row in out.split("\n") if row} <= {"odd", "even"}
    _, out, _ = said("tag", runs["tagger-rnn"], "--json", typed="one two\n\nfour\n")
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["words"] for one in found] == [["one", "two"], [], ["four"]]
    assert all(len(one["words"]) == len(one["tags"]) for one in found)


def test_what_tag_writes_can_be_trained_on(runs, said, tmp_path):
    from reading import read_tagged

    _, out, _ = said("tag", runs["tagger-rnn"], typed="one two\nfour\n")
    found = list(read_tagged(write(tmp_path, "out.tsv", out), None))
    assert [one.words for one in found] == [("one", "two"), ("four",)]


# When all is not well


def test_a_run_of_another_kind(runs, refused):
    lm, classifier, tagger = runs["lm-gru"], runs["classifier-lstm"], runs["tagger-rnn"]
    assert refused("classify", tagger, typed="a\n") == f"{tagger} is a tagger, classify wants a classifier; use tag"
    assert refused("classify", lm, typed="a\n") == f"{lm} is a language model, classify wants a classifier; use write"
    assert refused("tag", classifier, typed="a\n") == f"{classifier} is a classifier, tag wants a tagger; use classify"
    assert refused("tag", "nowhere", typed="a\n") == (
        "nowhere is not a run (it has no config.toml); give the folder that `regard train` made"
    )


def test_weights_of_a_run_that_has_none(runs, refused):
    run = runs["classifier-transformer"]
    assert refused("classify", run, "--weights", typed="one\n") == (
        f"{run} weighs no words: its pooling is stop; train with model.pooling = attention"
    )


def test_a_file_that_is_not_there(runs, refused):
    assert refused("classify", runs["classifier-lstm"], "nowhere.txt") == "nowhere.txt does not exist; check the path"


def test_a_label_never_seen_in_training(runs, refused, tmp_path):
    file = write(tmp_path, "other.tsv", "five\tone two\n")
    assert refused("evaluate", runs["classifier-lstm"], "--data", file) == (
        "label 'five' was never seen in training; there are four, one, three, two"
    )
    tags = write(tmp_path, "tags.tsv", "one\tprime\n")
    assert refused("evaluate", runs["tagger-rnn"], "--data", tags) == (
        "label 'prime' was never seen in training; there are even, odd"
    )
    good = write(tmp_path, "good.tsv", "a\tone two\nb\ttwo\n")
    assert refused(
        "train", "--data.train", good, "--data.valid", file, "--model.kind", "classifier", "--run", tmp_path / "r"
    ) == ("label 'five' was never seen in training; there are a, b")


def test_lines_without_a_label(refused, tmp_path):
    file = write(tmp_path, "a.tsv", "good\ta film\nno tab here\n")
    words = ["train", "--data.train", file, "--model.kind", "classifier", "--run", tmp_path / "r"]
    assert refused(*words) == (f"line 2 of {file}, 'no tab here', has no tab; write the label, a tab, the text")
    write(tmp_path, "a.tsv", "")
    assert refused(*words) == f"{file} is empty; give a file with text in it"
    write(tmp_path, "a.conllu", "1\tI\tPRON\n")
    assert refused("train", "--data.train", tmp_path / "a.conllu", "--model", "lstm", "--run", tmp_path / "r") == (
        f"line 1 of {tmp_path / 'a.conllu'} has 3 columns, a word in CoNLL-U 10, with tabs between; mend it, or give a "
        "file of lines word<TAB>tag another ending"
    )


def test_data_that_is_told_to_be_what_it_is_not(refused, tmp_path):
    file = write(tmp_path, "a.conllu", "1\tI\tPRON\n")
    words = ["train", "--data.train", file, "--data.kind", "labels", "--model", "lstm", "--run", tmp_path / "r"]
    assert refused(*words) == f"data.kind says labels, but {file} holds tags; change one of them"


def test_data_that_wants_another_model(refused, tmp_path):
    file = write(tmp_path, "a.conllu", "")
    words = [
        "train",
        "--data.train",
        file,
        "--model.kind",
        "classifier",
        "--data.share",
        "0.5",
        "--run",
        tmp_path / "r",
    ]
    assert refused(*words).startswith("data.train holds tags, which wants a model of kind 'tagger', found 'classifier'")


def test_a_metric_of_another_kind(refused, tmp_path):
    file = tiny.write_labels(tmp_path)
    words = ["train", "--data.train", file, "--model.kind", "classifier", "--train.metric", "bleu"]
    assert refused(*words, "--run", tmp_path / "r") == (
        "[train] metric 'bleu' is not for labels; choose loss, accuracy, macro_f1"
    )


# Starting from a language model


@pytest.mark.parametrize("kind", [Classifier, Tagger])
@pytest.mark.parametrize("layer", [Recurrent("lstm", width=12, layers=1), Transformer(width=16, layers=2, heads=2)])
def test_the_encoder_starts_from_the_language_model(kind, layer, tmp_path):
    text = tiny.recipe(tmp_path, "lm-gru", steps=2)
    lm = train(replace(text, model=LanguageModel(layer), text=Text("words")), tmp_path / "lm", Report(quiet=True))
    name = "classifier-lstm" if kind is Classifier else "tagger-rnn"
    model = kind(start_from=str(tmp_path / "lm"))
    recipe = replace(tiny.recipe(tmp_path, name, steps=2), model=model, text=Text("bpe"))
    prepare(Folder(tmp_path / "run"), recipe)
    run = load_run(tmp_path / "run")
    assert run.source_tokenizer.to_json() == lm.tokenizer.to_json()
    assert run.model_config.encoder == replace(layer, dropout=model.encoder.dropout)
    assert run.recipe.text == Text("words")
    weights = Training(run, World(), Report(quiet=True)).model.state_dict()
    taught = {f"encoder.{n}": w for n, w in load_run(tmp_path / "lm").model.state_dict().items() if "head" not in n}
    assert len(taught) > 3
    for path, weight in taught.items():
        assert torch.equal(weights[path], weight), path
    train(recipe, tmp_path / "run", Report(quiet=True))
    train(recipe, tmp_path / "run", Report(quiet=True))  # the same command again goes on, although sizes were taken
    assert not torch.equal(load_run(tmp_path / "run").model.state_dict()[path], weight), "it is not frozen"


@pytest.mark.parametrize("layer", [Recurrent("lstm", width=12, layers=1), Transformer(width=16, layers=4, heads=2)])
def test_dropout_alone_may_be_set(layer):
    recipe = recipe_from({"data": {"train": "a.tsv"}, "model": {"kind": "classifier", "encoder": {"dropout": 0.3}}})
    assert fitted(recipe.model.encoder, Classifier().encoder, layer, "lm") == replace(layer, dropout=0.3)


def test_a_checkpoint_comes_before_the_first_weights(tmp_path):
    lm = tiny.recipe(tmp_path, "lm-gru", steps=2)
    train(lm, tmp_path / "lm", Report(quiet=True))
    recipe = replace(
        tiny.recipe(tmp_path, "classifier-lstm", steps=3), model=Classifier(start_from=str(tmp_path / "lm"))
    )
    train(recipe, tmp_path / "one", Report(quiet=True))
    longer = replace(recipe, train=replace(recipe.train, steps=6))
    train(longer, tmp_path / "one", Report(quiet=True))
    after = load_run(tmp_path / "one").folder.read_log()
    assert after[-1]["step"] == 6
    assert Training(load_run(tmp_path / "one"), World(), Report(quiet=True)).progress.step == 6


def test_start_from_points_nowhere_or_at_something_else(runs, refused, tmp_path):
    file = tiny.write_labels(tmp_path)

    def words(start: object, *more: object) -> list[object]:
        given = ["train", "--data.train", file, "--model.kind", "classifier", "--model.start_from", start]
        return [*given, *more, "--run", tmp_path / "r"]

    assert refused(*words("nowhere")) == (
        "model.start_from: nowhere is not a run (it has no config.toml); give the folder that `regard train` made"
    )
    tagger = runs["tagger-rnn"]
    assert refused(*words(tagger)) == (
        f"model.start_from: {tagger} holds a tagger, wanted is a language-model or an encoder"
    )
    lm = runs["lm-gru"]
    assert refused(*words(lm, "--model.encoder.width", 64)) == (
        f"model.encoder.width (64) is not that of the language model in {lm} (12); "
        "leave it out, and it is taken from there"
    )
    untrained = tmp_path / "lm"
    untrained.mkdir()
    for name in ("config.toml", "tokenizer.json"):
        (untrained / name).write_bytes((Path(lm) / name).read_bytes())
    assert refused(*words(untrained)) == (
        f"model.start_from: {untrained}/model.safetensors does not exist: this run has not been trained; "
        f"run `regard train {untrained}`"
    )
    assert not (tmp_path / "r" / "config.toml").exists()


def test_sizes_fit_where_they_are_the_same_or_left_out():
    layer, usual = Transformer(width=16, layers=2, heads=2), Recurrent(layers=1, dropout=0.5, bidirectional=True)
    assert fitted(usual, usual, layer, "lm") == replace(layer, dropout=0.5)
    assert fitted(Transformer(width=16, dropout=0.2), usual, layer, "lm") == replace(layer, dropout=0.2)
    gru = Recurrent("gru", width=8, layers=3)
    assert fitted(replace(usual, kind="gru", layers=3), usual, gru, "lm") == replace(gru, dropout=0.5)
