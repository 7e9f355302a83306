"""Pairs of a source and its target: a translator learns to write the one from the other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.config import ModelConfig, Recipe, Seq2Seq, Transducer, Vision
from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.data.examples import Pair
from regard.data.tables import filled, from_keys, from_parallel, from_tabs, goes_by_name
from regard.decode.batches import BATCH
from regard.decode.probability import Pair as Asked
from regard.decode.probability import Scored, as_pair, score_pairs
from regard.decode.translate import Plan, hypotheses
from regard.folder import Folder
from regard.look.record import Record
from regard.look.recording import of_translation
from regard.metrics.score import Score
from regard.metrics.text import bleu, chrf, error_rate, exact_match
from regard.models.model import Model
from regard.special import STOP
from regard.tasks.amounts import PAIRS
from regard.tasks.sided import SIDES, SidedTask
from regard.tasks.start_from import from_run
from regard.tasks.task import Tokenizers, learn_tokenizer


class PairsTask(SidedTask):
    """From two parallel files, a table, or any file of lines `source<TAB>target`.

    Further columns are ignored: files of translations often name the translator there.
    """

    name, title, verb, example = "pairs", "translator", "translates", "pair"
    commands = ("translate", "score", "align", "heads", "find")
    wants = "'seq2seq'"
    metrics = ("loss", "accuracy", "bleu", "chrf", "exact")
    keys = ("source", "target")
    endings = (".tsv",)
    pair_of_files = True
    judged_by = "bleu"
    epochs = 35  # published recipes for 8,000 to 100,000 pairs have 20 to 60
    behind = (STOP,)
    sides = SIDES
    amounts = PAIRS

    def from_files(
        self, found: list[Path], skipped: Counter[str] | None, columns: Sequence[str] = ()
    ) -> Iterator[Pair]:
        if len(found) == 2:
            rows = from_parallel(*found)
        elif goes_by_name(found[0], self.keys, columns):
            rows = from_keys(found[0], self.keys, columns, skipped)
        else:
            rows = from_tabs(found[0], "the source, a tab, the target", skipped)
        return (Pair(*row.fields[:2]) for row in filled(rows, found[0], skipped))

    def begin(self, folder: Folder, recipe: Recipe) -> Recipe:
        return from_run(folder, recipe, self.fits)

    def learn(self, folder: Folder, recipe: Recipe, train: list[Pair], valid: list[Pair]) -> Tokenizers:
        if recipe.text.shared:
            both = learn_tokenizer(folder.tokenizer, recipe.text, (text for pair in train for text in pair))
            return both, both
        source = learn_tokenizer(folder.source_tokenizer, recipe.text, (pair.source for pair in train))
        return source, learn_tokenizer(folder.tokenizer, recipe.text, (pair.target for pair in train))

    def references(self, examples: Sequence[Pair]) -> list[str]:
        return [pair.target for pair in examples]

    def fits(self, model: ModelConfig) -> bool:
        return isinstance(model, Seq2Seq | Transducer) and not isinstance(model.encoder, Vision)

    def default_model(self, layer: str, tokens: int) -> ModelConfig:
        if layer == "transformer":
            side = self.amount(tokens).transformer()
            return Seq2Seq(side, side)
        decoder = self.amount(tokens).recurrent(layer)
        return Seq2Seq(replace(decoder, bidirectional=True), decoder)

    def tokens_in(self, valid: tuple[Any, ...]) -> int:
        return len(valid[1].tokens) + len(valid[1])

    def answers(
        self, model: Model, tokenizers: Tokenizers, valid: tuple[Any, ...], places: Sequence[int], search: Search
    ) -> Iterator[tuple[str, str]]:
        (source, target), writer = valid, tokenizers[1]
        made = hypotheses(model, Plan(search, writer), (source[i] for i in places))
        for i, each in zip(places, made, strict=True):
            yield writer.decode(each[0].tokens if each else ()), writer.decode(target[i])

    def scores(self, said: Sequence[str], wanted: Sequence[str], cased: bool = True) -> dict[str, Score]:
        if not cased:
            said, wanted = ([text.lower() for text in texts] for texts in (said, wanted))
        return {
            "bleu": bleu(said, wanted, cased),
            "chrf": chrf(said, wanted, cased),
            "exact": exact_match(said, wanted),
            "error_rate": error_rate(said, wanted),
        }

    def record(self, model: Model, tokenizers: Tokenizers, asked: Any, wishes: Recording) -> Record:
        return of_translation(model, tokenizers, asked, wishes)

    def score(
        self, model: Model, tokenizers: Tokenizers, asked: Iterable[str | Asked], batch: int = BATCH
    ) -> Iterator[Scored]:
        return score_pairs(model, tokenizers, map(as_pair, asked), batch=batch)
