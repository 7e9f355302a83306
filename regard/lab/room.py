"""Where a claim is measured: a folder, a seed, an effort, and training without a word."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Literal, TypeVar

import torch

from regard.config import Recipe
from regard.disk import write_text
from regard.folder import Folder
from regard.runs import Run

Effort = Literal["quick", "full"]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Room:
    """One claim, one seed, one effort. What is trained here stays here, and is not trained twice."""

    folder: Path
    seed: int
    effort: Effort

    def by_effort(self, quick: Thing, full: Thing) -> Thing:
        return quick if self.effort == "quick" else full

    def random(self) -> torch.Generator:
        """Random numbers that follow from the seed."""
        return torch.Generator().manual_seed(self.seed)

    def train(self, name: str, recipe: Recipe) -> Run:
        """The recipe trained with this room's seed, by the one training loop; goes on where it was stopped.

        What lies there of another recipe, from before a claim was changed, is no use to anybody.
        """
        from regard.training.loop import train  # here: most that knows of rooms trains nothing
        from regard.training.report import Report

        recipe = dataclasses.replace(recipe, train=dataclasses.replace(recipe.train, seed=self.seed))
        there = Folder(self.folder / name)
        if there.config.exists() and there.read_config() != recipe:
            rmtree(there.path)
        return train(recipe, there.path, Report(quiet=True))

    def file(self, name: str, lines: Iterable[str]) -> str:
        """Training data of the claim's own making, as a file; its path."""
        path = self.folder / name
        write_text(path, "".join(line + "\n" for line in lines))
        return str(path)
