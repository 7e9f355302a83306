"""A text as a model reads it: its tokens, and what a property says at each of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import UserError
from regard.look.find.properties import Property
from regard.text.tokenizer import Tokenizer


class LabelledText(NamedTuple):
    """A text as the model reads it."""

    tokens: Int[Tensor, " N"]
    text: str
    last: NDArray[np.int64]
    """The place in the text of the last character that each token completed."""
    documents: tuple[int, ...]
    """Where each document ends in the text."""

    @property
    def middle(self) -> int:
        """The token at which the second part begins: where a document ends, if one does in the middle third."""
        tokens = len(self.tokens)
        ends = np.searchsorted(self.last, self.documents)
        near = [int(end) for end in ends if tokens / 3 < end < tokens * 2 / 3]
        return min(near, key=lambda end: abs(end - tokens // 2), default=tokens // 2)

    def labels(self, name: str, found: Property) -> NDArray[Any]:
        """A property's label for each token: that of the last character it completed. Documents are read apart."""
        begins = (0, *self.documents[:-1])
        each = [np.asarray(found(self.text[begin:end])) for begin, end in zip(begins, self.documents, strict=True)]
        for labels, begin, end in zip(each, begins, self.documents, strict=True):
            if labels.shape != (end - begin,):
                raise UserError(
                    f"property '{name}' must give one label for each of {end - begin} characters, "
                    f"found an array of shape {list(labels.shape)}"
                )
        return np.concatenate(each)[self.last]


def labelled(tokenizer: Tokenizer, documents: Sequence[str]) -> LabelledText:
    """The tokens of some documents, one behind the other, and the text that they stand for."""
    encoded = tokenizer.encode_all(list(documents))
    pieces = [piece for tokens in encoded for piece in tokenizer.pieces(tokens)]
    text = b"".join(pieces).decode(errors="replace")
    ends = np.cumsum([len(piece) for piece in pieces])
    # A character is complete with its last byte, before one that does not go on with it (bits 10…).
    opens = np.frombuffer(text.encode(), np.uint8) & 0xC0 != 0x80
    completed = np.append(np.flatnonzero(opens)[1:], len(opens))  # bytes read when each character is complete
    last = np.searchsorted(completed, ends, side="right") - 1
    sizes = [len(b"".join(tokenizer.pieces(tokens)).decode(errors="replace")) for tokens in encoded]
    return LabelledText(
        torch.tensor([token for tokens in encoded for token in tokens]),
        text,
        last.clip(min=0),
        tuple(np.cumsum(sizes).tolist()),
    )
