"""What a corpus is made of, and which of its examples are kept from training."""

import hashlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class Pair(NamedTuple):
    """What is read and what is to be answered."""

    source: str
    target: str


class Labelled(NamedTuple):
    """A text and the name of its class."""

    label: str
    text: str

    @property
    def source(self) -> str:
        return self.text

    @property
    def target(self) -> str:
        return self.label


class Tagged(NamedTuple):
    """The words of a sentence, and a tag for each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def source(self) -> str:
        return " ".join(self.words)

    @property
    def target(self) -> str:
        return " ".join(self.tags)


class Captioned(NamedTuple):
    """A picture with everything that is said of it. The pixels are not there until they are asked for."""

    name: str
    captions: tuple[str, ...]
    pixels: Callable[[int], Any]
    """The picture (3, side, side), for a number of pixels on each side."""


def held_out(key: str, share: float) -> bool:
    """Whether the example with this text or file name is kept from training: so for about `share` of all keys.

    Nothing but the key decides, so equal texts are always on the same side, on every machine and in every order, and
    what a small share holds out, a larger one holds out too.
    """
    return place(key) < share


def own_split(key: str) -> Split:
    """Where a built-in corpus puts an example: 90 in 100 to train, 5 to valid, 5 to test."""
    at = place(f"built in: {key}")  # a place of its own, or `held_out` would find nothing in "train" to hold out
    return "test" if at < 0.05 else "valid" if at < 0.1 else "train"


def place(key: str) -> float:
    """Where a key falls between 0 and 1: evenly spread over keys, and the same for the same key, always."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48
