"""Words with tags: a tagger learns to say one for each word."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any

from regard.config import ModelConfig, Tagger
from regard.config.looking import Recording
from regard.data.examples import Tagged
from regard.data.files import ending
from regard.data.tagged import from_columns, from_conllu, sentences
from regard.errors import UserError
from regard.look.record import Record
from regard.look.recording import of_tags
from regard.metrics.labels import span_f1
from regard.metrics.score import Score
from regard.models.model import Model
from regard.tasks.sided import InStepTask, small_encoder
from regard.tasks.task import ANY, Tokenizers
from regard.text.labels import Labels, in_step, pieces_of_words


class TagsTask(InStepTask):
    """From a .conllu file or from lines `word<TAB>tag` with blank lines between sentences."""

    name, title, verb, labels, each = "tags", "tagger", "tags", "a tag for each token", True
    commands = ("tag", "heads", "find")
    wants = "'tagger'"
    metrics = ("loss", "accuracy", "macro_f1", "span_f1")
    endings = (".tsv", ".conllu", ANY)

    @property
    def shown_as(self) -> tuple[str, ...]:
        return ("words", "tags")

    def from_files(
        self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()
    ) -> Iterator[Tagged]:
        if len(found) == 2:
            raise UserError(f"words and tags are read from one file, found {found[0]} and {found[1]}; join them")
        path = found[0]
        tagged = starmap(Tagged, sentences((from_conllu if ending(path) == ".conllu" else from_columns)(path)))
        first = next(tagged, None)
        if first is None:
            raise UserError(f"{path} has no example: no line of it is a word with a tag; give a file with words in it")
        return chain([first], tagged)

    def names(self, example: Tagged) -> Sequence[str]:
        return example.tags

    def encode(self, examples: Sequence[Tagged], tokenizers: Tokenizers) -> tuple[list[list[int]], list[list[int]]]:
        """Tags stand beside the tokens of their words."""
        source, target = tokenizers
        assert isinstance(target, Labels)
        sides: tuple[list[list[int]], list[list[int]]] = ([], [])
        for words, tags in examples:
            pieces = pieces_of_words(source, words)
            sides[0].append([token for word in pieces for token in word])
            sides[1].append(in_step(pieces, [target.encode(tag)[0] for tag in tags], target.at_first))
        return sides

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Tagger)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        return Tagger(small_encoder(layer))

    def scores(
        self, said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]], cased: bool = True
    ) -> dict[str, Score]:
        """Tags may span several words."""
        return {**super().scores(said, wanted), "span_f1": span_f1(said, wanted)}

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_tags(model, tokenizers, asked, wishes)
