"""Attention between tokens, merged into the words that people see."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from regard.decode.translate import Alignment, Translation
from regard.look.alignment import attention_to_source
from regard.models.model import Model
from regard.text import START, STOP, Tokenizer
from regard.text.special import NAMES

_BLANKS = b" \t\n\r\v\f"


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
    columns = _membership([*source_owners, -1], len(source)).to(weights)
    rows = _membership(target_owners, len(target)).to(weights)
    return Alignment(source, target, rows.T @ weights @ columns / rows.sum(0).clamp(min=1)[:, None])


def pharaoh(alignment: Alignment) -> str:
    """`0-0 1-2 …`: for each word written, the word read that it looked at most, counted from 0, source first.

    A word that looked more at what is no word than at any word has no link.
    """
    links = []
    for t, row in enumerate(alignment.weights.tolist()):
        best = max(range(len(row)), key=row.__getitem__)
        if row[best] > 1 - sum(row):
            links.append(f"{best}-{t}")
    return " ".join(links)


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


def words_of(tokenizer: Tokenizer, text: str, tokens: Sequence[int]) -> tuple[list[str], list[int]]:
    """The words of a text, between blanks, and to which of them each token belongs; −1: to none."""
    words = [word.decode() for word in text.encode().split()]
    pieces = tokenizer.pieces(tokens)
    if b"".join(pieces) != text.encode():  # a tokenizer that changes the text still cuts it word by word
        counts = [len(tokenizer.encode(word)) for word in words]
        if sum(counts) == len(tokens):
            return words, [word for word, count in enumerate(counts) for _ in range(count)]
        words = [word.decode(errors="replace") for word in b"".join(pieces).split()]
    owners, begun, inside = [], 0, False  # words begun so far, and whether the last byte was in one
    for piece in pieces:
        owner = begun - inside  # a token that adds nothing yet belongs to what comes
        found = bool(piece) and not piece.strip(_BLANKS)
        for byte in piece:
            if byte in _BLANKS:
                inside = False
            elif not inside:
                begun, inside = begun + 1, True
        if piece.strip(_BLANKS):
            owner = begun - 1
        owners.append(-1 if found or owner >= len(words) else owner)
    return words, owners


def _membership(owners: Sequence[int], count: int) -> Float[Tensor, "tokens words"]:
    """1 where a token belongs to a word."""
    return (torch.tensor(owners)[:, None] == torch.arange(count)).float()
