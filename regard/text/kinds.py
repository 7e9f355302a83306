"""From a name to a tokenizer: the only place that knows which kinds there are."""

from collections.abc import Iterable

from regard.errors import UserError, unknown
from regard.text.bpe import BPE
from regard.text.characters import Characters
from regard.text.lower import Lower
from regard.text.raw_bytes import Bytes
from regard.text.tokenizer import Learnt, Tokenizer, utf8
from regard.text.words import Words

KINDS: dict[str, type[Learnt]] = {kind.kind: kind for kind in (Characters, Bytes, Words, BPE)}


def train_tokenizer(kind: str, texts: Iterable[str], size: int | None = None) -> Tokenizer:
    """A tokenizer learnt on these texts, the same one each time.

    `size` is the largest vocabulary wanted, special tokens included, for words and bpe; each has its own rule where
    none is given (`SIZE` in its module).
    """
    if kind not in KINDS:
        raise unknown("tokenizer", kind, KINDS)
    smallest = KINDS[kind].smallest
    if size is not None and smallest is None:
        raise UserError(f"a {kind} tokenizer has no size to choose, found {size}; leave size out, or use words or bpe")
    if size is not None and smallest is not None and size < smallest:
        raise UserError(f"size must be at least {smallest} for a {kind} tokenizer, found {size}")
    samples = [texts] if isinstance(texts, str) else list(texts)
    for sample in samples:
        utf8(sample)
    if not any(sample.strip() for sample in samples):
        raise UserError("a tokenizer learns from text, found none; check that the text files are not empty")
    return KINDS[kind].learn(samples, size)


def train_without_capitals(kind: str, texts: Iterable[str], size: int | None = None) -> Lower:
    """As `train_tokenizer`, on the lower case of these texts."""
    return Lower(train_tokenizer(kind, (text.lower() for text in texts), size))
