"""Runs that several test files want alike: trained once, by whichever process of the tests comes first."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


def trained_once(folder: Path, name: str, train: Callable[[Path, Path], object]) -> Path:
    """The run that `train(data, run)` makes, beside a folder that pytest gave: for all files of tests, to be copied."""
    base = folder.parent.parent if "PYTEST_XDIST_WORKER" in os.environ else folder.parent
    place = base / "shared" / name
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "run").exists():
            train(place, place / "made")
            (place / "made").rename(place / "run")
    return place / "run"
