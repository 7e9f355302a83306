"""Texts with a label: a classifier learns to say it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.config import Classifier, ModelConfig
from regard.config.looking import Recording
from regard.data.examples import Labelled
from regard.data.files import read_lines
from regard.data.formats.line import short
from regard.data.tables import Row, filled, from_keys, from_tabs, goes_by_name
from regard.errors import UserError
from regard.look.record import Record
from regard.look.recording import of_class
from regard.models.model import Model
from regard.tasks.sided import InStepTask, small_encoder
from regard.tasks.task import ANY, Tokenizers

FEW = 4  # times that an answer comes at least, in the mean, where answers are labels


class LabelsTask(InStepTask):
    """From a table or lines `label<TAB>text`; `label text` if the first line has no tab."""

    name, title, verb, labels = "labels", "classifier", "says", "one class"
    commands = ("classify", "embed", "heads", "find")
    wants = "'classifier'"
    metrics = ("loss", "accuracy", "macro_f1")
    keys = ("text", "label")
    endings = (".tsv", ANY)

    def from_files(
        self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()
    ) -> Iterator[Labelled]:
        if len(found) == 2:
            raise UserError(f"labels and texts are read from one file, found {found[0]} and {found[1]}; join them")
        path = found[0]
        if goes_by_name(path, self.keys, columns):
            rows = from_keys(path, self.keys, columns, skipped)
        else:
            rows = _labelled_lines(path, skipped)
        return (Labelled(label.strip(), text) for _, (text, label) in filled(rows, path, skipped))

    def looks_like(self, rows: Sequence[Sequence[str]]) -> bool:
        """The same few answers come again and again."""
        return len(rows) > 3 and FEW * len({answer for _, answer in rows}) <= len(rows)

    def names(self, example: Any) -> Sequence[str]:
        return [example.label]

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Classifier)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return Classifier(small_encoder(layer))

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_class(model, tokenizers, asked, wishes)


def _labelled_lines(path: Path, skipped: Counter[str] | None) -> Iterator[Row]:
    """Text and label of each line: the label stands before the first tab, or space if the first line has no tab."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    name = "tab" if "\t" in first else "space"
    wanted = f"the label, a {name}, the text"
    rows = from_tabs(path, wanted, skipped) if name == "tab" else _by_spaces(path)
    for number, (label, *texts) in rows:
        if not (texts and label.strip()):
            line = "\t".join((label, *texts))
            raise UserError(f"line {number} of {path}, {short(line)}, has no label; write {wanted}")
        yield Row(number, ("\t".join(texts), label))


def _by_spaces(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            label, found, text = line.partition(" ")
            yield Row(number, (label, text) if found else (label,))
