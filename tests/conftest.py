"""Every test runs with the shapes in the signatures of these rooms checked at each call (but see shapes.py)."""

import gc
import os
import signal

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook
from shapes import naming_shapes

# What these assert is told in full, as in a test.
pytest.register_assert_rewrite("asking", "asserting", "reading", "refusals", "tabs", "trainings", "typed")
install_import_hook(naming_shapes("layers", "models", "look"), "shapes.whole")
# Not stream and write: wrapped, their generators are none to torch, and would run outside the mode that it sets.
DECODE = ("batches", "beam", "caption", "choose", "constraints", "label", "probability", "rules", "score", "translate")
install_import_hook([*naming_shapes("data"), *(f"regard.decode.{name}" for name in DECODE)], "shapes.arrays")

from shapes import once_for_each_model  # noqa: E402  # behind the hooks

from regard.training.loop import Training  # noqa: E402

Training.to_the_end = once_for_each_model(Training.to_the_end)

# Ctrl-C is heeded, here and in every child, also where it would be ignored: with tests in the background (nohup).
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["OMP_NUM_THREADS"] = "1"  # of every child: tests run side by side
os.environ.pop("COLUMNS", None)  # how wide tables are is no matter of who runs the tests, and xdist sets it
hypothesis.settings.register_profile("regard", deadline=None, max_examples=8, derandomize=True, database=None)
hypothesis.settings.load_profile("regard")


def pytest_collection_finish():
    """What is there by now stays to the end: looking through it for garbage, again and again, takes its time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _same_every_time():
    """One seed for every test, and one thread, since tests run side by side."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder for a test to itself, whose files it names without a path."""
    monkeypatch.chdir(tmp_path)
