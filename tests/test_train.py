"""Training: it learns, goes on exactly where it stopped, and is the same in one piece, in parts or in processes."""

import json
import math
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
import torch.nn.functional as F
import zoo
from safetensors.torch import load_file
from tiny import differences, in_another_process, log_of, recipe

from regard.config import Data, LanguageModel, Recipe, Seq2Seq, Text, Train, to_table
from regard.data import store
from regard.data.batch import IGNORED, Buckets, Streams
from regard.data.examples import held_out
from regard.runs import Folder, load_run
from regard.text import STOP
from regard.train import loop
from regard.train.checkpoint import Progress
from regard.train.evaluate import ROWS
from regard.train.judge import judge
from regard.train.loop import Training, train
from regard.train.loss import Objective, by_student_forcing
from regard.train.parallel import World, precision_of
from regard.train.prepare import material
from regard.train.report import Report

FAMILIES = [name for name in tiny.MODELS if "gru" not in name]


class Killed(BaseException):
    """Nothing in the loop is ready for this one."""


def quietly(plan: Recipe | None, path: Path):
    return train(plan, path, Report(quiet=True))


def looks_of(path: Path) -> list[dict]:
    return [entry for entry in log_of(path) if "held_out" in entry]


def held_out_losses(path: Path) -> list[float]:
    return [entry["held_out"]["loss"] for entry in looks_of(path)]


def killed_after(steps: int, plan: Recipe | None, path: Path) -> None:
    """Trains so many steps and falls over, before whatever would have been written then."""
    left = [steps]
    update = Training.update

    def counted(self: Training) -> float:
        if not left[0]:
            raise Killed
        left[0] -= 1
        return update(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "update", counted)
        with pytest.raises(Killed):
            quietly(plan, path)


def without_dropout(plan: Recipe) -> Recipe:
    model = plan.model
    if isinstance(model, LanguageModel):
        return replace(plan, model=replace(model, layer=replace(model.layer, dropout=0.0)))
    assert isinstance(model, Seq2Seq)
    sides = {side: replace(getattr(model, side), dropout=0.0) for side in ("encoder", "decoder")}
    return replace(plan, model=replace(model, **sides))


# Learning


@pytest.mark.parametrize("name", tiny.MODELS)
def test_training_lowers_the_held_out_loss(name, tmp_path):
    run = quietly(recipe(tmp_path, name, steps=40, evaluate=10), tmp_path / "run")
    losses = held_out_losses(tmp_path / "run")
    assert len(losses) == 4
    assert losses[-1] < losses[0] < 1.2 * math.log(run.tokenizer.vocabulary)
    assert min(losses) < losses[0] - 0.1


@pytest.mark.parametrize("name", ["lm-lstm", "seq2seq-transformer"])
def test_a_run_folder_is_all_that_another_process_needs(name, tmp_path):
    run = tmp_path / "run"
    quietly(recipe(tmp_path, name), run)
    here = judge(run)
    for source in (*tmp_path.glob("*.txt"), *tmp_path.glob("*.tsv")):
        source.unlink()
    names = {path.name for path in run.iterdir()}
    wanted = {"config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", "checkpoint.safetensors", "curve.png"}
    assert names >= wanted
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    done = in_another_process("evaluate", run, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    there = json.loads(done.stdout)
    assert there == here
    best = min(looks_of(run), key=lambda entry: entry["held_out"]["loss"])
    assert round(there["loss"], 5) == best["held_out"]["loss"]
    assert there.keys() >= {"data", "loss", "perplexity", "bits_per_byte", "accuracy"}
    assert ("bleu" in there) == name.startswith("seq2seq")


def test_preparing_again_gives_the_same_run(tmp_path):
    plan = recipe(tmp_path, "lm-gru")
    for name in ("one", "two"):
        quietly(plan, tmp_path / name)
    assert differences(tmp_path / "one", tmp_path / "two") == []
    quietly(replace(plan, train=replace(plan.train, seed=1)), tmp_path / "three")
    assert differences(tmp_path / "one", tmp_path / "three") != []


def test_a_preset_becomes_a_model_of_that_kind(tmp_path):
    plan = replace(recipe(tmp_path, "seq2seq-rnn-attention", steps=1), model="gru")
    run = quietly(plan, tmp_path / "run")
    assert run.model_config.decoder.kind == "gru"
    assert load_run(tmp_path / "run").recipe == run.recipe


@pytest.mark.parametrize("metric", ["bleu", "chrf", "exact"])
def test_what_decides_is_the_metric(metric, tmp_path):
    quietly(recipe(tmp_path, "seq2seq-lstm-attention", steps=24, metric=metric, checkpoint=100), tmp_path / "run")
    looks = looks_of(tmp_path / "run")
    values = [entry["held_out"][metric] for entry in looks]
    assert [entry["best"] for entry in looks] == [all(v > w for w in values[:i]) for i, v in enumerate(values)]


# Going on


@pytest.mark.parametrize("name", FAMILIES)
def test_going_on_is_exact(name, tmp_path):
    """Stopped thrice, once before the first checkpoint: the same weights, memory and log to the last bit."""
    plan = recipe(tmp_path, name)
    quietly(plan, tmp_path / "whole")
    killed_after(2, plan, tmp_path / "broken")
    assert not Folder(tmp_path / "broken").checkpoint.exists()
    killed_after(7, None, tmp_path / "broken")
    killed_after(6, None, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


def test_going_on_is_exact_behind_a_checkpoint_that_never_came(tmp_path, monkeypatch):
    """The log and the best weights are written first: both are ahead of the checkpoint then."""
    plan = recipe(tmp_path, "lm-gru", average=2)
    quietly(plan, tmp_path / "whole")
    checkpoint = Training.checkpoint

    def dies(self: Training) -> None:
        if self.progress.step == 8:
            raise Killed
        checkpoint(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "checkpoint", dies)
        with pytest.raises(Killed):
            quietly(plan, tmp_path / "broken")
    assert log_of(tmp_path / "broken")[-1]["step"] == 8
    killed_after(1, None, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_going_on_is_exact_with_everything_switched_on(optimiser, tmp_path):
    settings = {"accumulate": 3, "average": 2, "smoothing": 0.1, "student": 0.5, "schedule": "inverse-square-root"}
    plan = recipe(tmp_path, "lm-gru", optimiser=optimiser, **settings)
    quietly(plan, tmp_path / "whole")
    killed_after(11, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []


def test_a_finished_run_has_nothing_more_to_do(tmp_path):
    quietly(recipe(tmp_path, "lm-rnn", average=2), tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.safetensors")}
    quietly(None, tmp_path / "run")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.safetensors")} == before


def test_more_steps_go_on_from_the_last(tmp_path):
    plan = recipe(tmp_path, "lm-lstm", schedule="constant", steps=16)
    quietly(plan, tmp_path / "whole")
    quietly(replace(plan, train=replace(plan.train, steps=8)), tmp_path / "longer")
    quietly(plan, tmp_path / "longer")
    assert held_out_losses(tmp_path / "whole") == held_out_losses(tmp_path / "longer")
    whole, longer = (load_file(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "longer"))
    assert all(torch.equal(whole[key], longer[key]) for key in whole)


@pytest.mark.parametrize("changes", [{"batch": 320}, {"batch": 48}, {"length": 8}, {"accumulate": 5}])
@pytest.mark.parametrize("accumulate", [1, 12])
def test_going_on_in_other_batches(changes, accumulate, tmp_path):
    """How a run trains may change; what a row remembers is of no use where there are other rows."""
    plan = recipe(tmp_path, "lm-lstm", steps=12, accumulate=accumulate)
    killed_after(6, plan, tmp_path / "run")
    quietly(replace(plan, train=replace(plan.train, **changes)), tmp_path / "run")
    assert log_of(tmp_path / "run")[-1]["step"] == 12


def test_killed_without_warning_at_any_moment(tmp_path):
    plan = recipe(tmp_path, "lm-lstm", steps=60, evaluate=6)
    quietly(plan, tmp_path / "whole")
    quietly(replace(plan, train=replace(plan.train, steps=1)), tmp_path / "broken")  # prepares the folder
    for path in (tmp_path / "broken").glob("*.safetensors"):
        path.unlink()
    Folder(tmp_path / "broken").log.unlink()
    Folder(tmp_path / "broken").write_config(plan)
    choose = random.Random(0)
    killed = 0
    for _ in range(2):
        words = tiny.command("train", tmp_path / "broken")
        with subprocess.Popen(words, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "parameters" in line:
                    break
            time.sleep(choose.uniform(0, 0.3))
            process.kill()
            killed += process.wait() == -signal.SIGKILL
    assert killed
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    assert list((tmp_path / "broken").rglob("*.partial")) == []


def test_what_a_killed_process_left_half_written_is_swept_away(tmp_path):
    plan = recipe(tmp_path, "lm-rnn", steps=2)
    quietly(plan, tmp_path / "run")
    for name in (".checkpoint.safetensors.123.partial", "tokens/.train.tokens.7.partial"):
        (tmp_path / "run" / name).write_bytes(b"half")
    quietly(None, tmp_path / "run")
    assert list((tmp_path / "run").rglob("*.partial")) == []


# In parts, in processes


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer", "seq2seq-lstm-attention", "seq2seq-transformer"])
@pytest.mark.parametrize("parts", [4, 24])
def test_a_batch_in_parts_is_the_same_update(name, parts, tmp_path):
    plan = without_dropout(recipe(tmp_path, name, steps=6, evaluate=6))
    quietly(plan, tmp_path / "whole")
    quietly(replace(plan, train=replace(plan.train, accumulate=parts)), tmp_path / "parts")
    whole, divided = (load_file(tmp_path / path / "model.safetensors") for path in ("whole", "parts"))
    for key in whole:
        # A key's bias moves no score: its gradient is nothing but rounding, which Adam makes large.
        if not key.endswith(("query_key_value.bias", "key_value.bias")):
            torch.testing.assert_close(divided[key], whole[key], rtol=1e-3, atol=2e-5)
    assert held_out_losses(tmp_path / "parts") == pytest.approx(held_out_losses(tmp_path / "whole"), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lm-lstm", {}),
        ("seq2seq-transformer", {}),
        ("seq2seq-transformer", {"optimiser": "muon"}),
        ("lm-transformer", {"optimiser": "muon", "parallel": "fsdp"}),
    ],
)
def test_two_processes_train_as_one(name, settings, tmp_path):
    """Two processes half-way, then one to the end: what each remembered is there for the other."""
    plan = without_dropout(recipe(tmp_path, name, steps=16, schedule="constant", rate=0.003, **settings))
    half = replace(plan, train=replace(plan.train, steps=8))
    quietly(plan, tmp_path / "alone")
    path = tmp_path / "half.toml"
    Folder(tmp_path).write_config(half)
    (tmp_path / "config.toml").rename(path)
    done = tiny.in_two_processes("train", path, "--folder", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    assert log_of(tmp_path / "both")[-1]["step"] == 8
    quietly(plan, tmp_path / "both")
    near = 1e-4 if "optimiser" in settings else 1e-5  # muon rounds to 16 bits
    assert held_out_losses(tmp_path / "both") == pytest.approx(held_out_losses(tmp_path / "alone"), rel=near)


# In 16 bits


@pytest.mark.parametrize("name", FAMILIES)
def test_16_bits_learn_as_much_and_go_on_exactly(name, tmp_path):
    """What is carried and kept is 32 bits wide, so a checkpoint holds it all."""
    plan = recipe(tmp_path, name, precision="bfloat16")
    quietly(plan, tmp_path / "whole")
    killed_after(7, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    quietly(recipe(tmp_path, name), tmp_path / "wide")
    rough, exact = held_out_losses(tmp_path / "whole"), held_out_losses(tmp_path / "wide")
    assert rough != exact, "nothing was computed with 16 bits"
    assert rough == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("has", "found"), [(True, torch.bfloat16), (False, torch.float32)])
def test_16_bits_only_where_the_processor_has_them(has, found, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    assert precision_of("auto", torch.device("cpu")) == found
    assert precision_of("float32", torch.device("cpu")) == torch.float32
    assert precision_of("bfloat16", torch.device("cpu")) == torch.bfloat16


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is kept or not as the system likes")
def test_freed_memory_is_kept_for_the_next_tensor():
    """In a process of its own: the setting is the process's, and stays."""
    code = (
        "import resource, torch; from regard.train.allocator import keep_freed_memory; keep_freed_memory()\n"
        "fill = lambda: torch.ones(20_000_000).sum()\n"
        "fill(); before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(5): fill()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=tiny.environment()
    )
    # Once the allocator may want another place; handed back, all five tensors would ask for their pages again.
    assert int(done.stdout) < 2.5 * 20_000_000 * 4 / 4096


# How it learns


def test_a_row_remembers_the_batch_before(tmp_path):
    """Two batches of a text give what both give in one piece: nothing is forgotten in between."""
    plan = without_dropout(recipe(tmp_path, "lm-lstm", steps=2, evaluate=1, rate=1e-20))
    quietly(plan, tmp_path / "run")
    training = Training(load_run(tmp_path / "run"), World(), Report(quiet=True))
    model, length = training.run.model, plan.train.length
    for text, rows, losses in (
        (
            training.material.train[0],
            training.batches.at(0).size,
            [entry["loss"] for entry in log_of(tmp_path / "run")],
        ),
        (training.material.valid[0], ROWS, held_out_losses(tmp_path / "run")[:1]),
    ):
        streams = Streams(text, rows, length)
        batches = [streams.at(step) for step in range(2 if len(losses) == 2 else streams.per_epoch)]
        tokens, targets = (torch.cat([batch[side] for batch in batches], 1) for side in (0, 1))
        with torch.no_grad():
            scores, _ = model(tokens, model.start(batch=len(tokens)))
        each = F.cross_entropy(scores.transpose(1, 2), targets, reduction="none")
        wanted = [part.mean().item() for part in each.split(length, 1)] if len(losses) == 2 else [each.mean().item()]
        assert losses == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer", "seq2seq-gru-attention", "seq2seq-transformer"])
def test_student_forcing_trains(name, tmp_path):
    quietly(recipe(tmp_path, name, steps=24, student=1.0), tmp_path / "run")
    losses = held_out_losses(tmp_path / "run")
    assert losses[-1] < losses[0]


def some_batch(name: str):
    if name in zoo.READS_A_SOURCE:
        random_ids = [[int(i) for i in torch.randint(3, 11, (n,))] for n in (2, 5, 3, 4)]
        return Buckets(store.gather(random_ids), store.gather(random_ids[::-1]), 1000, 0).at(0)
    return Streams(store.gather([[int(i) for i in torch.randint(11, (40,))]]), 3, 6).at(0)


@pytest.mark.parametrize("name", ["lm-gru", "lm-transformer-rotary", "seq2seq-bilstm-additive", "seq2seq-transformer"])
def test_a_student_that_is_never_heard_is_taught(name):
    model, batch = zoo.make(name), some_batch(name)
    objective = Objective(model, 0.0, torch.float32)
    state = zoo.begin(model, name, batch.size)
    taught, _ = model(batch.tokens, state, batch.keep)
    alone, _ = by_student_forcing(model, batch, state, 0.0)
    wanted = batch.targets != IGNORED
    torch.testing.assert_close(alone[wanted], taught[wanted])
    own, _ = by_student_forcing(model, batch, state, 1.0)
    assert not torch.allclose(own[wanted], taught[wanted])
    fed = torch.cat([batch.tokens[:, :1], own[:, :-1].argmax(-1)], 1)
    torch.testing.assert_close(own[wanted], model(fed, state, batch.keep)[0][wanted])
    assert objective(batch, None).loss > 0


def test_label_smoothing_is_for_training_only():
    model, batch = zoo.make("seq2seq-transformer", torch.float32), some_batch("seq2seq-transformer")
    plain, smooth = (Objective(model, smoothing, torch.float32) for smoothing in (0.0, 0.3))
    assert smooth.eval()(batch, None).loss == plain.eval()(batch, None).loss
    loss = smooth.train()(batch, None).loss
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    assert loss != plain.train()(batch, None).loss


def test_the_loss_is_the_sum_of_minus_log_p():
    model, batch = zoo.make("lm-lstm"), some_batch("lm-lstm")
    outcome = Objective(model, 0.0, torch.float32).eval()(batch, None)
    scores, _ = model(batch.tokens, model.start(batch=batch.size))
    p = scores.log_softmax(-1).gather(-1, batch.targets[..., None])
    assert outcome.loss.item() == pytest.approx(-p.sum().item(), rel=1e-6)
    assert outcome.right == (scores.argmax(-1) == batch.targets).sum()


def test_early_stopping(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "better", lambda metric, new, old: old is None)
    plan = recipe(tmp_path, "lm-rnn", steps=100, evaluate=2, patience=3)
    for _ in range(2):  # once stopped it stays so
        quietly(plan, tmp_path / "run")
        assert [entry["step"] for entry in looks_of(tmp_path / "run")] == [2, 4, 6, 8]
    assert load_file(tmp_path / "run" / "model.safetensors").keys()


def test_the_best_weights_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "better", lambda metric, new, old: old is None)
    quietly(recipe(tmp_path, "lm-rnn", steps=12, evaluate=4), tmp_path / "run")
    assert round(judge(tmp_path / "run")["loss"], 5) == held_out_losses(tmp_path / "run")[0]


@pytest.mark.parametrize("average_of", ["last", "best"])
def test_which_looks_are_kept_for_a_mean(average_of):
    training = SimpleNamespace(
        progress=Progress(looks=((5, 2.0), (10, 1.0), (15, 3.0))), settings=Train(average=3, average_of=average_of)
    )
    kept = Training._kept_looks(training, (20, 2.5))
    assert {step for step, _ in kept} == ({10, 15, 20} if average_of == "last" else {5, 10, 20})


def test_the_mean_of_the_last_looks(tmp_path):
    quietly(recipe(tmp_path, "lm-lstm", steps=20, evaluate=5, average=3), tmp_path / "run")
    folder = Folder(tmp_path / "run")
    looks = [load_file(folder.look(step)) for step in (10, 15, 20)]
    mean = load_file(folder.weights)
    for key in mean:
        torch.testing.assert_close(mean[key], torch.stack([look[key] for look in looks]).mean(0))
    assert any(not torch.equal(mean[key], looks[-1][key]) for key in mean)


# What is held out


def test_the_end_of_a_text_is_held_out(tmp_path):
    plan = recipe(tmp_path, "lm-rnn", steps=1)
    run = quietly(plan, tmp_path / "run")
    found = material(run.folder)
    seen, unseen = (run.tokenizer.decode(part[0].tokens) for part in (found.train, found.valid))
    text = Path(plan.data.train).read_text()
    assert seen + unseen == text
    assert len(unseen) / len(text) == pytest.approx(0.1, abs=0.01)
    assert found.valid_bytes == len(unseen.encode())


@pytest.mark.parametrize("shared", [True, False])
def test_no_source_is_on_both_sides(shared, tmp_path):
    plan = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    run = quietly(replace(plan, text=replace(plan.text, shared=shared)), tmp_path / "run")
    found = material(run.folder)
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
    found = material(run.folder)
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
    found = material(quietly(plan, tmp_path / "run").folder)
    assert len(found.train[0].tokens) > 8 * len(found.valid[0].tokens) > 0


def test_the_end_of_a_few_documents_is_held_out(tmp_path):
    """None of these five would be held out as a whole."""
    folder = tmp_path / "books"
    folder.mkdir()
    for number in range(5):
        assert not held_out(f"{number} été\n", 0.4)
        (folder / f"{number}.txt").write_text(f"{number} été\n", encoding="utf-8")
    plan = replace(recipe(tmp_path, "lm-rnn", steps=1), data=Data(str(folder), share=0.4))
    found = material(quietly(plan, tmp_path / "run").folder)
    assert found.valid_bytes == 2 * len("3 été\n".encode())
    assert len(found.train[0].tokens) == 3 * len("^3 été\n$")


def test_a_held_out_file_is_used_as_it_is(tmp_path):
    plan = recipe(tmp_path, "seq2seq-rnn-attention", steps=1)
    other = tmp_path / "other.tsv"
    other.write_text("one two\ttwo one\nfour\tfour\n")
    run = quietly(replace(plan, data=replace(plan.data, valid=str(other), test=str(other))), tmp_path / "run")
    found = material(run.folder)
    assert len(found.valid[0]) == 2
    assert len(found.train[0]) == len(Path(plan.data.train).read_text().splitlines())
    assert found.valid_bytes == len("two one" + "four")
    assert judge(tmp_path / "run")["data"] == "test"
    assert to_table(run.recipe)["data"]["valid"] == str(other)
    assert run.recipe.text == Text("words")
