"""From examples with two sides to tokens: pairs, texts with a label, words with tags."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.config import Data, ModelConfig, Recipe, Seq2Seq, Transducer, Vision, Where
from regard.data.corpora.registry import CORPORA
from regard.data.corpus import Split, kind_of, read_labelled, read_pairs, read_tagged
from regard.data.examples import Kind
from regard.errors import UserError
from regard.text import Labels, Lower, Tokenizer, save, train_tokenizer
from regard.text.labels import in_step, pieces_of_words

Reader = Callable[[Where, Split | None, Counter[str] | None], Iterator[Any]]
SAMPLE = 20_000_000  # characters that a tokenizer learns from at most
READERS: dict[Kind, Reader] = {"pairs": read_pairs, "labels": read_labelled, "tags": read_tagged}
WANTS: dict[Kind, str] = {
    "text": "language-model",
    "pairs": "seq2seq",
    "labels": "classifier",
    "tags": "tagger",
    "captions": "seq2seq",
}
"""Which kind of model each kind of data wants."""


def data_of(model: ModelConfig) -> Kind:
    """Which kind of data a model wants."""
    if isinstance(model, Seq2Seq | Transducer):
        return "captions" if isinstance(model.encoder, Vision) else "pairs"
    return next(data for data, wants in WANTS.items() if wants == model.kind)


def kind_for(recipe: Recipe) -> Kind:
    """Which examples a recipe's data holds: as it says itself, or as its model wants, or by the data's name."""
    where, said = recipe.data.train, recipe.data.kind
    if said == "auto":
        return kind_of(where, None if isinstance(recipe.model, str) else data_of(recipe.model))
    found = kind_of(where, said)
    if found != said:
        raise UserError(f"data.kind says {said}, but {where} holds {found}; change one of them")
    return found


def labels_in(kind: Kind, examples: Sequence[Any]) -> Labels:
    """The names of all classes or tags."""
    return Labels.learn([name for e in examples for name in (e.tags if kind == "tags" else [e.label])])


def encode(
    kind: Kind, examples: Sequence[Any], tokenizers: tuple[Tokenizer, Tokenizer]
) -> tuple[list[list[int]], list[list[int]]]:
    """Both sides' tokens. Tags stand beside the tokens of their words."""
    source, target = tokenizers
    if kind != "tags":
        return source.encode_all([e.source for e in examples]), target.encode_all([e.target for e in examples])
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for words, tags in examples:
        pieces = pieces_of_words(source, words)
        sides[0].append([token for word in pieces for token in word])
        sides[1].append(in_step(pieces, [target.encode(tag)[0] for tag in tags]))
    return sides


def sides_of(data: Data, part: Split) -> tuple[Where, Split | None]:
    """Where a part of the data is, and which split of it to read."""
    name = data.train if isinstance(data.train, str) else ""
    if name in CORPORA and not getattr(data, part):
        return data.train, part
    return getattr(data, part), None


def has_own_held_out(data: Data) -> bool:
    return bool(data.valid) or data.train in CORPORA


def reasons(skipped: Counter[str]) -> str:
    """What was left out, and how much of each."""
    return ", ".join(f"{number} {reason}" for reason, number in skipped.items())


def learn_tokenizer(path: Path, recipe: Recipe, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer for these texts, saved."""
    train = Lower.train if recipe.text.lower else train_tokenizer
    tokenizer = train(recipe.text.kind, list(_sample(texts)), recipe.text.size or None)
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
