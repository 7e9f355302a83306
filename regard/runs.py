"""A run folder: all that training hands on. Raw text in, raw text out; nothing in it is ever executed.

config.toml, tokenizer.json, model.safetensors, log.jsonl; and checkpoint.safetensors, to train on.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import tee
from pathlib import Path
from typing import Any

import tomli_w
import torch
from jaxtyping import UInt8
from torch import Tensor

from regard.config import (
    Classifier,
    LanguageModel,
    ModelConfig,
    Recipe,
    Seq2Seq,
    Transducer,
    Vision,
    recipe_from,
    to_table,
)
from regard.config.decoding import Search, Writing
from regard.config.looking import Effort, Recording
from regard.config.recipe import read_toml
from regard.decode.batches import BATCH
from regard.decode.describe import describe
from regard.decode.label import classify, tag
from regard.decode.probability import Pair, Scored, as_pair, as_text, score_pairs, score_texts
from regard.decode.translate import Translation, translate
from regard.decode.write import write
from regard.disk import write_text
from regard.errors import UserError
from regard.look.align.weights import paths_over_source
from regard.look.align.words import align, word_weights
from regard.look.find.find import Finding, Subject, find
from regard.look.find.labelled import read
from regard.look.find.properties import Property, properties_named
from regard.look.record import Record
from regard.look.recording import KINDS, RECORDING
from regard.models.build import build
from regard.models.ensemble import Ensemble
from regard.models.model import Model
from regard.models.precision import with_precision
from regard.models.reach import within_reach
from regard.text import Labels, Tokenizer, load
from regard.weights import load_weights

WRITING, SEARCH, EFFORT = Writing(), Search(), Effort()  # nothing special wished for
COMMANDS = {
    "language model": "write",
    "translator": "translate",
    "captioner": "caption",
    "classifier": "classify",
    "tagger": "tag",
}
"""What each kind of run is for."""


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
    """A trained model with its tokenizers: text in, text out."""

    folder: Folder
    recipe: Recipe
    tokenizer: Tokenizer
    source_tokenizer: Tokenizer
    precision: str = "float32"
    """What the weights are kept in for answering."""
    others: tuple["Run", ...] = ()
    """Further members of an ensemble, which answers by the mean of all probabilities."""

    @property
    def model_config(self) -> ModelConfig:
        assert isinstance(self.recipe.model, ModelConfig)
        return self.recipe.model

    @property
    def kind(self) -> str:
        """What people call it."""
        config = self.model_config
        if isinstance(config, Seq2Seq | Transducer):
            return "captioner" if isinstance(config.encoder, Vision) else "translator"
        return config.kind.replace("-", " ")

    @cached_property
    def model(self) -> Model:
        """The model with the weights of this run, ready to answer."""
        model = with_precision(self.trained_model(), self.precision)
        return Ensemble([model, *(run.model for run in self.others)]).eval() if self.others else model

    @property
    def for_long_texts(self) -> Model:
        """The same, held to distances that it has learnt."""
        lengths = [run.recipe.train.length for run in (self, *self.others)]
        return within_reach(self.model, min(*lengths, self.model.longest or lengths[0]))

    def trained_model(self) -> Model:
        """The same as it was trained."""
        model = self.new_model().eval()
        load_weights(model, self.folder.weights)
        return model

    def new_model(self) -> Model:
        """The same with new weights."""
        source = None if isinstance(self.model_config, LanguageModel) else self.source_tokenizer.vocabulary
        return build(self.model_config, self.tokenizer.vocabulary, source)

    def check(self, command: str, *wanted: str) -> None:
        """For a command that only some kinds of run know."""
        if self.kind not in wanted:
            raise UserError(
                f"{self.folder.path} is a {self.kind}, {command} wants a {' or a '.join(wanted)}; "
                f"use {COMMANDS[self.kind]}"
            )

    # ---- language models

    def write(
        self,
        prompt: str = "",
        *,
        length: int = Writing.length,
        temperature: float = Writing.temperature,
        top_p: float = Writing.top_p,
        seed: int = Writing.seed,
        stop: str = Writing.stop,
    ) -> str:
        """What the model writes after the prompt, up to `length` tokens. `stream` and `samples` know more wishes."""
        wishes = Writing(length=length, temperature=temperature, top_p=top_p, seed=seed, stop=stop)
        return "".join(self.stream(prompt, wishes))

    def stream(self, prompt: str = "", wishes: Writing = WRITING) -> Iterator[str]:
        """The same piece by piece, as it is made; never half a character."""
        if wishes.number > 1:
            raise UserError(f"a stream is one text, found number = {wishes.number}; use samples for several")
        return (piece for _, piece in self._write(prompt, wishes))

    def samples(self, prompt: str = "", wishes: Writing = WRITING) -> list[str]:
        """`wishes.number` texts that go on from one prompt."""
        texts = [""] * wishes.number
        for number, piece in self._write(prompt, wishes):
            texts[number] += piece
        return texts

    def _write(self, prompt: str, wishes: Writing) -> Iterator[tuple[int, str]]:
        self.check("write", "language model")
        if wishes.choose == "beam":
            return write(self.model, self.tokenizer, prompt, wishes)
        return write(self.for_long_texts, self.tokenizer, prompt, wishes)

    def find(
        self,
        properties: str | Property | Sequence[str | Property],
        text: str | Sequence[str],
        effort: Effort = EFFORT,
    ) -> list[Finding]:
        """The cells and heads that follow these properties of a text, each by its name or as a function of the text."""
        wanted = [properties] if isinstance(properties, str) or callable(properties) else properties
        named = [(one if isinstance(one, str) else one.__name__, one) for one in wanted]
        known = {name: properties_named([one])[one] if isinstance(one, str) else one for name, one in named}
        subject = self.subject(effort.seed)
        reading = read(self.tokenizer, [text] if isinstance(text, str) else text)
        return find(subject, reading, known, effort, lambda items, *_: iter(items))

    def subject(self, seed: int = 0) -> Subject:
        """What a finder looks into: the model, and the same with new weights."""
        self.check("find", "language model")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            untrained = self.new_model().eval()
        return Subject(self.model, untrained, self.tokenizer, carry=not self.model.grows)

    # ---- translators

    def translate(
        self,
        lines: Sequence[str],
        *,
        beam: int = Search.beam,
        prefix: str = Search.prefix,
        must: Sequence[str] = Search.must,
        never: Sequence[str] = Search.never,
        batch: int = BATCH,
    ) -> list[str]:
        """The best translation of each line. `translations` knows more wishes, and more about each translation."""
        wishes = Search(beam=beam, prefix=prefix, must=tuple(must), never=tuple(never))
        return [best.text for best, *_ in self.translations(lines, wishes, batch=batch)]

    def translations(
        self, lines: Iterable[str], wishes: Search = SEARCH, *, alignments: bool = False, batch: int = BATCH
    ) -> Iterator[list[Translation]]:
        """The best translations of each line, with all that is known of them. Lines are read as they are needed."""
        self.check("translate", "translator")
        if isinstance(lines, str):
            raise UserError("translate wants a list of lines, found one text; write translate([text])")
        if alignments:
            paths_over_source(self.model)
        return self._translations(lines, wishes, alignments, batch)

    def _translations(
        self, lines: Iterable[str], wishes: Search, alignments: bool, batch: int
    ) -> Iterator[list[Translation]]:
        tokenizers, (read, again) = self.tokenizers, tee(lines)
        translated = translate(self.model, tokenizers, read, wishes, batch=batch)
        for found, line in zip(translated, again, strict=True):
            if alignments:
                yield [replace(one, alignment=align(self.model, tokenizers, line, one)) for one in found]
            else:
                yield found

    # ---- captioners, classifiers, taggers

    def describe(
        self, pictures: Iterable[UInt8[Tensor, "3 Y X"]], wishes: Search = SEARCH, *, batch: int = BATCH
    ) -> Iterator[list[Translation]]:
        """The best captions of each picture, of `recipe.pictures.side` pixels on each side."""
        self.check("caption", "captioner")
        return describe(self.model, self.tokenizer, pictures, wishes, batch=batch)

    def classify(self, texts: Iterable[str], *, batch: int = BATCH) -> Iterator[dict[str, float]]:
        """Every class with its probability, the most probable first, for each text."""
        self.check("classify", "classifier")
        return classify(self.model, self.source_tokenizer, self._labels, texts, batch)

    def word_weights(self, text: str) -> list[tuple[str, float]]:
        """How much of its attention a classifier gave to each word."""
        self.check("classify", "classifier")
        assert isinstance(self.model_config, Classifier)
        if self.model_config.pooling != "attention":
            raise UserError(
                f"{self.folder.path} weighs no words: its pooling is {self.model_config.pooling}; "
                "train with model.pooling = attention"
            )
        return word_weights(self.model, self.source_tokenizer, text)

    def tag(self, sentences: Iterable[Sequence[str]], *, batch: int = BATCH) -> Iterator[list[str]]:
        """The tag of each word of each sentence."""
        self.check("tag", "tagger")
        return tag(self.model, self.source_tokenizer, self._labels, sentences, batch)

    @property
    def _labels(self) -> Labels:
        assert isinstance(self.tokenizer, Labels)
        return self.tokenizer

    # ---- every kind

    def record(self, asked: str | UInt8[Tensor, "3 Y X"], wishes: Recording = RECORDING) -> Record:
        """Everything there is to see while the run reads a text, or a picture, and answers it."""
        record = KINDS[self.kind](self.model, self.tokenizers, asked, wishes)
        return replace(record, about={"run": str(self.folder.path)})

    # ---- language models and translators

    def score(self, texts: Iterable[str | Pair]) -> list[Scored]:
        """How probable each text is; for a translator, each target given its source: pairs of both."""
        return list(self.scores(texts))

    def scores(self, texts: Iterable[str | Pair], *, batch: int = BATCH) -> Iterator[Scored]:
        """The same one by one; texts are read as they are needed."""
        self.check("score", "language model", "translator")
        if self.kind == "translator":
            return score_pairs(self.model, self.tokenizers, map(as_pair, texts), batch=batch)
        return score_texts(self.for_long_texts, self.tokenizer, map(as_text, texts), batch=batch)

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        return self.source_tokenizer, self.tokenizer


def load_run(path: str | Path, *, precision: str = "float32", ensemble: Sequence[str | Path] = ()) -> Run:
    """The run in a folder, ready to answer; with others of the same tokenizers, an ensemble."""
    folder = Folder(Path(path))
    recipe = folder.read_config()
    tokenizer = load(folder.tokenizer)
    source = load(folder.source_tokenizer) if folder.source_tokenizer.exists() else tokenizer
    others = tuple(load_run(other, precision=precision) for other in ensemble)
    run = Run(folder, recipe, tokenizer, source, precision, others)
    for other in others:
        for mine, theirs in zip(run.tokenizers, other.tokenizers, strict=True):
            if mine.to_json() != theirs.to_json() or run.kind != other.kind:
                raise UserError(
                    f"{other.folder.path} cannot answer together with {path}: an ensemble wants runs of one kind with "
                    "the same tokenizers; train both on the same data with the same [text] settings"
                )
    return run
