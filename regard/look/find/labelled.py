"""A text as a model reads it: its tokens, and what a property says at each of them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import UInt64
from numpy.typing import NDArray

from regard.layers.tap import SOURCE
from regard.look.find.ngrams import AROUND, LAST, LONGEST, contexts
from regard.look.find.passages import Answered, LongText, Passage, ShortTexts
from regard.look.find.properties import Property, as_labels
from regard.text.tokenizer import Tokenizer

GAP = "\0" * LONGEST  # between short texts: nothing that is counted reaches over it


class LabelledText(NamedTuple):
    """A text as the model reads it."""

    passage: Passage
    text: str
    last: NDArray[np.int64]
    """The place in the text of the last character that each token completed."""
    documents: tuple[int, ...]
    """Where each document ends in the text."""

    @property
    def middle(self) -> int:
        """The token at which the second part begins: where a document ends, if one does in the middle third."""
        tokens = len(self.passage)
        ends = np.searchsorted(self.last, self.documents)
        near = [int(end) for end in ends if tokens / 3 < end < tokens * 2 / 3]
        return self.passage.boundary(min(near, key=lambda end: abs(end - tokens // 2), default=tokens // 2))

    @property
    def texts(self) -> list[str]:
        """The documents, each by itself."""
        begins = (0, *self.documents[:-1])
        return [self.text[begin:end] for begin, end in zip(begins, self.documents, strict=True)]

    def labels(self, name: str, found: Property) -> NDArray[Any]:
        """A property's label for each token: that of the last character it completed. Documents are read apart."""
        each = [as_labels(f"'{name}'", found(text), text) for text in self.texts]
        return np.concatenate(each)[self.last]

    def contexts(self) -> list[UInt64[np.ndarray, " N"]]:
        """What stands next to each token, more and more of it: the last characters, or those around in a source.

        Where texts are read apart, none of it is another's.
        """
        if not self.passage.apart:
            return contexts(self.text, self.last)
        document = np.searchsorted(self.documents, self.last, "right")
        offsets = AROUND if self.passage.sequence == SOURCE else LAST
        return contexts(GAP + "".join(text + GAP for text in self.texts), self.last + LONGEST * (document + 1), offsets)


def labelled(tokenizer: Tokenizer, documents: Sequence[str]) -> LabelledText:
    """The tokens of some documents, one behind the other, and the text that they stand for."""
    encoded = tokenizer.encode_all(list(documents))
    return _labelled(tokenizer, LongText(torch.tensor([token for tokens in encoded for token in tokens])), encoded)


def labelled_apart(tokenizer: Tokenizer, examples: Iterable[Answered], side: str) -> LabelledText:
    """One side of these examples. A text that comes twice is read once, one without a token not at all."""
    every = ShortTexts([*examples], side)
    different = {tuple(every.tokens_of(one).tolist()): one for one in reversed(every.examples)}
    chosen = ShortTexts([different[key] for key in reversed(different) if key], side)
    return _labelled(tokenizer, chosen, [chosen.tokens_of(one).tolist() for one in chosen.examples])


def _labelled(tokenizer: Tokenizer, passage: Passage, encoded: Sequence[Sequence[int]]) -> LabelledText:
    each = [tokenizer.pieces(tokens) for tokens in encoded]
    pieces = [piece for several in each for piece in several]
    text = b"".join(pieces).decode(errors="replace")
    ends = np.cumsum([len(piece) for piece in pieces])
    # A character is complete with its last byte, before one that does not go on with it (bits 10…).
    opens = np.frombuffer(text.encode(), np.uint8) & 0xC0 != 0x80
    completed = np.append(np.flatnonzero(opens)[1:], len(opens))  # bytes read when each character is complete
    last = np.searchsorted(completed, ends, side="right") - 1
    sizes = [len(b"".join(several).decode(errors="replace")) for several in each]
    return LabelledText(passage, text, last.clip(min=0), tuple(np.cumsum(sizes).tolist()))
