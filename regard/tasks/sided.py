"""Examples with two sides: a source that is read, and a target that is wanted, both of them as tokens."""

import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from regard.config import Recipe, Train, Where
from regard.data import store
from regard.data.batch import Batch, Batches, Buckets
from regard.data.corpus import examples_of, has_own_held_out
from regard.data.examples import SPLITS, Split
from regard.data.material import Material
from regard.folder import Folder
from regard.look.heads.profile import Example
from regard.tasks.task import SPREAD, Given, Task, Tokenizers, need_some, spread
from regard.text import Tokenizer, load

AT_ONCE = 1000  # examples encoded together
BUDGET = 8192  # tokens of a batch of held-out examples
SIDES = ("source", "target")


class SidedTask(Task):
    """What pairs, labelled texts and tagged words have in common."""

    example: ClassVar[str] = "example"
    """What people call one of them."""
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
            read = partial(self.read, skipped=None if again else skipped)
            return list(examples_of(data, part, read, lambda example: example.source))

        train, valid = examples("train"), examples("valid")
        tokenizers = self.learn(folder, recipe, train, valid)
        facts: dict[str, Any] = {}
        for part, chosen in zip(SPLITS, (train, valid), strict=False):
            sides, size = self._within(data.longest, chosen, tokenizers, skipped)
            for side, tokens, tokenizer in zip(SIDES, sides, tokenizers, strict=True):
                store.write(folder.tokens(f"{part}-{side}"), tokens, tokenizer.vocabulary)
            facts |= {f"{part}_pairs": len(sides[0]), f"{part}_bytes": size}
        need_some(data, facts["train_pairs"], facts["valid_pairs"], self.example, skipped)
        return {**facts, "skipped": dict(skipped)}

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
                    skipped[f"longer than {longest} tokens"] += 1
                    continue
                sides[0].append(left)
                sides[1].append(right)
                size += len(example.target.encode())
        return sides, size

    def open(self, folder: Folder, facts: dict[str, Any]) -> Material:
        target = load(folder.tokenizer).vocabulary
        source = load(folder.source_tokenizer).vocabulary if folder.source_tokenizer.exists() else target

        def both(part: str) -> tuple[store.Store, ...]:
            sizes = zip(SIDES, (source, target), strict=True)
            return tuple(store.read(folder.tokens(f"{part}-{side}"), size) for side, size in sizes)

        return Material(both("train"), both("valid"), facts["valid_bytes"], facts)

    # ---- learning and judging

    def batches(self, train: tuple[Any, ...], settings: Train, carry: bool) -> Batches:
        source, target = train
        return self.buckets(source, target, settings.batch, settings.seed)

    def held_out_batches(self, valid: tuple[Any, ...], length: int) -> Iterator[Batch]:
        source, target = valid
        buckets = self.buckets(source, target, BUDGET, seed=0)
        return (buckets.batch(buckets.in_order(place)) for place in range(buckets.per_epoch))

    def given(self, tokenizers: Tokenizers, recipe: Recipe, where: Where, split: Split | None) -> Given:
        examples = list(self.read(where, split))
        held = tuple(store.gather(side) for side in self.encode(examples, tokenizers))
        size = sum(len(example.target.encode()) for example in examples)
        return Given(Material((), held, size), self.references(examples))

    def asks(self, valid: tuple[Any, ...]) -> int:
        return len(valid[0])

    def stretches(self, valid: tuple[Any, ...], length: int) -> list[Example]:
        source, target = valid
        places = spread(len(source), SPREAD)
        return [Example(source[at].tolist(), [*target[at].tolist(), *self.behind]) for at in places]

    def beginnings(self, tokenizer: Tokenizer, valid: tuple[Any, ...], number: int) -> list[str]:
        return [tokenizer.decode(valid[0][at].tolist()) for at in range(min(number, len(valid[0])))]
