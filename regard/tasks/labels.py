"""Texts with a label: a classifier learns to say it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

from regard.config import Classifier, ModelConfig
from regard.config.looking import Recording
from regard.data.examples import Labelled
from regard.data.tables import KEYED, ending, filled, from_keys, numbered, short
from regard.errors import UserError
from regard.look.record import Record
from regard.look.recording import of_class
from regard.models.model import Model
from regard.tasks.sided import InStepTask, small_encoder
from regard.tasks.task import ANY, Tokenizers


class LabelsTask(InStepTask):
    """From a .jsonl or .csv file or lines `label<TAB>text`; `label text` if the first line has no tab."""

    name, title, verb, labels = "labels", "classifier", "says", "one class"
    commands = ("classify", "heads")
    wants = "'classifier'"
    metrics = ("loss", "accuracy", "macro_f1")
    keys = ("label", "text")
    endings = (".tsv", ANY)

    def from_files(self, found: list[Path], skipped: Counter[str] | None) -> Iterator[Any]:
        if len(found) == 2:
            raise UserError(f"labels and texts are read from one file, found {found[0]} and {found[1]}; join them")
        rows = from_keys(found[0], self.keys) if ending(found[0]) in KEYED else _labelled_lines(found[0])
        return starmap(Labelled, filled(rows, found[0], skipped))

    def names(self, example: Any) -> Sequence[str]:
        return [example.label]

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Classifier)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return Classifier(small_encoder(layer))

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_class(model, tokenizers, asked, wishes)


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
