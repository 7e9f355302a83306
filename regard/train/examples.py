"""From examples with two sides to tokens: pairs, texts with a label, words with tags."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from regard.config import Recipe, Where
from regard.data.corpus import Split, kind_of, read_labelled, read_pairs, read_tagged
from regard.data.examples import Kind
from regard.errors import UserError
from regard.text import Labels, Tokenizer
from regard.text.labels import in_step, pieces_of_words

Reader = Callable[[Where, Split | None, Counter[str] | None], Iterator[Any]]
READERS: dict[Kind, Reader] = {"pairs": read_pairs, "labels": read_labelled, "tags": read_tagged}
WANTS: dict[Kind, str] = {"text": "language-model", "pairs": "seq2seq", "labels": "classifier", "tags": "tagger"}
"""Which kind of model each kind of data wants."""
DATA: dict[str, Kind] = {model: data for data, model in WANTS.items()}


def kind_for(recipe: Recipe) -> Kind:
    """Which examples a recipe's data holds: as it says itself, or as its model wants, or by the data's name."""
    where, said = recipe.data.train, recipe.data.kind
    if said == "auto":
        return kind_of(where, None if isinstance(recipe.model, str) else DATA[recipe.model.kind])
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
