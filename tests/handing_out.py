"""Runs of every model of the zoo, with disturbed weights in float32, to hand to other engines."""

from collections.abc import Callable
from pathlib import Path

import tiny
import torch
import zoo

from regard.config import ModelConfig
from regard.disk import write_tensors
from regard.runs import Run, load_run
from regard.text.kinds import train_tokenizer
from regard.text.tokenizer import Tokenizer

TEXT = "the tide comes in, the tide goes out; a boat lies on the sand. Élan, naïve.\n" * 3
BPE = train_tokenizer("bpe", [TEXT], 280)


def disturbed(folder: Path, config: ModelConfig, tokenizer: Tokenizer = BPE) -> Run:
    """A run of that model with every weight disturbed, so that no bias is zero and no norm is one."""
    run = load_run(tiny.untrained(folder, config, tokenizer))
    model = run.trained_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    write_tensors(run.folder.weights, dict(model.state_dict()))
    return run


def run_of(folder: Path) -> Callable[[str], Run]:
    """A run of the zoo by its name."""
    return lambda name: disturbed(folder / name, zoo.MODELS[name])
