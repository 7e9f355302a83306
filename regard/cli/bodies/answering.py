"""A run as a command that has it answer wants it."""

from collections.abc import Sequence
from pathlib import Path

import torch

from regard.cli.commands.shared import Answering
from regard.runs import Run, load_run


def opened(asked: Answering, ensemble: Sequence[Path] = (), precision: str = "") -> Run:
    """With the engine, the number of threads and, unless another is named, the precision that were asked for."""
    if asked.threads:
        torch.set_num_threads(asked.threads)
    return load_run(asked.run, precision=precision or asked.precision, ensemble=ensemble, engine=asked.engine)
