"""A run folder: all that training hands on, and where it keeps what. Nothing in it is ever executed.

config.toml, tokenizer.json, model.safetensors, log.jsonl; and checkpoint.safetensors, to train on.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from regard.config import Data, Recipe, Train, recipe_from, to_table
from regard.config.recipe import read_toml
from regard.config.settings import changes
from regard.disk import check_sum, checksum, text_sum, write_text
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
    def chat_template(self) -> Path:
        """Only where the model came with one: how a conversation is written, as text that nobody has run."""
        return self.path / "chat-template.json"

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def before_stop(self) -> Path:
        """Only behind a stop whose last look was the best so far: the weights of the best look before it."""
        return self.path / "before-stop.safetensors"

    @property
    def first_weights(self) -> Path:
        """Only where training starts from weights that were learnt elsewhere."""
        return self.path / "first.safetensors"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def before_fall(self) -> Path:
        """Only where the rate has a cool-down: the checkpoint from which a longer training goes on."""
        return self.path / "before-fall.safetensors"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def curve(self) -> Path:
        return self.path / "curve.png"

    @property
    def beginning(self) -> Path:
        """Only of a language model: its loss by position since the start of a text."""
        return self.path / "beginning.png"

    @property
    def confusion(self) -> Path:
        """Only where labels were judged."""
        return self.path / "confusion.png"

    def tokens(self, part: str) -> Path:
        """Encoded examples."""
        return self.path / "tokens" / part

    @property
    def likely(self) -> Path:
        """Only of a student: what its teachers find likely."""
        return self.tokens("likely.safetensors")

    def bytes_prepared(self) -> int:
        """Of examples that have been encoded so far."""
        found = 0
        for path in self.tokens("").glob("*"):
            with suppress(FileNotFoundError):  # complete by now, and under another name
                found += path.stat().st_size
        return found

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
        if SeedSet(self.path).exists:
            first = SeedSet(self.path).folders()[0].path
            raise UserError(f"{self.path} holds the runs of several seeds; name one of them, such as {first}")
        if not is_run(self.path):
            raise UserError(
                f"{self.path} is not a run (it has no config.toml); give the folder that `regard train` made"
            )
        table = read_toml(self.config)
        try:
            return recipe_from(table)
        except UserError as error:
            raise UserError(f"{self.config}: {error}") from None

    def write_chat_template(self, template: Mapping[str, str]) -> None:
        write_text(self.chat_template, json.dumps(template, ensure_ascii=False, indent=1) + "\n")

    def read_chat_template(self) -> dict[str, str] | None:
        """The text under `template`, and the tokens that it may name; None: there is none."""
        try:
            found = json.loads(self.chat_template.read_text(encoding="utf-8"))
            return {key: found[key] + "" for key in ("template", *found)}
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError) as error:
            raise UserError(
                f"{self.chat_template} is damaged ({error}); delete it, or import the model again"
            ) from None

    def trained_with(self, recipe: Recipe) -> dict[str, Any]:
        """All that answers depend on beside the weights, to be written into their file: the two must fit for ever."""
        kept = (path for path in (self.tokenizer, self.source_tokenizer) if path.exists())
        return {
            "recipe": to_table(_what_answers_want(recipe)),
            "tokenizers": {path.name: checksum(path) for path in kept},
        }

    def check(self, about: Mapping[str, Any], recipe: Recipe) -> None:
        """That weights of which this is known are used as they were trained; older ones say nothing of it."""
        for name, wanted in about.get("tokenizers", {}).items():
            check_sum(self.path / name, wanted, "restore it from a copy: the weights were trained with that one")
        if "recipe" not in about:
            return
        there, here = (_what_answers_want(one) for one in (recipe_from(about["recipe"]), recipe))
        for name, was, found in changes(to_table(replace(there, train=here.train)), to_table(here)):
            raise UserError(
                f"{self.config} says {name} = {found}, but the weights were trained with {was}; put it back"
            )

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """What is known of the prepared data, with the checksum of every file of it, and one over all this."""
        made = [*sorted(self.tokens("").iterdir()), self.tokenizer, self.source_tokenizer]
        sums = {
            str(path.relative_to(self.path)): checksum(path) for path in made if path != self._facts and path.exists()
        }
        told = json.dumps({**facts, "files": sums})
        write_text(self._facts, json.dumps({"checksum": text_sum(told), **json.loads(told)}) + "\n")

    def read_facts(self) -> dict[str, Any]:
        """What `write_facts` wrote, of files that are still so; older facts know no checksums."""
        again = "restore it from a copy, or train in another folder"
        try:
            facts = json.loads(self._facts.read_bytes())
            wanted = facts.pop("checksum", None)
        except FileNotFoundError:
            if self.read_config().origin is not None:
                raise UserError(
                    f"{self.path} was imported and has no data of its own; name some, or begin a run with it: "
                    f"regard train --model.start_from {self.path} --data.train FILE"
                ) from None
            raise UserError(
                f"{self.tokens('')} is not complete, so the run has no data of its own; "
                "copy it whole, or name other data"
            ) from None
        except (ValueError, AttributeError) as error:
            raise UserError(f"{self._facts} is damaged ({error}); {again}") from None
        if wanted not in (None, text_sum(json.dumps(facts))):
            raise UserError(f"{self._facts} is damaged or was changed (its checksum is another one); {again}")
        for name, found in facts.pop("files", {}).items():
            check_sum(self.path / name, found, again)
        return dict(facts)

    @property
    def _facts(self) -> Path:
        return self.tokens("facts.json")

    def sweep(self) -> None:
        """Removes what a process that was killed left half-written."""
        for partial in self.path.rglob(".*.partial"):
            partial.unlink(missing_ok=True)

    def read_log(self) -> list[dict[str, Any]]:
        """About ten entries for each look, and the look itself; a line that cannot be read is left out."""
        if not self.log.exists():
            return []
        entries = []
        for line in self.log.read_bytes().splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict) and isinstance(entry.get("step"), int):
                    entries.append(entry)
        return entries

    def write_log(self, entries: Iterable[dict[str, Any]]) -> None:
        write_text(self.log, log_text(entries))


def log_text(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def _what_answers_want(recipe: Recipe) -> Recipe:
    """Without where the data was, and how else the model was trained."""
    data, train = Data("-", recipe.data.kind), Train(length=recipe.train.length)
    return Recipe(data, recipe.model, pictures=recipe.pictures, train=train)


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run."""
    return os.path.exists(Folder(path).config)  # Path.exists fails where a name is too long to be one


@dataclass(frozen=True)
class SeedSet:
    """A folder of runs that differ by their seed alone: seed-0, seed-1, …, and the plan for all of them."""

    path: Path

    @property
    def plan(self) -> Path:
        """A recipe, and how many seeds."""
        return self.path / "seeds.toml"

    @property
    def figures(self) -> Path:
        """What they came to on the held-out part; only where all of them are trained."""
        return self.path / "figures.json"

    @property
    def exists(self) -> bool:
        return self.plan.exists()

    def write(self, recipe: Recipe, number: int) -> None:
        write_text(self.plan, tomli_w.dumps({"seeds": number, **to_table(recipe)}))

    def read(self) -> tuple[Recipe, int]:
        table = read_toml(self.plan)
        try:
            number = int(table.pop("seeds"))
            return recipe_from(table), number
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{self.plan} does not say how many seeds there are; write seeds = 3 at its top") from None
        except UserError as error:
            raise UserError(f"{self.plan}: {error}") from None

    def folders(self) -> list[Folder]:
        recipe, number = self.read()
        return [Folder(self.path / f"seed-{recipe.train.seed + place}") for place in range(number)]

    def trained(self) -> list[Folder]:
        """The runs, all of which are there."""
        if not self.figures.exists():
            raise UserError(
                f"{self.path} has seeds that are not trained to the end; go on with: regard train {self.path}"
            )
        return self.folders()


def runs_in(path: Path) -> list[Path]:
    """The run in a folder, or those of its seeds."""
    if SeedSet(path).exists:
        return [folder.path for folder in SeedSet(path).trained()]
    Folder(path).read_config()
    return [path]
