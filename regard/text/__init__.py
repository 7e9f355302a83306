"""Between text and numbers: one small class for each way of cutting text into tokens, learnt on the user's own text."""

from regard.special import PADDING, START, STOP, UNKNOWN
from regard.text.files import load, save
from regard.text.kinds import KINDS, train_tokenizer, train_without_capitals
from regard.text.labels import Labels
from regard.text.lower import Lower
from regard.text.tokenizer import Tokenizer

__all__ = [
    "KINDS",
    "PADDING",
    "START",
    "STOP",
    "UNKNOWN",
    "Labels",
    "Lower",
    "Tokenizer",
    "load",
    "save",
    "train_tokenizer",
    "train_without_capitals",
]
