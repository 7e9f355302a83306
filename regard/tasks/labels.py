"""Texts with a label: a classifier learns to say it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any, ClassVar

from regard.config import Classifier, ModelConfig, Recipe, Recurrent, Transformer
from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.data.batch import InStep
from regard.data.corpus import has_own_held_out
from regard.data.examples import Labelled
from regard.data.tables import KEYED, ending, filled, from_keys, numbered, short
from regard.decode.label import probabilities
from regard.errors import UserError
from regard.folder import Folder
from regard.look.pictures.confusion import draw_confusion
from regard.look.record import Record
from regard.look.recording import of_class
from regard.metrics.labels import macro_f1
from regard.metrics.text import Score
from regard.models.model import Model
from regard.special import NAMES, PADDING
from regard.tasks.sided import SidedTask
from regard.tasks.task import ANY, Tokenizers, learn_tokenizer
from regard.text import Labels, load, save


class LabelsTask(SidedTask):
    """From a .jsonl or .csv file or lines `label<TAB>text`; `label text` if the first line has no tab."""

    name, title, verb, labels = "labels", "classifier", "says", "one class"
    commands = ("classify", "heads")
    wants = "'classifier'"
    metrics: ClassVar[tuple[str, ...]] = ("loss", "accuracy", "macro_f1")
    keys: ClassVar[tuple[str, ...]] = ("label", "text")
    endings: ClassVar[tuple[str, ...]] = (".tsv", ANY)
    buckets = InStep
    writes = False

    def from_files(self, found: list[Path], skipped: Counter[str] | None) -> Iterator[Any]:
        if len(found) == 2:
            raise UserError(f"labels and texts are read from one file, found {found[0]} and {found[1]}; join them")
        rows = from_keys(found[0], self.keys) if ending(found[0]) in KEYED else _labelled_lines(found[0])
        return starmap(Labelled, filled(rows, found[0], skipped))

    def learn(self, folder: Folder, recipe: Recipe, train: list[Any], valid: list[Any]) -> Tokenizers:
        """The text's tokens, and its labels. A text that a language model has read keeps its tokens."""
        # where one file is cut into both parts, a rare label may be in either
        both = train if has_own_held_out(recipe.data) else [*train, *valid]
        labels = Labels.learn([name for example in both for name in self.names(example)])
        save(labels, folder.tokenizer)
        if folder.first_weights.exists():
            return load(folder.source_tokenizer), labels
        return learn_tokenizer(folder.source_tokenizer, recipe.text, (e.source for e in train)), labels

    def names(self, example: Any) -> Sequence[str]:
        """The labels of one example."""
        return [example.label]

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Classifier)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return Classifier(small_encoder(layer))

    def answers(
        self, model: Model, tokenizers: Tokenizers, valid: tuple[Any, ...], places: Sequence[int], search: Search
    ) -> Iterator[tuple[list[str], list[str]]]:
        (source, target), labels = valid, tokenizers[1]
        assert isinstance(labels, Labels)
        asked = ((source[i], len(target[i])) for i in places)
        for i, likely in zip(places, probabilities(model, asked), strict=True):
            there = target[i] != PADDING
            said = [labels.names[place] for place in likely.argmax(-1).numpy()[there]]
            yield said, [labels.names[token - len(NAMES)] for token in target[i][there]]

    def scores(
        self, said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]], cased: bool = True
    ) -> dict[str, Score]:
        return {"macro_f1": macro_f1([*chain.from_iterable(said)], [*chain.from_iterable(wanted)])}

    def draw(self, folder: Folder, said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> None:
        draw_confusion(folder.confusion, [*chain.from_iterable(said)], [*chain.from_iterable(wanted)])

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_class(model, tokenizers, asked, wishes)


def small_encoder(layer: str) -> Recurrent | Transformer:
    """For labels and tags, of which there are never many."""
    if layer == "transformer":
        return Transformer(width=128, layers=2, heads=4, dropout=0.3)
    return Recurrent(layer, width=256, layers=1, dropout=0.5, bidirectional=True)  # type: ignore[arg-type]


def _labelled_lines(path: Path) -> Iterator[list[str]]:
    mark = ""
    for number, line in numbered(path):
        mark = mark or ("\t" if "\t" in line else " ")
        label, found, text = line.partition(mark)
        if not (found and label.strip()):
            name = "tab" if mark == "\t" else "space"
            raise UserError(
                f"line {number} of {path}, {short(line)}, has no label; write the label, a {name}, the text"
            )
        yield [label.strip(), text]
