"""What a target is: a format of another program, and what of our models it can hold."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from torch import Tensor

from regard.errors import UserError

if TYPE_CHECKING:
    from regard.runs import Run


class ComparedRow(NamedTuple):
    """What two engines are compared on: what is read, what is fed, and what is wanted after each token fed."""

    source: Tensor | None  # (S,) tokens, or a picture (3, Y, X)
    fed: Tensor  # (T,)
    wanted: Tensor  # (T,)


class Target(ABC):
    """A format of another program."""

    name: ClassVar[str]
    title: ClassVar[str]
    """What people call it."""
    writers: ClassVar[tuple[str, ...]] = ()
    """Packages that write it."""
    engine: ClassVar[str]
    """The package that runs it."""
    compared_on: ClassVar[int] = 200
    """How many rows that engine is held against ours on."""

    @abstractmethod
    def refusal(self, run: "Run") -> str:
        """Why it cannot hold this run's model, in words; nothing: it can."""

    @abstractmethod
    def write(self, run: "Run", place: Path) -> None:
        """The run in this format: a file, or files in a folder that is there and empty."""

    @abstractmethod
    def log_probabilities(self, run: "Run", place: Path, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
        """log p of every token wanted, by the target's own engine."""

    @abstractmethod
    def example(self, run: "Run", place: str) -> str:
        """How somebody uses it, in Python."""

    def check_writers(self) -> None:
        missing = missing_packages(self.writers)
        if missing:
            raise UserError(f"--to {self.name} wants {' and '.join(missing)}, found none; pip install 'regard[export]'")


def missing_packages(names: Sequence[str]) -> list[str]:
    return [name for name in names if find_spec(name) is None]
