"""Examples with two sides: a source that is read, and a target that is wanted, both of them as tokens."""

import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from regard.config import FromRun, Recipe, Recurrent, Train, Transformer, Where
from regard.config.decoding import Search
from regard.data import store
from regard.data.batch import Batch, Batches, Buckets, InStep
from regard.data.corpus import examples_of, has_own_held_out
from regard.data.examples import SPLITS, Split
from regard.data.material import Material, Units
from regard.data.survey import Survey
from regard.decode.label import probabilities
from regard.errors import counted
from regard.folder import Folder
from regard.look.find.labelled import LabelledText, labelled_apart
from regard.look.find.passages import Answered
from regard.look.heads.profile import Example
from regard.look.pictures.confusion import draw_confusion
from regard.metrics.labels import macro_f1
from regard.metrics.score import Score
from regard.models.model import Model
from regard.special import NAMES, PADDING, STOP
from regard.tasks.amounts import LABELS
from regard.tasks.start_from import from_language_model
from regard.tasks.task import (
    SPREAD,
    Given,
    Task,
    Tokenizers,
    learn_tokenizer,
    need_some,
    sizes_of,
    spread,
    spread_share,
)
from regard.text.files import save
from regard.text.labels import Labels
from regard.text.tokenizer import Tokenizer

AT_ONCE = 1000  # examples encoded together
BUDGET = 8192  # tokens of a batch of held-out examples
SIDES = ("source", "target")


class SidedTask(Task):
    """What pairs, labelled texts and tagged words have in common."""

    buckets: ClassVar[type[Buckets]] = Buckets
    behind: ClassVar[tuple[int, ...]] = ()
    """Tokens that are predicted behind a target."""

    @abstractmethod
    def learn(self, folder: Folder, recipe: Recipe, train: list[Any], valid: list[Any]) -> Tokenizers:
        """The tokenizers of both sides, saved."""

    def encode(self, examples: Sequence[Any], tokenizers: Tokenizers) -> tuple[list[list[int]], list[list[int]]]:
        """Both sides' tokens."""
        source, target = tokenizers
        return source.encode_all([e.source for e in examples]), target.encode_all([e.target for e in examples])

    def references(self, examples: Sequence[Any]) -> list[str] | None:
        """What answers are held against, as it was written."""
        return None

    # ---- from files to tokens

    def prepare(self, folder: Folder, recipe: Recipe) -> dict[str, Any]:
        data, own = recipe.data, has_own_held_out(recipe.data)
        skipped: Counter[str] = Counter()

        def examples(part: Split) -> list[Any]:
            again = part == "valid" and not own  # the same file: what it lacks is counted once
            read = partial(self.read, skipped=None if again else skipped, columns=data.chosen_columns)
            return list(examples_of(data, part, read, lambda example: example.source))

        train, valid = examples("train"), examples("valid")
        survey = Survey()
        for part, chosen in zip(SPLITS, (train, valid), strict=False):
            for example in chosen:
                survey.note(part, (example.source, example.target))
        tokenizers = self.learn(folder, recipe, train, valid)
        facts: dict[str, Any] = {}
        for part, chosen in zip(SPLITS, (train, valid), strict=False):
            sides, size = self._within(data.longest, chosen, tokenizers, skipped)
            for side, tokens, tokenizer in zip(SIDES, sides, tokenizers, strict=True):
                store.write(folder.tokens(f"{part}-{side}"), tokens, tokenizer.vocabulary)
            facts |= {f"{part}_pairs": len(sides[0]), f"{part}_bytes": size}
        need_some(data, facts["train_pairs"], facts["valid_pairs"], self.example, skipped)
        return {**facts, "skipped": dict(skipped), "noticed": survey.facts}

    def _within(
        self, longest: int, examples: list[Any], tokenizers: Tokenizers, skipped: Counter[str]
    ) -> tuple[tuple[list[list[int]], list[list[int]]], int]:
        """Both sides' tokens of the examples that are not too long, and how many bytes their targets are."""
        sides: tuple[list[list[int]], list[list[int]]] = ([], [])
        size = 0
        stream = iter(examples)
        while some := list(itertools.islice(stream, AT_ONCE)):
            for example, left, right in zip(some, *self.encode(some, tokenizers), strict=True):
                if max(len(left), len(right)) > longest:
                    skipped[f"example longer than {counted(longest, 'token')}"] += 1
                    continue
                sides[0].append(left)
                sides[1].append(right)
                size += len(example.target.encode())
        return sides, size

    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        def both(part: str) -> tuple[store.Store, ...]:
            return tuple(store.read(folder.tokens(f"{part}-{side}")) for side in SIDES)

        return Material(both("train"), both("valid"), facts["valid_bytes"], facts)

    # ---- learning and judging

    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        source, target = train
        return self.buckets(source, target, settings.batch, settings.seed)

    def held_out_batches(self, valid: tuple[Any, ...], length: int, share: float = 1.0) -> Iterator[Batch]:
        source, target = (side.at(spread_share(len(side), share)) for side in valid)
        buckets = self.buckets(source, target, BUDGET, seed=0)
        return (buckets.batch(buckets.in_order(place)) for place in range(buckets.per_epoch))

    def units(self, tokenizer: Tokenizer, held: Material, length: int) -> Units:
        source, target = held.valid
        buckets = self.buckets(source, target, BUDGET, seed=0)
        places = (buckets.in_order(place)[:, None] for place in range(buckets.per_epoch))
        targets = (target[i].tolist() for i in range(len(target)))
        return Units(f"{self.example}s", sizes_of(tokenizer, targets, held.valid_bytes), places)

    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        examples = list(self.read(where, split, columns=recipe.data.chosen_columns))
        held = tuple(store.gather(side) for side in self.encode(examples, tokenizers))
        size = sum(len(example.target.encode()) for example in examples)
        return Given(Material((), held, size), self.references(examples))

    def asks(self, valid: tuple[Any, ...]) -> int:
        return len(valid[0])

    def stretches(self, valid: tuple[Any, ...], length: int) -> list[Example]:
        source, target = valid
        places = spread(len(source), SPREAD)
        return [Example(source[at].tolist(), [*target[at].tolist(), *self.behind]) for at in places]

    def labelled(self, tokenizers: Tokenizers, valid: tuple[Any, ...], sides: Sequence[str]) -> list[LabelledText]:
        source, target = valid
        examples = [
            Answered(np.append(source[at], STOP).astype(int), np.append(target[at], self.behind).astype(int))
            for at in spread(len(source), SPREAD)
            if len(target[at])
        ]
        return [labelled_apart(tokenizers[SIDES.index(side)], examples, side) for side in sides]

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        return [tokenizer.decode(valid[0][at].tolist()) for at in range(min(number, len(valid[0])))]


class InStepTask(SidedTask):
    """Where the source says how long the answer is: one label for a text, or one for each of its words."""

    buckets = InStep
    writes = False
    sides = SIDES[:1]

    def begin(self, folder: Folder, recipe: Recipe) -> Recipe:
        if isinstance(recipe.model, FromRun):
            start = type(self.default_model("lstm", 0))(start_from=recipe.model.start_from)
            recipe = replace(recipe, model=start)
        return recipe if isinstance(recipe.model, str) else from_language_model(folder, recipe)

    def learn(self, folder: Folder, recipe: Recipe, train: list[Any], valid: list[Any]) -> Tokenizers:
        """The text's tokens, and its labels. A text that a language model has read keeps its tokens."""
        # where one file is cut into both parts, a rare label may be in either
        both = train if has_own_held_out(recipe.data) else [*train, *valid]
        labels = Labels.learn([name for example in both for name in self.names(example)])
        save(labels, folder.tokenizer)
        return learn_tokenizer(folder.source_tokenizer, recipe.text, (e.source for e in train)), labels

    @abstractmethod
    def names(self, example: Any) -> Sequence[str]:
        """The labels of one example."""

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
        return {"macro_f1": macro_f1(said, wanted)}

    def draw(self, folder: Folder, said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> None:
        draw_confusion(folder.confusion, [*chain.from_iterable(said)], [*chain.from_iterable(wanted)])


def small_encoder(layer: str) -> Recurrent | Transformer:
    """For labels and tags, of which there are never many."""
    (found,) = LABELS
    return found.transformer() if layer == "transformer" else replace(found.recurrent(layer), bidirectional=True)
