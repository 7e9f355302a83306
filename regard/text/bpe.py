"""Text as frequent runs of bytes, learnt by merging: byte-pair encoding. (Sennrich et al. 2016, Radford et al. 2019)"""

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Self

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from regard.special import NAMES
from regard.text.tokenizer import Learnt, utf8

SIZE = 8000
SEEN = 50
"""Where no size is asked for: at most 8000 ids, and each learnt token stood at least 50 times in the text when it was
learnt, so the vocabulary grows with the text. A longer token learnt later can still take most of those places."""

WORD = re.compile(r"(?=[ \n]\w)")
"""Where a text can be cut without a token changing: no merge reaches over the last blank before a word."""
KEPT, SHORT = 100_000, 40
"""How many words are remembered with their tokens, and how many characters they have at most."""


def _alphabet() -> dict[int, str]:
    """The library spells each byte as one printable character: itself, or one from U+0100 up, in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte if byte in printable else 0x100 + others.index(byte)) for byte in range(256)}


ALPHABET = _alphabet()
BYTE = {character: byte for byte, character in ALPHABET.items()}


class BPE(Learnt):
    """Bytes have the ids 4 to 259; the merges follow, in the order in which they were learnt."""

    kind = "bpe"
    smallest = len(NAMES) + 256

    def __init__(self, merges: list[tuple[str, str]]) -> None:
        # A dict, for two merges can give one token: a + aa, aa + a.
        tokens = dict.fromkeys([*ALPHABET.values(), *(left + right for left, right in merges)])
        if not all(part in tokens for merge in merges for part in merge):
            raise ValueError("a merge joins a token that no merge makes")
        super().__init__(bytes(BYTE[character] for character in token) for token in tokens)
        self._merges = merges
        # A blank is not in the alphabet, so no text spells a special token.
        ids = {token: number for number, token in enumerate([*(f" {name}" for name in NAMES), *tokens])}
        self._library = _library(models.BPE(vocab=ids, merges=merges))
        self._known: dict[str, list[int]] = {}

    @classmethod
    def learn(cls, texts: Sequence[str], size: int | None) -> Self:
        trainer = trainers.BpeTrainer(
            vocab_size=(size or SIZE) - len(NAMES),
            min_frequency=2 if size else SEEN,
            initial_alphabet=list(ALPHABET.values()),
            show_progress=False,
        )
        learner = _library(models.BPE())
        learner.train_from_iterator(texts, trainer)
        merges = json.loads(learner.to_str())["model"]["merges"]
        return cls([(left, right) for left, right in merges])

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        pairs = [merge.split(" ") for merge in data["merges"]]
        return cls([(left, right) for left, right in pairs])

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "merges": [" ".join(merge) for merge in self._merges]}

    def encode(self, text: str) -> list[int]:
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Each word goes through the library once and is then remembered: most of a long text has been seen before."""
        for text in texts:
            utf8(text)
        words = [WORD.split(text) for text in texts]
        every, known = set(chain.from_iterable(words)), self._known
        found = {word: known[word] for word in every if word in known}
        new = [*(every - found.keys())]
        found |= zip(new, (one.ids for one in self._library.encode_batch_fast(new)), strict=True)
        if len(known) < KEPT:
            known |= {word: found[word] for word in new if len(word) <= SHORT}
        return [[*chain.from_iterable(map(found.__getitem__, some))] for some in words]


def _library(model: models.BPE) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return library
