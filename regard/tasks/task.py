"""What a task is: all that differs between kinds of data, from the files that hold it to the view of an answer.

Training, judging, commands and the page ask a run for its task, and never which one it is.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from regard.config import Data, ModelConfig, Recipe, Text, Train, Where
from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.data.batch import Batch, Batches
from regard.data.corpora.registry import BuiltIn
from regard.data.corpus import find, own
from regard.data.examples import Split
from regard.data.material import Material
from regard.data.tables import KEYED, ending, objects
from regard.decode.batches import BATCH
from regard.decode.probability import Pair, Scored
from regard.errors import UserError
from regard.folder import Folder
from regard.look.heads.profile import Example
from regard.look.record import Record
from regard.metrics.text import Score
from regard.models.model import Model
from regard.text.files import save
from regard.text.kinds import train_tokenizer, train_without_capitals
from regard.text.tokenizer import Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]  # of what is read, of what is answered
ANY = "*"
SAMPLE = 20_000_000  # characters that a tokenizer learns from at most
LITTLE = 1_000_000  # training tokens below which a model is kept smaller and drops more
FEWEST, MOST = 500, 20_000  # updates: fewer hardly leave the warm-up; more are for whoever asks for them
SPREAD = 10_000  # stretches of a text, or examples, that heads are measured on at most


@dataclass(frozen=True)
class Given:
    """Data that is no part of a run, ready to judge it by."""

    held: Material
    references: Sequence[Any] | None = None  # as they were written; None: as the tokenizer knows them
    facts: dict[str, Any] = field(default_factory=dict)  # to be shown beside the figures


class Task(ABC):
    """One kind of data, and what a model that learnt from it is for."""

    name: ClassVar[str]
    """What data of this kind is called: `data.kind`."""
    title: ClassVar[str]
    """What people call a run that learnt from it."""
    verb: ClassVar[str]
    """What such a run does with what it reads."""
    commands: ClassVar[tuple[str, ...]]
    """What such a run can be asked for; what it is for comes first."""
    wants: ClassVar[str]
    """Which kind of model it wants, in words."""
    metrics: ClassVar[tuple[str, ...]]
    """What can decide which look is the best."""
    keys: ClassVar[tuple[str, ...]] = ()
    """What a line of JSON, or of a table with a headline, holds by name; none: it is never written so."""
    endings: ClassVar[tuple[str, ...]] = ()
    """How names of files end that can hold it; ANY: as no task has named."""
    pair_of_files: ClassVar[bool] = False
    """Whether it can be in two files whose lines belong together."""
    has_source: ClassVar[bool] = True
    """Whether it reads something that is no part of its answer."""
    reads: ClassVar[str] = "text"
    """What a run is given: a text, or a picture."""
    epochs: ClassVar[int] = 12
    """How often a million training tokens are read where nobody says."""
    writes: ClassVar[bool] = True
    """Whether it answers with a text of its own, token by token; otherwise with labels, at once."""
    labels: ClassVar[str] = ""
    """Where it answers with labels: how many, in words."""
    each: ClassVar[bool] = False
    """Whether there is a label for each token."""

    # ---- from files to tokens

    def can_be_in(self, found: Sequence[Path], named: Iterable[str]) -> bool:
        """Whether these files, whose ending is one of `named` or else any, can hold such examples."""
        if len(found) == 2:
            return self.pair_of_files
        last = ending(found[0])
        if last in KEYED:
            _, first = next(objects(found[0]), (0, {"text": ""}))  # only blank lines: the reader says so
            return bool(self.keys) and first.keys() >= set(self.keys)
        return (last if last in named else ANY) in self.endings

    def read(self, where: Where, split: Split | None, skipped: Counter[str] | None = None) -> Iterator[Any]:
        """Examples. `split` chooses a part of a built-in corpus, or None for all of it; a file has no parts.

        `skipped` counts what was left out, by reason.
        """
        found = find(where, split)
        return own(found, self.name, split) if isinstance(found, BuiltIn) else self.from_files(found, skipped)

    @abstractmethod
    def from_files(self, found: list[Path], skipped: Counter[str] | None) -> Iterator[Any]:
        """The examples in one file, a folder, or two files."""

    def begin(self, folder: Folder, recipe: Recipe) -> Recipe:
        """What was learnt elsewhere, put into the folder to begin with; the recipe as that wants it."""
        return recipe

    @abstractmethod
    def prepare(self, folder: Folder, recipe: Recipe) -> dict[str, Any]:
        """Tokenizers and tokens in the folder. Returns the facts that `open` needs, and what was left out."""

    @abstractmethod
    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        """What `prepare` put in the folder."""

    def material(self, folder: Folder) -> Material:
        """What a run learns from and is judged by."""
        try:
            facts = json.loads(folder.tokens("facts.json").read_text())
        except FileNotFoundError:
            raise UserError(
                f"{folder.tokens('')} is not complete, so the run has no data of its own; "
                "copy it whole, or name other data"
            ) from None
        return self.open(folder, facts)

    # ---- learning

    @abstractmethod
    def fits(self, model: ModelConfig) -> bool:
        """Whether such a model learns from such data."""

    @abstractmethod
    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        """A model of this kind of layer for that many training tokens."""

    def default_steps(self, tokens: int, batch: int) -> int:
        """How many updates for that many training tokens: ten times the data is read about half as often.

        Nothing is lost by too many but minutes, since the weights of the best look are kept.
        """
        epochs = min(80, self.epochs * (1_000_000 / tokens) ** (1 / 3))
        return min(MOST, max(FEWEST, 100 * round(epochs * tokens / batch / 100)))

    @abstractmethod
    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        """What is learnt from, update by update; `carry`: the state goes on from one batch to the next."""

    @abstractmethod
    def held_out_batches(self, valid: tuple[Any, ...], length: int) -> Iterator[Batch]:
        """Every held-out token once."""

    def check_metric(self, name: str) -> None:
        if name not in self.metrics:
            known = ", ".join(self.metrics)
            raise UserError(f"[train] metric '{name}' is not for {self.name}; choose {known}")

    # ---- judging

    @abstractmethod
    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        """Other data as a run's tokens."""

    def tokens_in(self, valid: tuple[Any, ...]) -> int:
        """How many tokens are to be predicted, stops included; 0 where an answer is no text that has bytes."""
        return 0

    def asks(self, valid: tuple[Any, ...]) -> int:
        """How many examples there are to be answered; 0 where a text only goes on."""
        return 0

    def answers(
        self, model: Model, tokenizers: Tokenizers, valid: tuple[Any, ...], places: Sequence[int], search: Search
    ) -> Iterator[tuple[Any, Any]]:
        """What the model answers to the examples at these places, as it would to anybody, and what was wanted."""
        raise NotImplementedError

    def scores(self, said: Sequence[Any], wanted: Sequence[Any], cased: bool = True) -> dict[str, Score]:
        """How close answers are to what was wanted, each figure with what it means; none: nothing is answered."""
        return {}

    def draw(self, folder: Folder, said: Sequence[Any], wanted: Sequence[Any]) -> None:
        """A picture of the answers in the folder, where one says more than figures."""
        return

    def further(
        self, model: Model, tokenizer: Tokenizer, recipe: Recipe, where: Where, split: Split | None
    ) -> dict[str, float]:
        """Figures that only some data allows."""
        return {}

    # ---- looking

    @abstractmethod
    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        """Everything there is to see while a model reads what is asked and answers it."""

    def score(
        self, model: Model, tokenizers: Tokenizers, asked: Iterable[str | Pair], batch: int = BATCH
    ) -> Iterator[Scored]:
        """How probable each answer is."""
        raise NotImplementedError

    def stretches(self, valid: tuple[Any, ...], length: int) -> list[Example]:
        """What heads are measured on, evenly spread over all there is."""
        raise NotImplementedError

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        """A few held-out examples to begin with."""
        return []


def learn_tokenizer(path: Path, settings: Text, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer for these texts, saved."""
    train = train_without_capitals if settings.lower else train_tokenizer
    tokenizer = train(settings.kind, list(_sample(texts)), settings.size or None)
    save(tokenizer, path)
    return tokenizer


def _sample(texts: Iterable[str]) -> Iterator[str]:
    """Texts up to an amount that a tokenizer can learn from in seconds."""
    left = SAMPLE
    for text in texts:
        yield text
        left -= len(text)
        if left < 0:
            return


def need_some(data: Data, train: int, valid: int, example: str, skipped: Counter[str], check: str = "the data") -> None:
    """Nothing to learn from, or nothing to be judged by, is said before anything is built on it."""
    if not train:
        found = reasons(skipped) or "it is empty"
        raise UserError(f"{data.train} has no {example} to train on ({found}); check {check}")
    if not valid:
        raise UserError(f"{data.train} has too few {example}s to hold some out; give more, or a [data] valid file")


def reasons(skipped: Counter[str]) -> str:
    """What was left out, and how much of each."""
    return ", ".join(f"{number} {reason}" for reason, number in skipped.items())


def spread(every: int, number: int) -> list[int]:
    """So many places, evenly over all there are."""
    number = min(every, number)
    return [place * every // number for place in range(number)]
