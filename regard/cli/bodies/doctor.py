"""`regard doctor`: what this machine can do, and what answers here."""

import os
import platform

import torch

from regard.cli.commands.doctor import DoctorCommand
from regard.cli.screen import WIDE, console
from regard.engine.building import NoLibrary, compiler
from regard.engine.choose import account
from regard.engine.library import levels_here, library
from regard.errors import counted
from regard.runs import load_run


def doctor(asked: DoctorCommand) -> int:
    screen = console(WIDE)
    for name, line in _findings(asked):
        screen.print(f"{name:<9} {line}", markup=False)
    return 0


def _findings(asked: DoctorCommand) -> list[tuple[str, str]]:
    """What was found, line by line: a name and the words."""
    known = ", ".join(level.words for level in levels_here())
    found = [
        (
            "machine",
            f"{platform.machine()}, {counted(os.cpu_count() or 1, 'processor')}: {known or 'of an unknown kind'}",
        ),
        ("torch", f"{torch.__version__}, {counted(torch.get_num_threads(), 'thread')} (--threads, OMP_NUM_THREADS)"),
        ("compiler", compiler() or "none (c++, g++ or clang++ would be taken, or what CXX names)"),
    ]
    try:
        found.append(("native", f"ready, for {library().level.words}: {library().path}"))
    except NoLibrary as why:
        found.append(("native", f"not here, and answers come from torch: {why}"))
    if asked.run is None:
        return found
    run = load_run(asked.run, precision=asked.precision)
    found.append(("run", repr(run)))
    return found + [("answers", line) for line in account(run.answering)]
