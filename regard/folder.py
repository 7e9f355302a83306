"""A run folder: all that training hands on, and where it keeps what. Nothing in it is ever executed.

config.toml, tokenizer.json, model.safetensors, log.jsonl; and checkpoint.safetensors, to train on.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from regard.config import Recipe, recipe_from, to_table
from regard.config.recipe import read_toml
from regard.disk import write_text
from regard.errors import UserError


@dataclass(frozen=True)
class Folder:
    """Where a run keeps what."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def source_tokenizer(self) -> Path:
        """Only where source and target have tokens of their own."""
        return self.path / "source-tokenizer.json"

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def first_weights(self) -> Path:
        """Only where training starts from weights that were learnt elsewhere."""
        return self.path / "first.safetensors"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def curve(self) -> Path:
        return self.path / "curve.png"

    @property
    def confusion(self) -> Path:
        """Only where labels were judged."""
        return self.path / "confusion.png"

    def tokens(self, part: str) -> Path:
        """Encoded examples."""
        return self.path / "tokens" / part

    def snapshot(self, step: int) -> Path:
        """Weights at one look at the held-out part, kept for a mean."""
        return self.path / "looks" / f"{step:08}.safetensors"

    def forget_snapshots(self, wanted: Iterable[int]) -> None:
        """Deletes the weights that no mean will need."""
        kept = {self.snapshot(step) for step in wanted}
        for path in (self.path / "looks").glob("*.safetensors"):
            if path not in kept:
                path.unlink()

    def write_config(self, recipe: Recipe) -> None:
        write_text(self.config, tomli_w.dumps(to_table(recipe)))

    def read_config(self) -> Recipe:
        if not self.config.exists():
            raise UserError(
                f"{self.path} is not a run (it has no config.toml); give the folder that `regard train` made"
            )
        try:
            return recipe_from(read_toml(self.config))
        except UserError as error:
            raise UserError(f"{self.config}: {error}") from None

    def sweep(self) -> None:
        """Removes what a process that was killed left half-written."""
        for partial in self.path.rglob(".*.partial"):
            partial.unlink(missing_ok=True)

    def read_log(self) -> list[dict[str, Any]]:
        """About ten entries for each look, and the look itself; a last line that was cut off is left out."""
        if not self.log.exists():
            return []
        entries = []
        for line in self.log.read_text(encoding="utf-8").splitlines():
            try:
                entries.append(json.loads(line))
            except ValueError:
                break
        return entries

    def write_log(self, entries: Iterable[dict[str, Any]]) -> None:
        write_text(self.log, "".join(json.dumps(entry) + "\n" for entry in entries))
