"""What another program's files hold, whatever their format: facts, tensors and a tokenizer."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from torch import Tensor

from regard.errors import UserError

Word = TypeVar("Word", bound=str)
LARGEST, DEEPEST = 1 << 24, 1 << 10  # no width or vocabulary, and no number of layers, is above these

LONGEST, ENDS = 700, 200  # letters of a refusal; of its end, which says what to do


class Tensors(Protocol):
    """Tensors by name, read when they are asked for."""

    def names(self) -> Iterable[str]: ...
    def read(self, name: str) -> Tensor: ...


@dataclass(frozen=True)
class Facts:
    """What a model says of itself. What is asked for is checked, and what cannot be had is refused by key and value."""

    values: Mapping[str, Any]
    within: str = ""
    """Of a table inside: its name and a dot."""

    def whole(self, key: str, default: int | None = None, most: int = LARGEST) -> int:
        """A whole number above 0."""
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise UserError(f"{self.within}{key} must be a whole number from 1 to {most}, found {_short(value)}")
        return value

    def layers(self, key: str) -> int:
        """How many layers there are."""
        return self.whole(key, most=DEEPEST)

    def number(self, key: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise UserError(f"{self.within}{key} must be a number above 0, found {_short(value)}")
        return float(value)

    def truth(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise UserError(f"{self.within}{key} must be true or false, found {_short(value)}")
        return value

    def choice(self, key: str, known: Mapping[str, Word], default: str | None = None) -> Word:
        """What one of these words means here."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in known:
            raise self.refused(key, f"with one of {', '.join(known)}")
        return known[value]

    def must_be(self, key: str, *allowed: Any) -> None:
        """Refuses a setting that changes what is computed, unless it is left out or one of these."""
        value = self.values.get(key)
        if value is not None and not any(value == one and type(value) is type(one) for one in allowed):
            raise self.refused(key, f"with {' or '.join(map(repr, allowed))}" if allowed else "without it")

    def token(self, key: str, size: int) -> int | None:
        """The id of a special token; of several, the first."""
        value = self.values.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
            raise UserError(f"{self.within}{key} must be a token from 0 to {size - 1}, found {_short(value)}")
        return value

    def refused(self, key: str, wanted: str) -> UserError:
        found = _short(self.values.get(key))
        return UserError(f"{self.within}{key} is {found}, which cannot be had exactly; take a model {wanted}")


class TokenSet(NamedTuple):
    """How texts are cut into tokens."""

    tokenizer: dict[str, Any]
    """As a tokenizer.json has it."""
    numbers: Mapping[str, int] | None = None
    """The id of each token by its name, where a list of its own says them."""


@dataclass(frozen=True)
class Package:
    """All that a format's reader hands on, in the words of Hugging Face's class of the family."""

    where: str
    """The file that says what the model is, for people."""
    format: str
    family: str
    facts: Facts
    tensors: Tensors
    files: tuple[Path, ...]
    """Where the weights are, for the checksum."""
    tokenizer: dict[str, Any] | None = None
    """As a tokenizer.json has it."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """Which of its tokens are special, by their role: bos_token, cls_token, …; and add_bos_token."""
    licence: str = ""
    chat_template: str = ""
    """How a conversation is written: Jinja, which nobody runs here."""
    pooling: Mapping[str, Any] = field(default_factory=dict)
    """Of an encoder on its own: what it makes one vector by, as sentence-transformers says it; none: nobody says."""
    numbers: Mapping[str, int] | None = None
    """The id of each token by its name, where a list beside the tokenizer says them."""
    source: TokenSet | None = None
    """Of a translator that reads in another way than it writes: how it reads."""

    @property
    def reading(self) -> "Package":
        """The same, with the tokenizer of what is read as its tokenizer."""
        return self if self.source is None else replace(self, source=None, **self.source._asdict())


@contextmanager
def in_one_line() -> Iterator[None]:
    """A refusal that people can read, whatever the broken names in it: nothing invisible, and no kilobytes of it."""
    try:
        yield
    except UserError as error:
        said = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(error))
        raise UserError(said if len(said) <= LONGEST else f"{said[: LONGEST - ENDS]}…{said[-ENDS:]}") from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
