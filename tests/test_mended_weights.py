"""Weights that were damaged: training again puts the checkpoint's in their place."""

import tiny

from regard.runs import load_run
from regard.training.loop import train


def test_training_again_mends_damaged_weights(tmp_path, capsys):
    recipe = tiny.recipe(tmp_path, "lm-lstm", steps=4, evaluate=2)
    before = train(recipe, tmp_path / "run").write("day", length=5, seed=0)
    weights = tmp_path / "run" / "model.safetensors"
    damaged = bytearray(weights.read_bytes())
    damaged[-50] ^= 255
    weights.write_bytes(damaged)
    capsys.readouterr()
    train(None, tmp_path / "run")
    assert f"{weights} is damaged: the checkpoint's, of step 4, take its place\n" in capsys.readouterr().err
    assert load_run(tmp_path / "run").write("day", length=5, seed=0) == before
