"""Runs that are damaged, of another kind or in the way: one line on standard error, and nothing is lost."""

from pathlib import Path

import pytest
import refusals
import tiny
from refusals import write, write_recipe
from safetensors.torch import load_file

from regard.config.upgrade import VERSION
from regard.folder import Folder
from regard.training import checkpoint as checkpoints
from regard.training.loop import Training
from regard.weights import open_weights, save_weights

pytestmark = pytest.mark.usefixtures("here")
said, refused = refusals.said, refusals.refused


def state_of(run: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(run).glob("*.safetensors")}


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


def test_a_run_of_a_newer_version(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text("shape = 'round'\n" + config.read_text().replace(f"version = {VERSION}", "version = 99"))
    expected = (
        f"r/config.toml: version must be a whole number from 1 to {VERSION}, found 99; a newer one wants a newer regard"
    )
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


def test_weights_of_another_model(refused, said):
    """Those say themselves what they were trained with; older ones are known by their sizes."""
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    config = Path("r/config.toml")
    config.write_text(config.read_text().replace("width = 12", "width = 16"))
    expected = "r/config.toml says model.layer.width = 16, but the weights were trained with 12; put it back"
    assert refused("train", "r") == expected
    assert refused("evaluate", "r") == expected
    for path in map(Path, ("r/checkpoint.safetensors", "r/model.safetensors")):
        tensors, about = open_weights(path)
        save_weights(path, tensors, {name: about[name] for name in ("version", "progress") if name in about})
    expected = (
        "does not fit the model in config.toml: embedding.lookup.weight is 51 × 12, wanted is 51 × 16; "
        "put config.toml back, or take the weights of this run"
    )
    assert refused("train", "r") == f"r/checkpoint.safetensors {expected}"
    assert refused("evaluate", "r") == f"r/model.safetensors {expected}"


def test_a_broken_config_names_its_file_once(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    Path("r/config.toml").write_text("[model\n")
    text = refused("evaluate", "r")
    assert text.startswith("r/config.toml is not valid TOML: ")
    assert text.count("r/config.toml") == 1


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
        "r holds a run with another data.share (0.1, here 0.3); choose another with --run, or delete it"
    )
    assert refused("train", name, "--run", "r", "--text.kind", "bytes") == (
        "r holds a run with another text.kind (characters, here bytes); choose another with --run, or delete it"
    )
    assert refused("train", "r", "--train.optimiser", "muon") == (
        "r holds a run with another train.optimiser (adamw, here muon); choose another with --run, or delete it"
    )
    where = tiny.write_text(Path.cwd()).resolve()
    assert refused("train", "--data.train", where, "--data.share", "0.1", "--text.kind", "characters",
                   "--model", "transformer", "--run", "r") == (
        "r holds a run with another model (rnn, here transformer); choose another with --run, or delete it"
    )  # fmt: skip
    assert state_of("r") == before
    assert said("train", "r", "--train.steps", "4")[0] == 0


def test_fewer_steps_than_there_are(refused, said):
    """Nothing has been looked at yet, so there are no weights to hand on."""
    name = write_recipe("lm-rnn", steps=50, evaluate=50, checkpoint=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "evaluate", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        assert said("train", name, "--run", "r")[0] == 130
    assert refused("train", "r", "--train.steps", "3") == (
        "r is at step 48, past train.steps (3), and has not been looked at yet; set train.steps above 48"
    )


def test_evaluating_on_data_of_the_other_kind(refused, said):
    assert said("train", write_recipe("lm-rnn", steps=2), "--run", "r")[0] == 0
    write("a.tsv", "one\teins\n")
    write("a.en", "one\n")
    assert refused("evaluate", "r", "--data", "a.tsv") == (
        "a.tsv holds pairs, this run was trained on text; give a file of text"
    )
    assert refused("evaluate", "r", "--data", "a.en", "a.en") == (
        "a.en, a.en holds pairs, this run was trained on text; give a file of text"
    )
    assert refused("evaluate", "r", "--data", "none.txt") == "none.txt does not exist; check the path"
    assert refused("evaluate", "r", "--train.steps", "5") == (
        "--train.steps is a setting of a recipe and means nothing here; see --help"
    )


def test_a_run_in_the_place_of_a_file(refused):
    write("taken", "something else")
    text = refused("train", write_recipe("lm-rnn"), "--run", "taken")
    assert text.startswith("cannot write taken/")
    assert Path("taken").read_text() == "something else"


def test_long_lines_stay_on_one_line(said):
    """Nothing is wrapped, and brackets in a name are not taken for markup."""
    folder = "runs/" + "a long name [bold]of a run[/bold] " * 4
    code, text = said("train", write_recipe("lm-rnn", steps=2), "--run", folder.strip())
    assert code == 0
    assert text.endswith(f"; the run is in {folder.strip()}\n")
    assert load_file(Path(folder.strip()) / "model.safetensors")
