"""What a task is: all that differs between kinds of data, from the files that hold it to the view of an answer.

Training, judging, commands and the page ask a run for its task, and never which one it is.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from regard.config import Data, ModelConfig, Recipe, Text, Train, Where
from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.data.batch import Batch, Batches
from regard.data.columns import known
from regard.data.corpora.registry import BuiltIn
from regard.data.corpus import find, own, place_of
from regard.data.examples import Split
from regard.data.files import ending
from regard.data.formats import is_table
from regard.data.material import Material, Units
from regard.decode.batches import BATCH
from regard.decode.probability import Pair, Scored
from regard.errors import UserError, counted
from regard.folder import Folder
from regard.look.find.labelled import LabelledText
from regard.look.heads.profile import Example
from regard.look.record import Record
from regard.metrics.score import Score
from regard.models.model import Model
from regard.tasks.amounts import LABELS, Amount, amount
from regard.text.files import load, save
from regard.text.kinds import train_tokenizer, train_without_capitals
from regard.text.tokenizer import Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]  # of what is read, of what is answered
ANY = "*"
SAMPLE = 20_000_000  # characters that a tokenizer learns from at most
FEWEST, MOST = 500, 20_000  # updates: fewer hardly leave the warm-up; more are for whoever asks for them
LEFT_OUT = ("caption", "example", "file", "line", "picture", "sheet")  # what reasons begin with
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
    example: ClassVar[str] = "example"
    """What people call one of those that it learns from."""
    judged_by: ClassVar[str] = "accuracy"
    """The figure that tells most of how good such a run is."""
    labels: ClassVar[str] = ""
    """Where it answers with labels: how many, in words."""
    sides: ClassVar[tuple[str, ...]] = ()
    """Where there is a source: which of source and target are text."""
    amounts: ClassVar[tuple[Amount, ...]] = LABELS
    """Its rows of the table of sizes."""
    each: ClassVar[bool] = False
    """Whether there is a label for each token."""

    @property
    def given_as(self) -> str:
        """How people give such data, in words."""
        if len(self.keys) < 2:
            return f"a file of {self.name}"
        return f"a .tsv file of {' and '.join(self.keys)}{', or two files, line by line' if self.pair_of_files else ''}"

    @property
    def shown_as(self) -> tuple[str, ...]:
        """What people call the parts of an example."""
        return self.keys

    # ---- from files to tokens

    def can_be_in(self, found: Sequence[Path], named: Iterable[str]) -> bool:
        """Whether these files, whose ending is one of `named` or else any, can hold such examples."""
        if len(found) == 2:
            return self.pair_of_files
        if is_table(found[0]):
            return bool(self.keys)
        last = ending(found[0])
        return (last if last in named else ANY) in self.endings

    def can_be_under(self, names: Sequence[str], columns: Sequence[str]) -> bool:
        """Whether such examples can be in a table whose columns have these names, or in those that are chosen."""
        return len(self.keys) == len(columns) if columns else bool(self.keys) and known(names, self.keys) is not None

    def looks_like(self, rows: Sequence[Sequence[str]]) -> bool:
        """Whether rows of two columns that nobody has named look like such examples, and like no others."""
        return False

    def read(
        self,
        where: Where,
        split: Split | None,
        skipped: Counter[str] | None = None,
        columns: Sequence[str] = (),
    ) -> Iterator[Any]:
        """Examples. `split` chooses a part of a built-in corpus, or None for all of it; a file has no parts.

        `skipped` counts what was left out, by reason; `columns` are those of a table.
        """
        found = find(where, split)
        return own(found, self.name, split) if isinstance(found, BuiltIn) else self.from_files(found, skipped, columns)

    @abstractmethod
    def from_files(self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()) -> Iterator[Any]:
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
        return self.open(folder, folder.read_facts())

    # ---- learning

    @abstractmethod
    def fits(self, model: ModelConfig) -> bool:
        """Whether such a model learns from such data."""

    @abstractmethod
    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        """A model of this kind of layer for that many training tokens."""

    def amount(self, tokens: int) -> Amount:
        """What suits that many training tokens."""
        return amount(self.amounts, tokens)

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
    def held_out_batches(self, valid: tuple[Any, ...], length: int, share: float = 1.0) -> Iterator[Batch]:
        """Every held-out token once; or a share of them, evenly spread over all and always the same."""

    def check_metric(self, name: str) -> None:
        if name not in self.metrics:
            known = ", ".join(self.metrics)
            raise UserError(f"[train] metric '{name}' is not for {self.name}; choose {known}")

    # ---- judging

    @abstractmethod
    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        """Other data as a run's tokens."""

    @abstractmethod
    def units(self, tokenizer: Tokenizer, held: Material, length: int) -> Units:
        """What the held-out batches are made of."""

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

    def texts(
        self, folder: Folder, recipe: Recipe, tokenizers: Tokenizers, where: Where, side: str
    ) -> list[LabelledText]:
        """What units are looked for in, one for each side that is text, or for the one that is named.

        That is the data that is named, or else the run's test part, or else its held-out one.
        """
        if side and side not in self.sides:
            known = " and ".join(self.sides) or "one text"
            raise UserError(f"side '{side}' of a {self.title} is no text to look in; it has {known}: leave --side out")
        where, split = (where, None) if where else place_of(recipe.data, "test")
        held = self.given(tokenizers, recipe, where, split).held if where else self.material(folder)
        return self.labelled(tokenizers, held.valid, [side] if side else self.sides)

    def labelled(self, tokenizers: Tokenizers, valid: tuple[Any, ...], sides: Sequence[str]) -> list[LabelledText]:
        """These sides of some data, as the model reads them."""
        raise NotImplementedError

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        """A few held-out examples to begin with."""
        return []


def learn_tokenizer(path: Path, settings: Text, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer for these texts, saved; the one that is there, where training begins with a run that has it."""
    if path.exists():
        return load(path)
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


def sizes_of(tokenizer: Tokenizer, texts: Iterable[Iterable[int]], size: int) -> Float[np.ndarray, " N"]:
    """Bytes of each text, `size` in all: words that a tokenizer cannot spell are as long as others."""
    lengths = np.array([sum(map(len, tokenizer.pieces(text))) for text in texts], float)
    return lengths * (size / max(lengths.sum(), 1))


def reasons(skipped: Counter[str]) -> str:
    """What was left out, and how much of each: a reason begins with what it is about, which is put in its number."""
    return ", ".join(_so_many(number, *reason.partition(" ")) for reason, number in skipped.items())


def _so_many(number: int, noun: str, blank: str, why: str) -> str:
    """Runs of before say no more than why."""
    return f"{counted(number, noun) if noun in LEFT_OUT else f'{number:,} {noun}'}{blank}{why}"


def spread_share(every: int, share: float) -> list[int]:
    """A share of all places, evenly over all there are, and at least one."""
    return spread(every, max(1, round(every * share)))


def spread(every: int, number: int) -> list[int]:
    """So many places, evenly over all there are."""
    number = min(every, number)
    return [place * every // number for place in range(number)]
