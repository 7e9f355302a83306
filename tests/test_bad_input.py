"""What a person reads when something is wrong: one line on standard error, exit code 1, and never a traceback."""

import os
import re
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny
import tomli_w
import torch
from safetensors.torch import load_file
from tiny import differences, recipe

from regard import disk
from regard.cli import main
from regard.config import to_table
from regard.runs import Folder
from regard.train import checkpoint as checkpoints
from regard.train.checkpoint import load_checkpoint
from regard.train.loop import Training

SMALL = ["--train.steps", "4", "--train.evaluate", "2", "--train.batch", "64", "--train.length", "8"]
MODEL = ["--model.kind", "language-model", "--model.layer.kind", "rnn", "--model.layer.width", "8"]
PAIRS = ["--model.kind", "seq2seq", "--model.encoder.width", "8", "--model.decoder.width", "8", "--text.kind", "words"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Each test has an empty folder to itself, and names its files without a path."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def said(capsys):
    """Runs a command; gives its exit code and what it wrote to standard error."""

    def run(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def refused(said):
    """Runs a command that must fail; gives the one line that it says, behind what it said of preparing."""

    def run(*words: object) -> str:
        code, text = said(*words)
        assert code == 1
        assert "Traceback" not in text
        *before, last = text.splitlines()
        assert all(re.match("preparing |going on |left out |step |[0-9,]+ parameters", line) for line in before), text
        assert last.startswith("regard: ")
        return last.removeprefix("regard: ")

    return run


def write(name: str, data: str | bytes) -> str:
    Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def write_recipe(name: str, **settings) -> str:
    """A small recipe as a file, with the data it names."""
    return write("recipe.toml", tomli_w.dumps(to_table(recipe(Path.cwd(), name, **settings))))


def state_of(run: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(run).glob("*.safetensors")}


def leftovers() -> list[Path]:
    return list(Path.cwd().rglob("*.partial"))


# Files


def test_a_missing_file(refused):
    write("tides.txt", "in and out")
    assert refused("train", "--data.train", "tide.txt") == "tide.txt does not exist; did you mean 'tides.txt'?"
    assert refused("train", "--data.train", "zzz/qqq.txt") == "zzz/qqq.txt does not exist; check the path"
    assert not Path("runs/mine/config.toml").exists()


def test_a_missing_recipe(refused):
    assert refused("train", "none.toml") == "none.toml does not exist; give the path of a recipe, see examples/"
    assert refused("train") == "train wants a recipe or --data.train FILE, found neither; see regard train --help"


def test_an_empty_file(refused):
    assert refused("train", "--data.train", write("a.txt", "")) == "a.txt is empty; give a file with text in it"
    assert refused("train", "--data.train", write("a.tsv", "")) == "a.tsv is empty; give a file with text in it"


def test_too_little_text(refused):
    assert refused("train", "--data.train", write("a.txt", "ab"), "--text.kind", "characters") == (
        "a.txt has only 4 tokens, too few to train on and hold 5% out; give more text, or a [data] valid file"
    )


def test_too_few_pairs(refused):
    assert refused("train", "--data.train", write("a.tsv", "one\teins\n"), "--data.share", "0") == (
        "a.tsv has too few pairs to hold some out; give more, or a [data] valid file"
    )


def test_a_folder_where_a_file_belongs(refused):
    Path("books").mkdir()
    write("a.en", "hello\n")
    assert refused("train", "--data.train", "a.en", "books") == (
        "books is a folder where a file is wanted; name a file in it"
    )
    assert refused("train", "--data.train", "books") == (
        "folder books has no text file in it; hidden, empty and binary files do not count"
    )


def test_not_utf8(refused):
    write("a.txt", "fine\nL'été\n".encode("latin-1"))
    assert refused("train", "--data.train", "a.txt") == (
        "a.txt is not UTF-8: line 2, byte 3 is 0xe9; if it is Latin-1, convert it: iconv -f latin1 -t utf-8"
    )


def test_parallel_files_of_different_length(refused):
    write("a.en", "one\ntwo\nthree\n")
    write("a.fr", "un\ndeux\n")
    assert refused("train", "--data.train", "a.en", "a.fr") == (
        "a.en has 3 lines, a.fr has 2: line 3 of a.en, 'three', has no partner; both files must have the same lines"
    )


def test_lines_that_are_too_long_are_counted(said):
    lines = [f"word {n}\tword {n}" for n in range(60)] + [f"{'long ' * 9}{n}\tshort" for n in range(3)]
    write("a.tsv", "\n".join([*lines, "\tone side only"]))
    code, text = said("train", "--data.train", "a.tsv", "--data.longest", "8", "--data.share", "0.3", *PAIRS, *SMALL)
    assert code == 0
    assert "left out 1 one side empty, 3 longer than 8 tokens\n" in text
    write("b.tsv", "\n".join(lines))
    _, text = said("train", "--data.train", "b.tsv", "--data.longest", "8", *PAIRS, *SMALL, "--run", "b")
    assert "left out 3 longer than 8 tokens\n" in text
    _, text = said("train", "b")
    assert "left out 3 longer than 8 tokens\n" in text


def test_nothing_but_long_lines(refused):
    write("a.tsv", "\n".join(f"{'long ' * 9}{n}\tshort" for n in range(30)))
    assert re.fullmatch(
        r"a.tsv has no pair to train on \(\d+ longer than 8 tokens\); check the data",
        refused("train", "--data.train", "a.tsv", "--data.longest", "8", *PAIRS, *SMALL),
    )


# Settings


def test_an_unknown_setting(refused):
    write("a.toml", "[data]\ntrain = 'a.txt'\n[train]\nstep = 5\n")
    assert refused("train", "a.toml") == "no setting 'step' in [train]; did you mean 'steps'?"
    assert refused("train", "--data.train", "a.txt", "--train.step", "5") == (
        "no setting 'step' in [train]; did you mean 'steps'?"
    )


def test_a_value_of_the_wrong_type(refused):
    assert refused("train", "--data.train", "a.txt", "--train.steps", "many") == (
        "[train] steps must be a whole number from 1 up, found many"
    )
    assert refused("train", "--data.train", "2026") == (
        "[data] train must be a name, or two names of parallel files, found 2026"
    )


def test_a_recipe_that_is_not_toml(refused):
    assert refused("train", write("a.toml", "steps: 5\n")).startswith("a.toml is not valid TOML: ")


def test_a_device_that_is_not_there(refused):
    words = ["train", "--data.train", tiny.write_text(Path.cwd()).name, *MODEL, *SMALL, "--train.device", "tpu"]
    text = refused(*words)
    assert text.startswith("device 'tpu' is not to be had here (")
    assert text.endswith("); use device = 'auto' or 'cpu'")


def test_a_model_that_does_not_suit_the_data(refused):
    assert refused("train", "--data.train", tiny.write_text(Path.cwd()).name, *PAIRS, *SMALL) == (
        "data.train holds text, which wants a model of kind 'language-model', found 'seq2seq'; "
        "change [model], or the data"
    )


def test_a_metric_that_does_not_suit_the_data(refused):
    where = tiny.write_text(Path.cwd()).name
    assert refused("train", "--data.train", where, *MODEL, *SMALL, "--train.metric", "bleu") == (
        "[train] metric 'bleu' is not for text; choose loss, accuracy"
    )


def test_a_setting_where_none_belongs(refused):
    assert refused("corpora", "--train.steps", "5") == (
        "--train.steps is a setting of a recipe and means nothing here; see --help"
    )


# A run folder


def test_a_folder_that_is_no_run(refused):
    Path("empty").mkdir()
    expected = "empty is not a run (it has no config.toml); give the folder that `regard train` made"
    assert refused("evaluate", "empty") == expected
    assert refused("train", "empty") == expected
    assert refused("train", "empty", "--train.steps", "5") == expected
    assert refused("evaluate", "none") == expected.replace("empty", "none")


def test_two_folders(refused):
    Path("one").mkdir()
    assert refused("train", "one", "--run", "two") == (
        "one is a run already, so --run two has no meaning; give a recipe, or leave --run out"
    )


def test_a_run_of_another_version(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text("shape = 'round'\n" + config.read_text().replace("version = 1", "version = 2"))
    expected = "r/config.toml: version must be 1, found 2: another regard wrote this; use that one"
    assert refused("train", "r") == expected
    assert refused("evaluate", "r") == expected


def test_a_checkpoint_of_another_version(refused, said, monkeypatch):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    monkeypatch.setattr(checkpoints, "VERSION", 7)
    assert refused("train", "r") == (
        "r/checkpoint.safetensors has version 1, this regard reads 7; train with the regard that wrote it"
    )


@pytest.mark.parametrize("kept", [0, 5, 100, 1000])
def test_a_broken_checkpoint(kept, refused, said):
    assert said("train", write_recipe("lm-rnn", steps=4), "--run", "r")[0] == 0
    path = Path("r/checkpoint.safetensors")
    path.write_bytes(path.read_bytes()[:kept])
    text = refused("train", "r")
    assert text.startswith("r/checkpoint.safetensors is damaged (")
    assert text.endswith("); delete it to start this run again")
    path.unlink()
    assert said("train", "r")[0] == 0


def test_a_checkpoint_of_another_model(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace("width = 12", "width = 16"))
    text = refused("train", "r")
    assert text.startswith("r/checkpoint.safetensors does not fit the model in config.toml (")
    assert refused("evaluate", "r").startswith("r/model.safetensors does not fit the model in config.toml (")


def test_broken_weights(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    path = Path("r/model.safetensors")
    path.write_bytes(path.read_bytes()[:-8])
    assert refused("evaluate", "r").startswith("r/model.safetensors is damaged (")
    path.unlink()
    assert refused("evaluate", "r") == (
        "r/model.safetensors does not exist: this run has not been trained; run `regard train r`"
    )


def test_a_run_without_its_tokens(refused, said):
    """They are what a run needs to go on; other data can still be judged without them."""
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    for path in Path("r/tokens").iterdir():
        path.unlink()
    expected = "r/tokens is not complete, so the run has no data of its own; copy it whole, or name other data"
    assert refused("evaluate", "r") == expected
    assert refused("train", "r") == expected
    assert said("evaluate", "r", "--data", "tides.txt")[0] == 0


def test_going_on_with_another_optimisers_memory(refused, said):
    """Whoever edits the config of a run finds out before anything is lost."""
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r", "--train.optimiser", "muon")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace('"muon"', '"adamw"').replace("steps = 2", "steps = 4"))
    assert refused("train", "r") == "the checkpoint is of another optimiser; name that one under [train] in config.toml"
    config.write_text(config.read_text().replace('"adamw"', '"muon"'))
    assert said("train", "r")[0] == 0


def test_going_on_with_other_data(refused, said):
    name = write_recipe("lm-rnn", steps=2)
    assert said("train", name, "--run", "r")[0] == 0
    before = state_of("r")
    assert refused("train", "r", "--data.share", "0.3") == (
        "r holds a run with another data.share (0.1, here 0.3); choose another folder with --run, or delete it"
    )
    assert refused("train", name, "--run", "r", "--text.kind", "bytes") == (
        "r holds a run with another text.kind (characters, here bytes); choose another folder with --run, or delete it"
    )
    assert refused("train", "r", "--train.optimiser", "muon") == (
        "r holds a run with another train.optimiser (adamw, here muon); choose another folder with --run, or delete it"
    )
    where = tiny.write_text(Path.cwd()).resolve()
    assert refused("train", "--data.train", where, "--data.share", "0.1", "--text.kind", "characters",
                   "--model", "transformer", "--run", "r") == (
        "r holds a run with another model (rnn, here transformer); choose another folder with --run, or delete it"
    )  # fmt: skip
    assert state_of("r") == before
    assert said("train", "r", "--train.steps", "4")[0] == 0


def test_fewer_steps_than_there_are(refused, said):
    """Nothing has been looked at yet, so there are no weights to hand on."""
    name = write_recipe("lm-rnn", steps=50, evaluate=50, checkpoint=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "look", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        assert said("train", name, "--run", "r")[0] == 130
    assert refused("train", "r", "--train.steps", "3") == (
        "r is at step 48, past train.steps (3), and has not been looked at yet; set train.steps above 48"
    )


def test_evaluating_on_data_of_the_other_kind(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    write("a.tsv", "one\teins\n")
    write("a.en", "one\n")
    assert refused("evaluate", "r", "--data", "a.tsv") == "a.tsv holds pairs, this run was trained on text"
    assert refused("evaluate", "r", "--data", "a.en", "a.en") == "a.en, a.en holds pairs, this run was trained on text"
    assert refused("evaluate", "r", "--data", "none.txt") == "none.txt does not exist; check the path"
    assert refused("evaluate", "r", "--train.steps", "5") == (
        "--train.steps is a setting of a recipe and means nothing here; see --help"
    )


# Accidents


def fails_the(number: int, write_file):
    """A writer that finds the disk full at its n-th file, half-way through."""
    written = []

    def write_some(tensors, path, metadata=None):
        written.append(path)
        if len(written) == number:
            Path(path).write_bytes(b"half a check")
            raise OSError(28, os.strerror(28))
        write_file(tensors, path, metadata)

    return write_some


def test_a_full_disk_in_the_middle_of_a_checkpoint(refused, said, monkeypatch):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    assert said("train", name, "--run", "whole")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(disk, "save_file", fails_the(2, disk.save_file))
        assert refused("train", name, "--run", "r") == (
            "cannot write r/checkpoint.safetensors: No space left on device; the earlier one is untouched; "
            "check the folder and the space left on it"
        )
    assert load_checkpoint(Path("r/checkpoint.safetensors")).progress.step == 3
    assert leftovers() == []
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []


@contextmanager
def files_no_larger_than(size: int):
    """A disk that really refuses: the system's own limit on the size of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_really_refuses(refused, said):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    with files_no_larger_than(20_000):
        text = refused("train", name, "--run", "r")
    assert re.fullmatch(
        r"cannot write r/checkpoint.safetensors: .*File too large.*; check the folder and the space left on it", text
    )
    assert leftovers() == []
    assert not Path("r/checkpoint.safetensors").exists()
    assert said("train", "r")[0] == 0


def test_a_run_in_the_place_of_a_file(refused):
    write("taken", "something else")
    text = refused("train", write_recipe("lm-rnn"), "--run", "taken")
    assert text.startswith("cannot write taken/")
    assert Path("taken").read_text() == "something else"


def test_a_loss_that_is_no_number(refused, said, monkeypatch):
    name = write_recipe("lm-lstm", checkpoint=3, evaluate=50)
    assert said("train", name, "--run", "whole")[0] == 0
    update = Training.update

    def overflows(self):
        if self.progress.step == 7:
            with torch.no_grad():
                next(self.model.parameters())[:] = float("inf")
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", overflows)
        assert refused("train", name, "--run", "r") == (
            "the loss is no longer a number at step 8; the last good checkpoint is in r; try a lower train.rate "
            "(now 0.01), a longer train.warmup (now 4) or a smaller train.clip (now 1.0)"
        )
    saved = load_checkpoint(Path("r/checkpoint.safetensors"))
    assert saved.progress.step == 6
    assert all(tensor.isfinite().all() for tensor in saved.model.values())
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []


def test_an_absurd_rate(refused):
    settings = {"rate": 1e30, "clip": 1e30, "warmup": 0, "checkpoint": 50, "evaluate": 50}
    text = refused("train", write_recipe("lm-transformer", **settings), "--run", "r")
    assert re.fullmatch(
        r"the loss is no longer a number at step \d+; nothing is lost; try a lower train.rate \(now 1e\+30\), "
        r"a longer train.warmup \(now 0\) or a smaller train.clip \(now 1e\+30\)",
        text,
    )


def test_control_c_checkpoints_and_says_how_to_go_on():
    name = write_recipe("lm-lstm", steps=3000, evaluate=10, checkpoint=10_000, schedule="constant")
    words = tiny.command("train", name, "--run", "r")
    with subprocess.Popen(words, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "held out" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    saved = load_checkpoint(Path("r/checkpoint.safetensors"))
    assert "Traceback" not in rest
    assert rest.endswith(f"regard: stopped at step {saved.progress.step}; go on with: regard train r\n")
    assert 10 <= saved.progress.step < 3000
    assert leftovers() == []
    steps = str(saved.progress.step + 7)
    for run in ("whole", "r"):  # to the same step, once in one piece and once behind the stop
        assert main(["train", name, "--run", run, "--train.steps", steps]) == 0
    assert differences(Path("whole"), Path("r")) == []


def test_control_c_changes_nothing(said, monkeypatch):
    name = write_recipe("lm-lstm")
    assert said("train", name, "--run", "whole")[0] == 0
    update = Training.update

    def stopped(self):
        if self.progress.step == 10:
            signal.raise_signal(signal.SIGINT)
        return update(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", stopped)
        code, text = said("train", name, "--run", "r")
    assert code == 130
    assert text.endswith(
        "finishing this step, then stopping (Ctrl-C again to stop at once)\n"
        "regard: stopped at step 11; go on with: regard train r\n"
    )
    assert load_checkpoint(Path("r/checkpoint.safetensors")).progress.step == 11
    assert said("train", "r")[0] == 0
    assert differences(Path("whole"), Path("r")) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_control_c_twice_stops_at_once(said, monkeypatch):
    def stopped(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Training, "update", stopped)
    assert said("train", write_recipe("lm-lstm"), "--run", "r")[0] == 130
    assert not Path("r/checkpoint.safetensors").exists()


def test_a_log_that_was_cut_off_is_mended(said):
    name = write_recipe("lm-rnn", steps=8, evaluate=4)
    assert said("train", name, "--run", "r")[0] == 0
    log = Path("r/log.jsonl")
    whole = log.read_text()
    log.write_text(whole[:-10])
    assert Folder(Path("r")).read_log() == Folder(Path("r")).read_log()
    assert said("train", "r", "--train.steps", "9")[0] == 0
    steps = [entry["step"] for entry in Folder(Path("r")).read_log()]
    assert steps == sorted(set(steps))
    assert steps[-1] == 9


def test_long_lines_stay_on_one_line(said):
    """Nothing is wrapped, and brackets in a name are not taken for markup."""
    folder = "runs/" + "a long name [bold]of a run[/bold] " * 4
    code, text = said("train", write_recipe("lm-rnn", steps=2), "--run", folder.strip())
    assert code == 0
    assert text.endswith(f"; the run is in {folder.strip()}\n")
    assert load_file(Path(folder.strip()) / "model.safetensors")
