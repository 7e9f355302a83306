"""A recipe: data, text, model and training, in one TOML file that a person can read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from regard.config.model import Classifier, FromRun, ModelConfig, Tagger
from regard.config.pictures import Pictures
from regard.config.settings import Settings, above_zero, at_least, fraction, from_table, not_negative, with_override
from regard.config.upgrade import VERSION, check_version, name_now, upgraded
from regard.errors import UserError

Where = str | tuple[str, ...]
PRESETS = ("rnn", "lstm", "gru", "transformer")


@dataclass(frozen=True)
class Data(Settings):
    """Where examples come from."""

    train: Where = ""
    """A file, a folder, two parallel files, or a built-in corpus such as "phrases:french" (see `regard corpora`)."""
    kind: str = "auto"
    """What these hold: text, pairs, labels, tags, captions; auto: by the [model] section, or else by their names."""
    valid: Where = ""
    """The same for the held-out part; left out, a share of the training data is held out."""
    test: Where = ""
    """The same for the part that is touched once, at the end, by `regard evaluate`."""
    share: float = fraction(0.05)
    """Validation fraction: how much is held out where no `valid` is given."""
    limit: int = at_least(0, 0)
    """Use at most so many pairs, or documents of a folder, for training; 0: all."""
    columns: Where = ()
    """Columns of a table: what is read, then what is answered, by name; by number from 1 if it has no headline."""
    longest: int = at_least(1, 256)
    """Leave out pairs with more tokens than this on either side, and say how many."""

    def check(self) -> None:
        for name in ("train", "valid", "test"):
            where = getattr(self, name)
            if not all(isinstance(part, str) for part in (where if isinstance(where, tuple) else (where,))):
                raise UserError(f"{name} must be a name, or two names of parallel files, found {where}")
        if not all(isinstance(column, str | int) and str(column).strip() for column in self._columns):
            raise UserError(f"columns must be names or numbers of columns, found {self.columns}")

    @property
    def _columns(self) -> tuple[str | int, ...]:
        return self.columns if isinstance(self.columns, tuple) else (self.columns,)

    @property
    def chosen_columns(self) -> tuple[str, ...]:
        """The columns to read, each by its name or its number."""
        return tuple(map(str, self._columns))


@dataclass(frozen=True)
class Text(Settings):
    """What a token is."""

    kind: Literal["characters", "bytes", "words", "bpe"] = "bpe"
    """What a token is; learnt on the training text."""
    size: int = at_least(0, 0)
    """Vocabulary size: how many tokens at most, for words and bpe; 0: by the amount of text."""
    shared: bool = True
    """Joint vocabulary: one set of tokens for source and target, or one for each."""
    lower: bool = False
    """Read and write without capitals: each word is seen more often, and no capital comes back."""


@dataclass(frozen=True)
class Train(Settings):
    """How the model learns."""

    steps: int = at_least(0, 0)
    """How many updates at most; 0: as epochs and minutes say, or else by the amount of data, when it is prepared."""
    epochs: float = not_negative(0.0)
    """How often all examples are seen at most; 0: as steps and minutes say."""
    minutes: float = not_negative(0.0)
    """How long it trains at most, looks included, whatever the size of the model; 0: as steps and epochs say."""
    batch: int = at_least(0, 0)
    """Tokens in one update, padding included, over all processes; 0: 4096, or by the amount of data."""
    length: int = at_least(1, 128)
    """Context length: tokens in a row of a language model's batch, which is how far gradients reach back."""
    fresh: float = fraction(0.05)
    """Of a recurrent language model's rows, how many begin anew at each update, as a text does; others go on."""
    accumulate: int = at_least(1, 1)
    """Gradient accumulation: in how many parts a batch is computed; more parts, less memory, the same update."""
    optimiser: Literal["adamw", "muon"] = "adamw"
    """How gradients become steps; muon, at about 0.004, learns more from each update where examples are many."""
    rate: float = above_zero(0.002)
    """Learning rate, at its highest."""
    schedule: Literal["auto", "cosine", "cooldown", "inverse-square-root", "constant"] = "auto"
    """Learning rate schedule: how the rate falls after the warm-up; auto: cosine, or with minutes cooldown."""
    warmup: int = at_least(0, 100)
    """Warm-up: over how many updates the rate rises from nothing."""
    decay: float = fraction(0.05)
    """Weight decay of matrices."""
    beta2: float = fraction(0.98)
    """β₂ of Adam: how slowly it forgets the size of gradients."""
    clip: float = above_zero(1.0)
    """Gradient clipping: the longest gradient (its norm) that is let through whole."""
    smoothing: float | None = fraction(None)
    """Label smoothing: which part of the probability is wanted everywhere else; left out: 0, or by the amount."""
    consistency: float = not_negative(0.0)
    """Consistency (SimCut; with `cut` at 0 nearly R-Drop): how much answering alike with words cut weighs; 0: off."""
    cut: float = fraction(0.05)
    """With `consistency`: which part of the words is cut when a batch is read for the second time."""
    student: float = field(default=0.0, metadata={"probability": True})
    """Scheduled sampling (student forcing): how often the model is fed its own prediction; rises from 0 to this."""
    evaluate: int = at_least(1, 250)
    """Look at the held-out part every so many updates; a checkpoint is written then as well."""
    look_tokens: int = at_least(0, 100_000)
    """Read at most about so many held-out tokens at a look, evenly spread and the same each time; 0: all."""
    checkpoint: int = at_least(1, 250)
    """Write a checkpoint every so many updates."""
    metric: Literal["loss", "accuracy", "bleu", "chrf", "cider", "exact", "macro_f1", "span_f1"] = "loss"
    """What decides which weights are the best."""
    ema: float = fraction(0.0)
    """Exponential moving average: β of a mean of the weights, by which looks judge and the run answers; 0: none."""
    patience: int = at_least(0, 0)
    """Early stopping: after so many looks without a better metric; 0: never."""
    average: int = at_least(1, 1)
    """Checkpoint averaging: of how many looks the final weights are the mean; 1: the best look's alone."""
    average_of: Literal["last", "best"] = "last"
    """Which looks those are: the last ones, or the best by `metric`."""
    seed: int = at_least(0, 0)
    """Decides everything random."""
    teacher: float = field(default=0.0, metadata={"probability": True})
    """Distillation: how much of the loss is to be as probable as the teachers of `regard distill` said; 0: none."""
    device: str = "auto"
    """cpu, cuda or mps; auto: the fastest there is."""
    mixed_precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Numbers of a forward pass in training; auto and bfloat16: 16 bits where the device has them, else 32."""
    lora: int = at_least(0, 0)
    """Low-rank adaptation (LoRA): learn only thin matrices of this rank, beside what `start_from` brings; 0: all."""
    last: int = at_least(0, 0)
    """Fine-tune only so many of the last layers, and what stands behind them; 0: all."""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """Under torchrun: every process has the whole model, or a share of it."""
    tensorboard: bool = False
    """Also write TensorBoard files (wants the extra of that name)."""

    def filled(self, batch: int, smoothing: float | None) -> "Train":
        """The same with these where nothing was said of them."""
        said = smoothing if self.smoothing is None else self.smoothing
        return replace(self, batch=self.batch or batch, smoothing=said)

    @property
    def falls(self) -> str:
        """How the rate falls, with the choice made."""
        return ("cooldown" if self.minutes else "cosine") if self.schedule == "auto" else self.schedule

    def check(self) -> None:
        if self.minutes and self.falls == "cosine":
            raise UserError("schedule 'cosine' must know the last update, which minutes leave open; take 'cooldown'")
        if self.student and self.minutes:
            raise UserError("student rises up to the last update, which minutes leave open; give steps or epochs")
        for name in ("student", "teacher"):
            if not (isinstance(found := getattr(self, name), int | float) and 0 <= found <= 1):
                raise UserError(f"{name} must be a probability from 0 to 1, found {found}")
        if self.student and self.consistency:
            raise UserError("consistency compares two answers to the same words, and student feeds others; choose one")
        if self.lora and self.last:
            raise UserError("lora and last are two ways to learn less than everything; choose one of them")
        if self.average_of == "best" and self.average == 1:
            raise UserError("average_of 'best' wants average above 1, the number of looks to take, found 1; set both")


@dataclass(frozen=True)
class Origin(Settings):
    """Where the weights of an imported run come from; `regard import` writes it."""

    file: str
    """What was imported."""
    sha256: str
    """Its checksum; of several files, that of all one behind the other."""
    format: str
    """How it was written."""
    family: str
    """Which published architecture it is."""
    licence: str = ""
    """As the files state it; empty: they do not."""
    changed: tuple[str, ...] = ()
    """What is kept in another way than it was, with the same scores."""


@dataclass(frozen=True)
class Recipe(Settings):
    """Everything that a training run depends on."""

    data: Data
    model: ModelConfig | FromRun | str = "transformer"
    """A section, or the name of a kind of layer: then the sizes are chosen by the amount of data."""
    text: Text = field(default_factory=Text)
    pictures: Pictures = field(default_factory=Pictures)
    train: Train = field(default_factory=Train)
    origin: Origin | None = None
    """Of a run that was not trained here."""
    version: int = VERSION
    """Of this format."""

    def check(self) -> None:
        check_version(self.version)
        if not self.data.train and self.origin is None:
            raise UserError("[data] train wants a file, a folder or the name of a built-in corpus, found nothing")
        if not isinstance(self.model, ModelConfig | FromRun) and self.model not in PRESETS:
            raise UserError(f"model must be one of {', '.join(PRESETS)} or a [model] section, found '{self.model}'")
        for name in ("lora", "last"):
            if getattr(self.train, name) and not getattr(self.model, "start_from", ""):
                raise UserError(
                    f"train.{name} changes a part of what was learnt before, found nothing to begin with; "
                    "name a run: --model.start_from RUN"
                )
        if self.train.student and isinstance(self.model, Classifier | Tagger):
            raise UserError(
                f"train.student is for models that are fed what they said before, found a {self.model.kind}, "
                "which answers at once; leave it out"
            )


def read_recipe(path: Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe in a TOML file, with `section.key` overrides."""
    return recipe_from(read_toml(path), overrides)


def recipe_from(table: dict[str, Any], overrides: Mapping[str, Any] | None = None) -> Recipe:
    table = upgraded(table)  # first: another version may have settings that this one has not
    for setting, value in (overrides or {}).items():
        table = with_override(table, name_now(setting), value)
    if "data" not in table and "origin" not in table:
        raise UserError("a recipe wants a [data] section with train = …, found none; add it, or --data.train FILE")
    return from_table(Recipe, table)


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; give the path of a recipe, see examples/") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder, wanted a recipe file such as recipe.toml") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if path.suffix != ".toml":
            raise UserError(
                f"{path} is not a recipe; to train on it: regard train --data.train {path} --model lstm"
            ) from None
        raise UserError(f"{path} is not valid TOML: {error}; mend that place") from None
