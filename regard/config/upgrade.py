"""Old recipes and run folders brought up to date: the one place that knows what a setting was called before.

A run's `config.toml` says which version of the format it has. A recipe that a person wrote mostly says none: it is one
of today, in which old names are understood.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.config.settings import with_override
from regard.errors import UserError

Table = dict[str, Any]


@dataclass(frozen=True)
class Renamed:
    """A setting that has another name now, both as `section.key`."""

    old: str
    new: str

    def __call__(self, table: Table) -> Table:
        (section, _, old), (other, _, new) = self.old.rpartition("."), self.new.rpartition(".")
        there = _section(table, section)
        if old not in there:
            return table
        if new in _section(table, other):
            raise UserError(f"{self}, and both are set; leave {self.old} out")
        table = with_override(table, section, {name: value for name, value in there.items() if name != old})
        return with_override(table, self.new, there[old])

    def __str__(self) -> str:
        return f"{self.old} is called {self.new} now"


@dataclass(frozen=True)
class Unsaid:
    """A setting that did not exist, as `section.key`, and the value that does what was done without it."""

    setting: str
    value: Any

    def __call__(self, table: Table) -> Table:
        section, _, name = self.setting.rpartition(".")
        return table if name in _section(table, section) else with_override(table, self.setting, self.value)


def without_idle(table: Table) -> Table:
    """Settings that did nothing were let through, and are refused now: as by default they did the same."""
    model, train = _section(table, "model"), _section(table, "train")
    parts = {name: {**part} if isinstance(part, dict) else part for name, part in model.items()}
    for name, part in parts.items():
        if isinstance(part, dict):
            if name != "decoder":
                part.pop("source_positions", None)
            if part.get("join") == "add":
                part.pop("position_width", None)
    if _section(parts, "decoder").get("kind") == "transformer" or model.get("context") != "attention":
        parts.pop("similarity", None)
    idle = {"average_of"} if train.get("average") == 1 else set()
    idle |= {"student"} if model.get("kind") in ("classifier", "tagger") else set()
    train = {name: value for name, value in train.items() if name not in idle}
    return {**table, **({"model": parts} if parts else {}), "train": train}


UPGRADES: tuple[tuple[Callable[[Table], Table], ...], ...] = (
    (  # 1 → 2
        Renamed("train.momentum", "train.beta2"),  # it always was Adam's β₂; Muon's momentum is another number
        without_idle,
        Unsaid("train.fresh", 0.0),  # every row of a recurrent language model went on from the one before
        Unsaid("train.batch", 4096),  # these two did not ask how much data there is
        Unsaid("train.smoothing", 0.0),
    ),
    (  # 2 → 3
        Renamed("train.precision", "train.mixed_precision"),  # in answers, precision is what weights are kept in
    ),
)
"""What became of each version's tables in the next one."""

VERSION = 1 + len(UPGRADES)
RENAMED = [change for changes in UPGRADES for change in changes if isinstance(change, Renamed)]


def upgraded(table: Table) -> Table:
    """The table as this version would have written it."""
    if "version" in table:
        check_version(table["version"])
        for changes in UPGRADES[table["version"] - 1 :]:
            for change in changes:
                table = change(table)
    else:
        for renamed in RENAMED:
            before, table = table, renamed(table)
            if before is not table:
                warnings.warn(str(renamed), stacklevel=2)
    return {**table, "version": VERSION}


def name_now(setting: str) -> str:
    """What a setting that somebody names is called today."""
    for renamed in RENAMED:
        if setting == renamed.old:
            warnings.warn(str(renamed), stacklevel=2)
            setting = renamed.new
    return setting


def check_version(found: object) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= VERSION:
        raise UserError(
            f"version must be a whole number from 1 to {VERSION}, found {found}; a newer one wants a newer regard"
        )


def _section(table: Table, path: str) -> Table:
    for name in path.split("."):
        table = table.get(name, {})
        if not isinstance(table, dict):  # a name for a whole section, or a mistake that is refused later
            return {}
    return table
