"""Attention between tokens, merged into the words that people see."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from regard.decode.translate import Alignment, Translation
from regard.look.align.error_rate import Link, as_links
from regard.look.align.weights import attention_to_source
from regard.models.model import Model
from regard.special import NAMES, START, STOP
from regard.text.tokenizer import Tokenizer


def align(model: Model, tokenizers: tuple[Tokenizer, Tokenizer], line: str, made: Translation) -> Alignment:
    """Where the model looked in a line while it wrote its translation: one parallel pass, under taps.

    Words are what blanks separate. A word's weight is the sum over its tokens in the source, the mean over those in
    the translation. What was looked at and is no word (the end of the source) is left out: a row sums to at most 1.
    """
    reader, writer = tokenizers
    read = reader.encode(line) if line.strip() else []
    if not read or not made.tokens:
        return Alignment([], [], torch.zeros(0, 0))
    fed = torch.tensor([START, *made.tokens[:-1]])
    weights = attention_to_source(model, torch.tensor([*read, STOP]), fed)
    source, source_owners = words_of(reader, line, read)
    target, target_owners = words_of(writer, made.text, made.tokens)
    sizes = len(target), len(source)
    return Alignment(source, target, between_words(weights, target_owners, [*source_owners, -1], sizes))


def between_words(
    weights: Float[Tensor, "*K T S"], rows: Sequence[int], columns: Sequence[int], sizes: tuple[int, int]
) -> Float[Tensor, "*K W V"]:
    """The mean over the tokens that look, the sum over those looked at; by the word that each of them belongs to."""
    looking, seen = (_membership(owners, size).to(weights) for owners, size in zip((rows, columns), sizes, strict=True))
    return looking.T @ weights @ seen / looking.sum(0).clamp(min=1)[:, None]


def links(weights: Float[Tensor, "*K T S"]) -> Int[Tensor, "*K T"]:
    """For each word written, the word read that it looked at most; −1 if it looked more at what is no word."""
    if not weights.shape[-1]:
        return torch.full(weights.shape[:-1], -1)
    most, best = weights.double().max(-1)
    return best.where(most > 1 - weights.double().sum(-1), -1)


def links_of(alignment: Alignment) -> frozenset[Link]:
    """For each word written, the word read that it looked at most; none if it looked more at what is no word."""
    return as_links(links(alignment.weights).tolist())


def pharaoh(found: AbstractSet[Link]) -> str:
    """`0-0 1-2 …`: links as they are usually written, counted from 0, source first, in the target's order."""
    return " ".join(f"{source}-{target}" for target, source in sorted((j, i) for i, j in found))


def word_weights(model: Model, tokenizer: Tokenizer, text: str) -> list[tuple[str, float]]:
    """How much of its attention a classifier gave to each word of a text, and to the stop behind it.

    What lies between words and is a token by itself is left out: together they are at most 1.
    """
    tokens = tokenizer.encode(text)
    *weights, at_stop = attention_to_source(model, torch.tensor([*tokens, STOP]), torch.tensor([START]))[0].tolist()
    words, owners = words_of(tokenizer, text, tokens)
    found = [0.0] * len(words)
    for owner, weight in zip(owners, weights, strict=True):
        if owner >= 0:
            found[owner] += weight
    return [*zip(words, found, strict=True), (NAMES[STOP], at_stop)]


def looks(
    model: Model, tokenizer: Tokenizer, picture: UInt8[Tensor, "3 Y X"], caption: Translation
) -> tuple[list[str], Float[Tensor, "T S"]]:
    """The words of a caption, and the weight of every region when each of them was said."""
    weights = attention_to_source(model, picture, torch.tensor([START, *caption.tokens[:-1]]))
    return [tokenizer.decode([token]).strip() for token in caption.tokens], weights


def words_of(
    tokenizer: Tokenizer, text: str, tokens: Sequence[int], known: Sequence[str] | None = None
) -> tuple[list[str], list[int]]:
    """The words of a text and to which of them each token belongs; −1: to none.

    Words are what blanks separate, or those that are known, in their order. A token in several belongs to the last.
    """
    words = list(known) if known is not None else [word.decode() for word in text.encode().split()]
    pieces = tokenizer.pieces(tokens)
    written = b"".join(pieces)
    if written != text.encode():  # a tokenizer that changes the text still cuts it word by word
        counts = [len(tokenizer.encode(word)) for word in words]
        if sum(counts) == len(tokens):
            return words, [word for word, count in enumerate(counts) for _ in range(count)]
        words = [word.decode(errors="replace") for word in written.split()]
        return words, _owners(pieces, written.split())
    return words, _owners(pieces, [word.encode() for word in words])


def _owners(pieces: Sequence[bytes], words: Sequence[bytes]) -> list[int]:
    """The word that each piece of a text spells. One that adds nothing yet belongs to what comes."""
    written = b"".join(pieces)
    of_byte, end = [-1] * len(written), 0
    for number, word in enumerate(words):
        begin = written.index(word, end)
        end = begin + len(word)
        of_byte[begin:end] = [number] * len(word)
    ends = [*accumulate(map(len, pieces))]
    return [max(of_byte[e - len(p) : max(e, e - len(p) + 1)], default=-1) for p, e in zip(pieces, ends, strict=True)]


def _membership(owners: Sequence[int], count: int) -> Float[Tensor, "tokens words"]:
    """1 where a token belongs to a word."""
    return (torch.tensor(owners)[:, None] == torch.arange(count)).float()
