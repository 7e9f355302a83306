"""Captions: pictures and what is said of them into the run folder, and what a model says against what people said."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from regard.config import Pictures, Recipe, from_table, to_table
from regard.data import store
from regard.data.album import Album, read_album, write_counts
from regard.data.captions import Captioned, readable
from regard.data.corpus import Split, Where, held_out, read_captions
from regard.data.images import Pixels, write_pictures
from regard.data.store import Store
from regard.errors import UserError
from regard.runs import Folder, Run
from regard.text import Tokenizer
from regard.train.cider import SIGNATURE, cider
from regard.train.examples import has_own_held_out, learn_tokenizer, reasons, sides_of
from regard.train.metrics import Score, bleu_of_several, chrf_of_several


def prepare_captions(folder: Folder, recipe: Recipe) -> dict[str, Any]:
    """Tokenizer, tokens of captions, and pixels as bytes. Pictures that cannot be read are left out and counted."""
    data, own = recipe.data, has_own_held_out(recipe.data)
    skipped: Counter[str] = Counter()

    def examples(part: Split) -> Iterator[Captioned]:
        where, split = sides_of(data, part) if own else (data.train, None)
        found = read_captions(where, split, recipe.pictures.folder)
        if not own:  # by the picture's name, so that no picture is on both sides
            found = (e for e in found if held_out(e.name, data.share) == (part == "valid"))
        return itertools.islice(found, (data.limit or None) if part == "train" else None)

    texts = (caption for example in examples("train") for caption in example.captions)
    tokenizer = learn_tokenizer(folder.tokenizer, recipe, texts)
    facts: dict[str, Any] = {"pictures": to_table(recipe.pictures)}
    for part in ("train", "valid"):
        pictures, size = _write(folder, part, examples(part), tokenizer, recipe, skipped)
        facts |= {f"{part}_pictures": pictures, f"{part}_bytes": size}
    if not facts["train_pictures"]:
        found = reasons(skipped) or "it is empty"
        raise UserError(f"{data.train} has no picture to train on ({found}); check [pictures] folder and the data")
    if not facts["valid_pictures"]:
        raise UserError(f"{data.train} has too few pictures to hold some out; give more, or a [data] valid file")
    return {**facts, "skipped": dict(skipped)}


def _write(
    folder: Folder,
    part: Split,
    examples: Iterator[Captioned],
    tokenizer: Tokenizer,
    recipe: Recipe,
    skipped: Counter[str],
) -> tuple[int, int]:
    """A part's pixels and captions. Returns how many pictures and how many bytes of text they are."""
    tokens: list[list[int]] = []
    counts: list[int] = []
    size = 0

    def pixels() -> Iterator[Pixels]:
        nonlocal size
        for example, found in readable(examples, recipe.pictures.side, skipped):
            encoded = list(zip(example.captions, tokenizer.encode_all(list(example.captions)), strict=True))
            short = [(text, ids) for text, ids in encoded if len(ids) <= recipe.data.longest]
            if len(short) < len(encoded):
                skipped[f"longer than {recipe.data.longest} tokens"] += len(encoded) - len(short)
            if short:
                tokens.extend(ids for _, ids in short)
                counts.append(len(short))
                size += sum(len(text.encode()) for text, _ in short)
                yield found

    write_pictures(folder.tokens(f"{part}.pixels"), pixels())
    write_counts(folder.tokens(f"{part}.counts"), counts)
    store.write(folder.tokens(f"{part}-target"), tokens, tokenizer.vocabulary)
    return len(counts), size


def prepared(folder: Folder, part: Split, facts: dict[str, Any], vocabulary: int) -> tuple[Album, Store]:
    """What `prepare_captions` wrote."""
    settings = from_table(Pictures, facts["pictures"])
    album = read_album(folder.tokens(f"{part}.pixels"), folder.tokens(f"{part}.counts"), settings)
    return album, store.read(folder.tokens(f"{part}-target"), vocabulary)


def gathered_captions(
    run: Run, where: Where, split: Split | None, skipped: Counter[str]
) -> tuple[Album, Store, list[list[str]]]:
    """Other pictures and captions in memory, with the captions as they were written."""
    pictures = run.recipe.pictures
    found = list(readable(read_captions(where, split, pictures.folder), pictures.side, skipped))
    if not found:
        raise UserError(
            f"{where} has no picture that can be read ({reasons(skipped) or 'it is empty'}); check the data"
        )
    references = [list(example.captions) for example, _ in found]
    first = np.cumsum([0, *map(len, references)])
    tokens = run.tokenizer.encode_all([text for each in references for text in each])
    return Album(np.stack([pixels for _, pixels in found]), first, pictures), store.gather(tokens), references


def caption_scores(outputs: Sequence[str], references: Sequence[Sequence[str]], cased: bool = True) -> dict[str, Score]:
    """How close outputs are to what people said, each figure with what it means."""
    if not cased:
        outputs, references = [text.lower() for text in outputs], [[t.lower() for t in each] for each in references]
    right = sum(output in said for output, said in zip(outputs, references, strict=True))
    return {
        **{f"bleu_{order}": bleu_of_several(outputs, references, order, cased) for order in (1, 2, 3)},
        "bleu": bleu_of_several(outputs, references, cased=cased),
        "chrf": chrf_of_several(outputs, references, cased),
        "cider": Score(cider(outputs, references), SIGNATURE),
        "exact": Score(100 * right / max(len(outputs), 1)),
    }
