"""Plain text: a language model learns to go on with it."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import LanguageModel, ModelConfig, Recipe, Train, Where
from regard.config.looking import Recording
from regard.data import store
from regard.data.batch import Batch, Batches, Streams, Windows
from regard.data.corpus import examples_of, has_own_held_out, place_of
from regard.data.examples import Split, held_out
from regard.data.files import read_pieces, text_files
from regard.data.formats import is_table
from regard.data.material import Material, Units
from regard.data.survey import Survey
from regard.data.tables import filled, from_keys
from regard.decode.batches import BATCH
from regard.decode.probability import Pair, Scored, as_text, score_texts
from regard.errors import UserError, counted
from regard.folder import Folder
from regard.look.find.labelled import LabelledText, labelled
from regard.look.heads.profile import Example
from regard.look.record import Record
from regard.look.recording import of_text
from regard.models.model import Model
from regard.special import START, STOP
from regard.tasks import amounts
from regard.tasks.start_from import from_run
from regard.tasks.task import ANY, SPREAD, Given, Task, Tokenizers, learn_tokenizer, spread
from regard.text.tokenizer import Tokenizer

KEY = 1000  # characters by which documents are told apart
STRETCH = 1000  # bytes of a text that are drawn together, for neighbours are alike
AT_ONCE = 1 << 18  # tokens that are made text again together
ROWS = 16  # streams that a held-out text is read in


class TextTask(Task):
    """Documents, each in pieces: a file is one, a folder has one in each file, a table in each line."""

    name, title, verb, judged_by = "text", "language model", "goes on", "bits_per_byte"
    commands = ("write", "score", "find", "heads")
    wants = "'language-model'"
    metrics = ("loss", "accuracy")
    keys = ("text",)
    endings = (ANY,)
    has_source = False
    amounts = amounts.TEXT

    # ---- from files to tokens

    def can_be_in(self, found: Any, named: Iterable[str]) -> bool:
        return found[0].is_dir() or super().can_be_in(found, named)

    def from_files(
        self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()
    ) -> Iterator[Iterator[str]]:
        for path in found:
            if path.is_dir():
                yield from (read_pieces(file, skipped) for file in text_files(path, skipped))
            elif is_table(path) or columns:
                rows = from_keys(path, self.keys, columns, skipped)
                yield from (iter(row.fields) for row in filled(rows, path, skipped))
            else:
                yield read_pieces(path, skipped)

    def begin(self, folder: Folder, recipe: Recipe) -> Recipe:
        return from_run(folder, recipe, self.fits)

    def prepare(self, folder: Folder, recipe: Recipe) -> dict[str, Any]:
        data = recipe.data
        whole = not has_own_held_out(data) and not self._has_both_sides(recipe)
        skipped: Counter[str] = Counter()

        def documents(part: Split) -> Iterator[Iterator[str]]:
            noted = skipped if part == "train" else None
            if whole:
                found = self.read(data.train, None, noted, data.chosen_columns)
                return itertools.islice(found, (data.limit or None) if part == "train" else 0)

            def read(where: Where, split: Split | None) -> Iterator[tuple[str, Iterator[str]]]:
                return map(_with_key, self.read(where, split, noted, data.chosen_columns))

            return (document for _, document in examples_of(data, part, read, lambda pair: pair[0]))

        tokenizer = learn_tokenizer(folder.tokenizer, recipe.text, itertools.chain.from_iterable(documents("train")))
        skipped.clear()  # the same files come again, to be encoded
        sizes, survey = {"train": 0, "valid": 0}, Survey()

        def encoded(part: Split) -> Iterator[list[int]]:
            for document in documents(part):
                tokens = [START]
                first = next(document, "")
                survey.note(part, (first[:KEY],))
                for piece in itertools.chain([first] if first else [], document):
                    survey.note_accents(piece[KEY:] if piece is first else piece)
                    tokens += tokenizer.encode(piece)
                    sizes[part] += len(piece.encode())
                    yield tokens
                    tokens = []
                yield [*tokens, STOP]

        store.write(folder.tokens("train"), encoded("train"), tokenizer.vocabulary)
        store.write(folder.tokens("valid"), encoded("valid"), tokenizer.vocabulary)
        train = store.read(folder.tokens("train"))
        valid = store.read(folder.tokens("valid"))
        cut = 0
        if len(valid.tokens) < 2:  # one long text: its end is held out
            cut = int(len(train.tokens) * (1 - data.share))
            end = train.tokens[cut:]
            sizes["valid"] = _bytes(tokenizer, end[end != STOP])
            if cut < 2 or len(train.tokens) - cut < 2:
                raise UserError(
                    f"{data.train} has only {counted(len(train.tokens), 'token')}, too few to train on and hold "
                    f"{data.share:.0%} out; give more text, or a [data] valid file"
                )
            sizes["train"] = max(0, sizes["train"] - sizes["valid"])
        return {
            "cut": cut,
            "train_bytes": sizes["train"],
            "valid_bytes": sizes["valid"],
            "skipped": dict(skipped),
            "noticed": survey.facts,
        }

    def _has_both_sides(self, recipe: Recipe) -> bool:
        """Whether there are documents enough that some are held out and some are not."""
        sides = set()
        for key, _ in map(_with_key, self.read(recipe.data.train, None, columns=recipe.data.chosen_columns)):
            sides.add(held_out(key, recipe.data.share))
            if len(sides) == 2:
                return True
        return False

    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        train = store.read(folder.tokens("train"))
        if facts["cut"]:
            train, valid = train.cut(facts["cut"])
        else:
            valid = store.read(folder.tokens("valid"))
        return Material((train,), (valid,), facts["valid_bytes"], facts)

    # ---- learning

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, LanguageModel)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return LanguageModel(self.amount(tokens).stack(layer))

    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        rows = max(1, settings.batch // settings.length)
        if carry:
            return Streams(train[0], rows, settings.length, settings.fresh, settings.seed)
        return Windows(train[0], rows, settings.length, settings.seed)

    def held_out_batches(self, valid: tuple[Any, ...], length: int, share: float = 1.0) -> Iterator[Batch]:
        """A share is the beginning of every stream."""
        batches = Streams(valid[0], ROWS, length)
        return (batches.at(step) for step in range(max(1, round(batches.per_epoch * share))))

    def units(self, tokenizer: Tokenizer, held: Material, length: int) -> Units:
        """Stretches of the text by its bytes: the same ones for every tokenizer."""
        (text,) = held.valid
        number = -(-held.valid_bytes // STRETCH)
        ends = np.cumsum([len(piece) for piece in tokenizer.pieces(text.tokens.tolist())])
        place = np.minimum(ends * number // max(ends[-1], 1), number - 1)
        stretches = Streams(store.Store(place, text.ends), ROWS, length)
        places = (stretches.at(step).targets.numpy() for step in range(stretches.per_epoch))
        return Units(f"stretches of {STRETCH:,} bytes", np.full(number, held.valid_bytes / number), places)

    # ---- judging and looking

    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        tokens: list[int] = []
        size = 0
        for document in self.read(where, split, columns=recipe.data.chosen_columns):
            text = "".join(document)
            tokens += [START, *tokenizers[1].encode(text), STOP]
            size += len(text.encode())
        return Given(Material((), (store.gather([tokens]),), size))

    def tokens_in(self, valid: tuple[Any, ...]) -> int:
        return len(valid[0].tokens)

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_text(model, tokenizers, asked, wishes)

    def score(
        self, model: Model, tokenizers: Tokenizers, asked: Iterable[str | Pair], batch: int = BATCH
    ) -> Iterator[Scored]:
        return score_texts(model, tokenizers[1], map(as_text, asked), batch=batch)

    def stretches(self, valid: tuple[Any, ...], length: int) -> list[Example]:
        tokens = valid[0].tokens
        begins = [at * length for at in spread(max(1, len(tokens) // length), SPREAD)]
        return [Example(None, tokens[begin : begin + length].tolist()) for begin in begins]

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        tokens = valid[0].tokens
        places = [len(tokens) * place // (number + 1) for place in range(number)]
        return [_from_a_line(tokenizer.decode(tokens[at : at + 400])) for at in places]

    def texts(
        self, folder: Folder, recipe: Recipe, tokenizers: Tokenizers, where: Where, side: str
    ) -> list[LabelledText]:
        if side:
            raise UserError(f"a language model reads one text and has no {side}; leave --side out")
        return [labelled(tokenizers[1], self.documents(folder, recipe, tokenizers[1], where))]

    def documents(self, folder: Folder, recipe: Recipe, tokenizer: Tokenizer, where: Where = "") -> list[str]:
        """Those in the data that is named, or else of a language model's test part, or else of its held-out one."""
        where, split = (where, None) if where else place_of(recipe.data, "test")
        if where:
            return ["".join(document) for document in self.read(where, split, columns=recipe.data.chosen_columns)]
        tokens = self.material(folder).valid[0].tokens
        parts = np.split(tokens, np.flatnonzero(tokens == START))
        return [text for text in (tokenizer.decode(part) for part in parts) if text]


def _bytes(tokenizer: Tokenizer, tokens: NDArray[np.integer]) -> int:
    """Of the text that tokens stand for, some of them at a time: as Python's numbers they would fill the memory."""
    parts = np.array_split(tokens, len(tokens) // AT_ONCE + 1)
    return sum(len(tokenizer.decode(part.tolist()).encode()) for part in parts)


def _with_key(document: Iterator[str]) -> tuple[str, Iterator[str]]:
    """A document and its beginning: equal documents are held out together."""
    first = next(document, "")
    return first[:KEY], itertools.chain([first], document)


def _from_a_line(text: str) -> str:
    """Some of a text, from the first beginning of a line on."""
    return text.partition("\n")[2].lstrip("\n")[:160] or text[:160]
