"""Two runs held against each other, and what evaluate says of chance."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import refusals
from shapes import unchecked
from tiny import recipe, write_pairs
from trainings import quietly

from regard.cli import main
from regard.config import Data, Text
from regard.evaluate.compare import compare
from regard.evaluate.judge import Figures
from regard.metrics.paired import over_examples, over_seeds
from regard.runs import Run, load_run

said, refused = refusals.said, refusals.refused


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Run]:
    """Two translators, two language models with other tokens, a classifier; each hardly trained."""
    place = tmp_path_factory.mktemp("compared")
    pairs, text = (
        recipe(place, "seq2seq-rnn-attention", steps=120, evaluate=60, checkpoint=60),
        recipe(place, "lm-rnn", steps=4),
    )
    plans = {
        "few": replace(pairs, train=replace(pairs.train, steps=3)),
        "many": pairs,
        "letters": text,
        "bytes": replace(text, text=Text("bytes")),
        "words": replace(text, text=Text("words")),
        "lower": replace(pairs, text=replace(pairs.text, lower=True), train=replace(pairs.train, steps=1)),
        "labels": recipe(place, "classifier-lstm", steps=3),
    }
    with unchecked():
        return {name: quietly(plan, place / name) for name, plan in plans.items()}


@pytest.fixture
def test_data(tmp_path) -> str:
    return str(write_pairs(tmp_path, 60))


def test_evaluate_prints_intervals_and_keeps_its_names(runs, test_data, capsys):
    path = str(runs["many"].folder.path)
    assert main(["evaluate", path, "--data", test_data, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"] == "given data"
    assert found["intervals_over"] == "60 pairs"
    for name in ("loss", "perplexity", "bits_per_byte", "accuracy", "bleu", "chrf", "exact", "error_rate"):
        low, high = found["intervals"][name]
        assert low <= found[name] <= high, name
        assert low < high
    assert main(["evaluate", path, "--data", test_data]) == 0
    printed = capsys.readouterr().out.splitlines()
    low, high = found["intervals"]["bleu"]
    assert f"bleu             {found['bleu']:,.4f}   ({low:,.4f} to {high:,.4f})" in printed
    assert printed[0] == "data             given data"


def test_evaluate_from_python_is_what_the_command_prints(runs, test_data, capsys):
    figures = runs["many"].evaluate(test_data)
    assert main(["evaluate", str(runs["many"].folder.path), "--data", test_data]) == 0
    assert repr(figures) + "\n" == capsys.readouterr().out
    assert figures["bleu"] == load_run(runs["many"].folder.path).evaluate(test_data, beam=1)["bleu"]


def test_a_text_is_judged_in_stretches_which_add_up_to_it(runs):
    for name in ("letters", "bytes"):
        judgement = runs[name].judged()
        held = runs[name].material
        stretches = -(-held.valid_bytes // 1000)
        assert judgement.units == f"{stretches} stretches of 1,000 bytes"
        assert judgement.scores["bits_per_byte"].parts[:, 1].sum() == pytest.approx(held.valid_bytes)
        assert len(judgement.scores["loss"].parts) == stretches


def test_what_examples_add_is_theirs_whatever_batch_they_were_in(runs, test_data):
    """The loss of a pair alone is what it adds among others."""
    together = runs["many"].judged(test_data).scores["loss"].parts
    alone = Path(test_data).with_name("alone.tsv")
    alone.write_text(Path(test_data).read_text().splitlines()[7] + "\n")
    assert runs["many"].judged(str(alone)).scores["loss"].parts[0] == pytest.approx(together[7], rel=1e-4)


def test_a_run_is_as_good_as_itself(runs, test_data, capsys):
    path = str(runs["many"].folder.path)
    assert main(["compare", path, path, "--data", test_data]) == 0
    printed = capsys.readouterr().out
    assert "no difference in BLEU can be told from 60 pairs: +0 (+0 to +0), p = 1.000" in printed
    assert main(["compare", path, path, "--data", test_data, "--json"]) == 0
    for name, found in json.loads(capsys.readouterr().out)["figures"].items():
        assert found["over_examples"]["difference"] == 0, name
        assert found["over_examples"]["p"] == 1


def test_a_better_run_is_called_better_and_the_order_changes_the_sign(runs, test_data, capsys):
    few, many = (str(runs[name].folder.path) for name in ("few", "many"))
    assert main(["compare", few, many, "--data", test_data]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("on 60 pairs (given data)\n")
    assert f"{many} is better by " in printed
    assert printed.endswith("another seed may change as much: train with --seeds 3\n")
    there = compare([runs["few"]], [runs["many"]], test_data)
    back = compare([runs["many"]], [runs["few"]], test_data)
    for name, found in there.figures.items():
        assert found.over_examples.value == -back.figures[name].over_examples.value
    assert f"{many} is better" in back.sentence
    assert there.figures["exact"].over_examples.test == "McNemar's exact test"
    assert there.figures["bleu"].over_examples.test == "paired bootstrap"
    scores = [runs[name].judged(test_data).scores["chrf"] for name in ("few", "many")]
    assert there.figures["chrf"].over_examples == over_examples(scores[:1], scores[1:])


def test_runs_on_the_same_data_need_no_other(runs):
    assert compare([runs["few"]], [runs["many"]]).data == "held out"


def test_language_models_with_other_tokens_are_compared_by_bytes(runs, tmp_path):
    text = tmp_path / "new.txt"
    text.write_text("".join(f"day {n}: a boat lies on the sand, é {n * n}.\n" for n in range(400)))
    found = compare([runs["letters"]], [runs["bytes"]], str(text))
    assert list(found.figures) == ["bits_per_byte"]
    assert "bits per byte" in found.sentence
    assert compare([runs["letters"]], [runs["letters"]], str(text)).figures.keys() >= {"loss", "accuracy"}


def test_with_several_seeds_the_seeds_decide(runs, test_data):
    found = compare([runs["few"], runs["few"]], [runs["many"], runs["many"]], test_data)
    bleu = found.figures["bleu"]
    assert bleu.over_seeds == over_seeds(bleu.ours, bleu.theirs)
    assert bleu.over_examples == compare([runs["few"]], [runs["many"]], test_data).figures["bleu"].over_examples
    assert "over seeds: of the recipe" in found.caution
    assert "95 % over seeds" in repr(found)


def test_what_cannot_be_compared_is_refused(runs, test_data, tmp_path, refused):
    paths = {name: str(run.folder.path) for name, run in runs.items()}
    assert refused("compare", paths["many"], paths["labels"]) == (
        f"{paths['many']} is a translator, {paths['labels']} a classifier: no figure means the same for both; "
        "name two runs of one kind"
    )
    assert refused("compare", paths["many"], paths["lower"]) == (
        f"{paths['lower']} writes without capitals, {paths['many']} with them: no figure means the same for both; "
        "train both with the same text.lower"
    )
    assert "have different tokens, of which one cannot spell every word" in refused(
        "compare", paths["letters"], paths["words"], "--data", "python"
    )
    elsewhere = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    other = quietly(replace(elsewhere, data=Data(test_data, share=0.3)), tmp_path / "other").folder.path
    assert refused("compare", paths["many"], str(other)) == (
        f"{paths['many']} and {other} would be judged by different data, which compares nothing; "
        "name the same for both: --data FILE"
    )
    few = tmp_path / "few.tsv"
    few.write_text("one two\ttwo one\n" * 4)
    assert refused("compare", paths["few"], paths["many"], "--data", str(few)) == (
        "4 pairs are too few to compare two runs by; give at least 10"
    )
    assert "is not a run" in refused("compare", paths["few"], str(tmp_path / "nowhere"))


def test_figures_stand_in_one_column_however_long_a_name_is():
    figures = Figures(data="held out", accuracy=0.5, macro_f1_signature="mean over 3 labels", intervals={})
    assert {
        line.index(value) for line, value in zip(repr(figures).splitlines(), ("held", "0.5", "mean"), strict=True)
    } == {19}
