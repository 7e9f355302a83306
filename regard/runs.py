"""A run folder: all that training hands on. Raw text in, raw text out; nothing in it is ever executed.

config.toml, tokenizer.json, model.safetensors, log.jsonl; and checkpoint.safetensors, to train on.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.config import LanguageModel, ModelConfig, Recipe, Seq2Seq, Vision, recipe_from, to_table
from regard.config.recipe import read_toml
from regard.decode.describe import Caption, describe
from regard.decode.label import BATCH, classify, tag, word_weights
from regard.disk import write_text, write_with
from regard.errors import UserError
from regard.models.build import build
from regard.models.model import Model
from regard.text import Labels, Tokenizer, load


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

    def look(self, step: int) -> Path:
        """Weights at one look at the held-out part, kept for a mean."""
        return self.path / "looks" / f"{step:08}.safetensors"

    def forget_looks(self, wanted: Iterable[int]) -> None:
        """Deletes the weights of looks that no mean will need."""
        kept = {self.look(step) for step in wanted}
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


@dataclass(frozen=True)
class Run:
    """A trained model with its tokenizers."""

    folder: Folder
    recipe: Recipe
    tokenizer: Tokenizer
    source_tokenizer: Tokenizer

    @property
    def model_config(self) -> ModelConfig:
        assert isinstance(self.recipe.model, ModelConfig)
        return self.recipe.model

    @cached_property
    def model(self) -> Model:
        """The model with the weights of this run, ready to answer."""
        model = self.new_model()
        load_weights(model, self.folder.weights)
        return model.eval()

    def new_model(self) -> Model:
        """The same with new weights."""
        source = None if isinstance(self.model_config, LanguageModel) else self.source_tokenizer.vocabulary
        return build(self.model_config, self.tokenizer.vocabulary, source)

    def classify(self, texts: Iterable[str], *, batch: int = BATCH) -> Iterator[dict[str, float]]:
        """Every class with its probability, the most probable first, for each text."""
        return classify(self.model, self.source_tokenizer, self._labels("classifier", "classify"), texts, batch)

    def word_weights(self, text: str) -> list[tuple[str, float]]:
        """How much of its attention a classifier gave to each word."""
        self._labels("classifier", "classify")
        return word_weights(self.model, self.source_tokenizer, text)

    def tag(self, sentences: Iterable[Sequence[str]], *, batch: int = BATCH) -> Iterator[list[str]]:
        """The tag of each word of each sentence."""
        return tag(self.model, self.source_tokenizer, self._labels("tagger", "tag"), sentences, batch)

    def describe(self, pictures: UInt8[Tensor, "N 3 Y X"]) -> list[Caption]:
        """What is in each picture, of `recipe.pictures.side` pixels on each side."""
        self.check_captioner()
        return describe(self.model, self.tokenizer, pictures)

    def check_captioner(self) -> None:
        if not (isinstance(self.model_config, Seq2Seq) and isinstance(self.model_config.encoder, Vision)):
            kind = self.model_config.kind
            raise UserError(f"{self.folder.path} holds a {kind} that reads text, caption wants one trained on captions")

    def _labels(self, wanted: str, command: str) -> Labels:
        if self.model_config.kind != wanted or not isinstance(self.tokenizer, Labels):
            raise UserError(f"{self.folder.path} holds a {self.model_config.kind}, {command} wants a {wanted}")
        return self.tokenizer


def load_run(path: str | Path) -> Run:
    """The run in a folder."""
    folder = Folder(Path(path))
    recipe = folder.read_config()
    tokenizer = load(folder.tokenizer)
    source = load(folder.source_tokenizer) if folder.source_tokenizer.exists() else tokenizer
    return Run(folder, recipe, tokenizer, source)


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Tensors by name, whole or not at all."""

    def pour(partial: Path) -> None:
        try:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial, metadata)
        except SafetensorError as error:  # its word for a full disk
            raise OSError(str(error)) from None

    write_with(path, pour)


def load_weights(model: nn.Module, path: Path) -> None:
    """Fills a model with the weights in a file."""
    try:
        fill(model, load_file(path), path)
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: this run has not been trained; run `regard train {path.parent}`"
        ) from None
    except SafetensorError as error:
        raise UserError(f"{path} is damaged ({error}); restore it from a copy, or train again") from None


def fill_some(model: nn.Module, path: Path) -> None:
    """Fills the parts of a model whose weights are in a file, and leaves the others as they are."""
    wanted = model.state_dict()
    fill(model, wanted | load_file(path), path)


def fill(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Fills a model with weights that were in a file."""
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{path} does not fit the model in config.toml ({reason}); they are of different runs"
        ) from None
