"""From files to tokens in the run folder, once; a resumed run reads what the first one wrote."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from regard.config import Data, Recipe
from regard.data import store
from regard.data.corpus import Pair, Split, held_out, read_texts
from regard.data.examples import Kind
from regard.data.store import Store
from regard.disk import write_text
from regard.errors import UserError
from regard.runs import Folder
from regard.text import START, STOP, Labels, Tokenizer, load, save
from regard.train.captions import prepare_captions, prepared
from regard.train.defaults import model_for
from regard.train.examples import (
    READERS,
    WANTS,
    data_of,
    encode,
    has_own_held_out,
    kind_for,
    labels_in,
    learn_tokenizer,
    reasons,
    sides_of,
)
from regard.train.start_from import start_from

AT_ONCE = 1000  # pairs encoded together


@dataclass(frozen=True)
class Material:
    """What a model learns from and is judged by, as tokens."""

    kind: Kind
    train: tuple[Any, ...]  # (text,) or (source, target), each a Store, or an Album where the source is pictures
    valid: tuple[Any, ...]
    valid_bytes: int  # of what is to be predicted, in UTF-8
    facts: dict[str, Any]

    @property
    def train_tokens(self) -> int:
        return sum(len(part.tokens) for part in self.train if isinstance(part, Store))


def prepare(folder: Folder, recipe: Recipe) -> Recipe:
    """Tokenizers, tokens and config.toml in the folder. Returns the recipe with every choice made."""
    kind = kind_for(recipe)
    if not isinstance(recipe.model, str) and data_of(recipe.model) != kind:
        reads = " that reads pictures" if kind == "captions" else ""
        raise UserError(
            f"data.train holds {kind}, which wants a model of kind '{WANTS[kind]}'{reads}, "
            f"found '{recipe.model.kind}'; change [model], or the data"
        )
    recipe = start_from(folder, recipe)
    if kind == "text":
        facts = _prepare_text(folder, recipe)
    elif kind == "captions":
        facts = prepare_captions(folder, recipe)
    else:
        facts = _prepare_examples(folder, recipe, kind)
    write_text(folder.tokens("facts.json"), json.dumps({"kind": kind, **facts}) + "\n")
    if isinstance(recipe.model, str):
        tokens = material(folder).train_tokens
        recipe = replace(recipe, model=model_for(recipe.model, kind, tokens))
    folder.write_config(recipe)  # last: it says that all the rest is there
    return recipe


def material(folder: Folder) -> Material:
    """What `prepare` put in the folder."""
    try:
        facts = json.loads(folder.tokens("facts.json").read_text())
    except FileNotFoundError:
        raise UserError(
            f"{folder.tokens('')} is not complete, so the run has no data of its own; copy it whole, or name other data"
        ) from None
    sizes = [load(folder.tokenizer).vocabulary]
    if facts["kind"] == "text":
        train = store.read(folder.tokens("train"), sizes[0])
        if not facts["cut"]:
            valid = store.read(folder.tokens("valid"), sizes[0])
        else:
            train, valid = train.cut(facts["cut"])
        return Material("text", (train,), (valid,), facts["valid_bytes"], facts)
    if facts["kind"] == "captions":
        train_album, valid_album = (prepared(folder, part, facts, sizes[0]) for part in ("train", "valid"))
        return Material("captions", train_album, valid_album, facts["valid_bytes"], facts)
    if folder.source_tokenizer.exists():
        sizes.insert(0, load(folder.source_tokenizer).vocabulary)
    sides = list(zip(("source", "target"), itertools.cycle(sizes), strict=False))

    def both(part: str) -> tuple[Store, ...]:
        return tuple(store.read(folder.tokens(f"{part}-{side}"), size) for side, size in sides)

    return Material(facts["kind"], both("train"), both("valid"), facts["valid_bytes"], facts)


# ---- plain text


def _prepare_text(folder: Folder, recipe: Recipe) -> dict[str, Any]:
    data, own = recipe.data, has_own_held_out(recipe.data)
    several = not own and _has_both_sides(data)
    skipped: Counter[str] = Counter()

    def documents(part: Split) -> Iterator[Iterator[str]]:
        if own:
            where, split = sides_of(data, part)
            chosen = read_texts(where, split, skipped if part == "train" else None)
        elif several:  # whole documents are held out, so that none is on both sides
            found = read_texts(data.train, None, skipped if part == "train" else None)
            chosen = (d for key, d in map(_with_key, found) if held_out(key, data.share) == (part == "valid"))
        else:
            chosen = read_texts(data.train, None) if part == "train" else iter(())
        return itertools.islice(chosen, (data.limit or None) if part == "train" else None)

    tokenizer = learn_tokenizer(folder.tokenizer, recipe, itertools.chain.from_iterable(documents("train")))
    skipped.clear()  # the same files come again, to be encoded
    sizes = {"train": 0, "valid": 0}

    def encoded(part: Split) -> Iterator[list[int]]:
        for document in documents(part):
            tokens = [START]
            for piece in document:
                tokens += tokenizer.encode(piece)
                sizes[part] += len(piece.encode())
                yield tokens
                tokens = []
            yield [*tokens, STOP]

    store.write(folder.tokens("train"), encoded("train"), tokenizer.vocabulary)
    store.write(folder.tokens("valid"), encoded("valid"), tokenizer.vocabulary)
    train = store.read(folder.tokens("train"), tokenizer.vocabulary)
    valid = store.read(folder.tokens("valid"), tokenizer.vocabulary)
    cut = 0
    if len(valid.tokens) < 2:  # one long text: its end is held out
        cut = int(len(train.tokens) * (1 - data.share))
        end = train.tokens[cut:]
        sizes["valid"] = len(tokenizer.decode(end[end != STOP]).encode())
        if cut < 2 or len(train.tokens) - cut < 2:
            raise UserError(
                f"{data.train} has only {len(train.tokens)} tokens, too few to train on and hold {data.share:.0%} out; "
                "give more text, or a [data] valid file"
            )
    return {"cut": cut, "train_bytes": sizes["train"], "valid_bytes": sizes["valid"], "skipped": dict(skipped)}


def _has_both_sides(data: Data) -> bool:
    """Whether there are documents enough that some are held out and some are not."""
    sides = set()
    for key, _ in map(_with_key, read_texts(data.train, None)):
        sides.add(held_out(key, data.share))
        if len(sides) == 2:
            return True
    return False


def _with_key(document: Iterator[str]) -> tuple[str, Iterator[str]]:
    """A document and its beginning: equal documents are held out together."""
    first = next(document, "")
    return first[:1000], itertools.chain([first], document)


# ---- examples with two sides


def _prepare_examples(folder: Folder, recipe: Recipe, kind: Kind) -> dict[str, Any]:
    data, own = recipe.data, has_own_held_out(recipe.data)
    skipped: Counter[str] = Counter()

    def examples(part: Split) -> list[Any]:
        where, split = sides_of(data, part) if own else (data.train, None)
        again = part == "valid" and not own  # the same file: what it lacks is counted once
        found = READERS[kind](where, split, None if again else skipped)
        if not own:  # by the source's text, so that no source is on both sides
            found = (e for e in found if held_out(e.source, data.share) == (part == "valid"))
        return list(itertools.islice(found, (data.limit or None) if part == "train" else None))

    train, valid = examples("train"), examples("valid")
    if kind == "pairs":
        tokenizers = _tokenizers(folder, recipe, train)
    else:  # where one file is cut into both parts, a rare label may be in either
        tokenizers = _tokenizer_and_labels(folder, recipe, train, labels_in(kind, train if own else [*train, *valid]))
    facts: dict[str, Any] = {}
    for part, chosen in (("train", train), ("valid", valid)):
        sides, size = _within(data.longest, kind, chosen, tokenizers, skipped)
        for side, tokens, tokenizer in zip(("source", "target"), sides, tokenizers, strict=True):
            store.write(folder.tokens(f"{part}-{side}"), tokens, tokenizer.vocabulary)
        facts |= {f"{part}_pairs": len(sides[0]), f"{part}_bytes": size}
    name = "pair" if kind == "pairs" else "example"
    if not facts["train_pairs"]:
        raise UserError(f"{data.train} has no {name} to train on ({reasons(skipped) or 'it is empty'}); check the data")
    if not facts["valid_pairs"]:
        raise UserError(f"{data.train} has too few {name}s to hold some out; give more, or a [data] valid file")
    return {**facts, "skipped": dict(skipped)}


def _tokenizers(folder: Folder, recipe: Recipe, train: list[Pair]) -> tuple[Tokenizer, Tokenizer]:
    """Of both sides of pairs, saved."""
    if recipe.text.shared:
        both = learn_tokenizer(folder.tokenizer, recipe, (text for pair in train for text in pair))
        return both, both
    source = learn_tokenizer(folder.source_tokenizer, recipe, (pair.source for pair in train))
    return source, learn_tokenizer(folder.tokenizer, recipe, (pair.target for pair in train))


def _tokenizer_and_labels(
    folder: Folder, recipe: Recipe, train: list[Any], labels: Labels
) -> tuple[Tokenizer, Tokenizer]:
    """Of texts and what they are called, saved. A text that a language model has read keeps its tokens."""
    save(labels, folder.tokenizer)
    if folder.first_weights.exists():
        return load(folder.source_tokenizer), labels
    return learn_tokenizer(folder.source_tokenizer, recipe, (example.source for example in train)), labels


def _within(
    longest: int, kind: Kind, examples: list[Any], tokenizers: tuple[Tokenizer, Tokenizer], skipped: Counter[str]
) -> tuple[tuple[list[list[int]], list[list[int]]], int]:
    """Both sides' tokens of the examples that are not too long, and how many bytes their targets are."""
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    size = 0
    stream = iter(examples)
    while some := list(itertools.islice(stream, AT_ONCE)):
        for example, left, right in zip(some, *encode(kind, some, tokenizers), strict=True):
            if max(len(left), len(right)) > longest:
                skipped[f"longer than {longest} tokens"] += 1
                continue
            sides[0].append(left)
            sides[1].append(right)
            size += len(example.target.encode())
    return sides, size


def skipped_line(facts: dict[str, Any]) -> str:
    """What was left out, for the user; empty if nothing was."""
    return f"left out {reasons(Counter(facts['skipped']))}" if facts["skipped"] else ""
