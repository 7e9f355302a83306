"""Training, judging and looking from Python, as people write it; and the same recipe with several seeds."""

import json
import subprocess
import sys

import numpy as np
import pytest
import refusals
from shapes import unchecked
from tiny import differences, recipe, write_pairs, write_text
from trainings import killed_after, quietly

import regard
from regard.cli import main
from regard.folder import SeedSet
from regard.training.report import Report
from regard.training.seeds import train_set

said, refused = refusals.said, refusals.refused
SMALL = {"train.steps": 4, "train.batch": 160, "train.evaluate": 4, "text.kind": "words", "data.share": 0.2}
QUIET = Report(quiet=True)
WORDS = ("one", "two", "three", "four", "five")
PAIRS = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]


def test_regard_is_imported_without_torch():
    asked = "import regard, sys; assert 'train' in dir(regard); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", asked]).returncode == 0


def test_pairs_in_memory_make_a_translator_that_goes_on(tmp_path):
    path = tmp_path / "run"
    run = regard.train(PAIRS, "rnn", path, settings=SMALL, report=QUIET)
    assert run.task.name == "pairs"
    assert json.loads((path / "data/train.jsonl").read_text().splitlines()[1]) == {
        "source": "one two",
        "target": "two one",
    }
    assert isinstance(run.translate(["one two"])[0], str)
    assert repr(run).startswith("translator, ")
    assert repr(run).endswith(f"{path}")
    assert "\n" not in repr(run)
    again = regard.train(PAIRS, "rnn", path, settings={**SMALL, "train.steps": 6}, report=QUIET)
    assert again.folder.read_log()[-1]["step"] == 6
    assert regard.train(run=path, settings={"train.steps": 7}, report=QUIET).folder.read_log()[-1]["step"] == 7
    with pytest.raises(regard.UserError, match="holds other examples; choose another run"):
        regard.train(PAIRS[1:], "rnn", path, settings=SMALL, report=QUIET)


def test_texts_labels_tables_and_names_are_data_too(tmp_path):
    texts = [f"day {n}: the tide comes in\n" for n in range(60)]
    assert regard.train(texts, "rnn", tmp_path / "texts", settings=SMALL, report=QUIET).task.name == "text"
    labelled = [(a, f"{a} {b}") for a in WORDS for b in WORDS]
    settings = {**SMALL, "data.kind": "labels"}
    run = regard.train(labelled, "rnn", tmp_path / "labels", settings=settings, report=QUIET)
    assert set(next(run.classify(["one two"]))) == set(WORDS)

    class Table:  # as pandas has it
        columns = ("label", "text")

        def to_dict(self, orient: str) -> list[dict]:
            return [{"label": label, "text": text} for label, text in labelled]

    assert regard.train(Table(), "rnn", tmp_path / "table", settings=SMALL, report=QUIET).task.name == "labels"
    file = write_text(tmp_path)
    assert regard.train(file, "rnn", tmp_path / "file", settings=SMALL, report=QUIET).recipe.data.train == str(file)


def test_data_that_is_none_is_refused(tmp_path):
    def told(*given: object, **settings: object) -> str:
        with pytest.raises(regard.UserError) as error:
            regard.train(*given, run=tmp_path / "no", report=QUIET, **settings)
        return str(error.value)

    assert told([]) == "data holds no example, found an empty list; give texts, pairs, or the name of a file"
    assert told([("a", "b"), 3]).startswith("example 2 must be a text, a pair of texts or a dictionary, found '3'")
    assert told(model="rnn") == (
        f"train wants data, found none, and {tmp_path / 'no'} is no run; give data=…, or the run of one"
    )
    assert "no setting 'stepz' in [train]; did you mean 'steps'?" in told(PAIRS, settings={"train.stepz": 3})


def test_attention_is_what_look_saves(tmp_path, capsys):
    run = quietly(recipe(tmp_path, "seq2seq-transformer", steps=1), tmp_path / "run")
    found = run.attention("one two three")
    assert list(found) == ["cross", "self", "encoder"]
    for group, weights in found.items():
        file = tmp_path / f"{group}.json"
        words = ["look", str(run.folder.path), "one two three", "--view", "heads", "--attention", group]
        assert main([*words, "--save", str(file)]) == 0
        saved = json.loads(file.read_text())
        arrays = [np.array(value, float) for value in saved.values() if isinstance(value, list) and len(value) == 2]
        both = next(array for array in arrays if array.ndim >= 3)
        np.testing.assert_allclose(np.asarray(weights)[0], both.reshape(np.asarray(weights)[0].shape), rtol=1e-6)
        assert np.nansum(np.asarray(weights), -1) == pytest.approx(1)
        assert np.asarray(weights).shape == (1, 2, len(weights.rows), len(weights.columns))
    assert list(found["cross"].columns) == ["one", "two", "three", "<stop>"]


def test_attention_as_labelled_arrays(tmp_path):
    run = quietly(recipe(tmp_path, "lm-transformer", steps=1), tmp_path / "run")
    weights = run.attention("the tide")["self"]
    assert np.isnan(np.asarray(weights)[0, 0, 0, 1])  # a row that may not look
    for method, package in ((weights.to_xarray, "xarray"), (weights.to_pandas, "pandas")):
        try:
            __import__(package)
        except ImportError:
            with pytest.raises(regard.UserError, match=f"wants {package}, which is not here; pip install"):
                method()
        else:
            made = method()
            total = made["weight"].sum() if package == "pandas" else made.sum()
            assert float(total) == pytest.approx(float(np.nansum(np.asarray(weights))))


# Seeds


def test_seeds_are_runs_of_their_own_and_their_table_is_judged_held_out(tmp_path, capsys, refused):
    plan, path = recipe(tmp_path, "seq2seq-rnn-attention", steps=3, seed=5), tmp_path / "set"
    runs = train_set(plan, path, 2, QUIET)
    assert [run.folder.path.name for run in runs] == ["seed-5", "seed-6"]
    assert [run.recipe.train.seed for run in runs] == [5, 6]
    alone = quietly(plan, tmp_path / "alone").folder.path
    assert differences(path / "seed-5", alone) == []
    assert main(["evaluate", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    losses = [run.evaluate()["loss"] for run in runs]
    assert found["over_seeds"]["loss"]["mean"] == pytest.approx(np.mean(losses))
    assert found["over_seeds"]["loss"]["deviation"] == pytest.approx(np.std(losses, ddof=1))
    assert json.loads(SeedSet(path).figures.read_text()) == found
    assert main(["evaluate", str(path)]) == 0
    assert capsys.readouterr().out.startswith("data: held out, 2 seeds\n")
    assert main(["compare", str(path), str(path)]) == 0
    assert "95 % over seeds" in capsys.readouterr().out
    assert refused("translate", path) == (
        f"{path} holds the runs of several seeds; name one of them, such as {path / 'seed-5'}"
    )
    with pytest.raises(regard.UserError, match="has 2 seeds, found --seeds 1; leave it out, or choose another"):
        train_set(plan, path, 1, QUIET)
    with pytest.raises(regard.UserError, match="is one run already, not a set of seeds"):
        train_set(plan, alone, 2, QUIET)


def test_a_set_that_was_killed_goes_on_exactly(tmp_path, monkeypatch, refused):
    plan = recipe(tmp_path, "lm-rnn", steps=6, evaluate=3, checkpoint=2)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    with unchecked():
        train_set(plan, whole, 2, QUIET)
        monkeypatch.setattr("trainings.train", lambda plan, path, report: train_set(plan, path, 2, report))
        killed_after(9, plan, cut)  # in the middle of the second
        assert refused("evaluate", cut) == (
            f"{cut} has seeds that are not trained to the end; go on with: regard train {cut}"
        )
        assert main(["train", str(cut)]) == 0
    for seed in ("seed-0", "seed-1"):
        assert differences(whole / seed, cut / seed) == []
    assert SeedSet(whole).figures.read_text() == SeedSet(cut).figures.read_text()


def test_seeds_from_the_command_line_and_python(tmp_path, here, capsys):
    write_pairs(tmp_path)
    words = ["train", "--data.train", "backwards.tsv", "--model", "rnn", "--train.steps", "2", "--seeds", "2"]
    assert main([*words, "--text.kind", "words", "--run", "set"]) == 0
    assert "95 % of the mean" in capsys.readouterr().err
    assert len(regard.train_seeds(2, run="set")) == 2
    assert main([*words[:-1], "0"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "regard: --seeds wants a whole number from 1 up, found 0"
