"""A run as a command that has it answer wants it."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch

from regard.cli.commands.shared import Answering, InShards
from regard.runs import Run, load_run


def opened(asked: Answering, ensemble: Sequence[Path] = (), precision: str = "") -> Run:
    """With the engine, the number of threads and, unless another is named, the precision that were asked for."""
    if asked.threads:
        torch.set_num_threads(asked.threads)
    load = _kept if isinstance(asked, InShards) and asked.first is not None else load_run
    return load(asked.run, precision=precision or asked.precision, ensemble=tuple(ensemble), engine=asked.engine)


_kept = lru_cache(maxsize=1)(load_run)  # a process that shares the work answers piece after piece with one run
