"""`regard caption`, `classify`, `tag` and `embed`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from regard.cli.command import STANDARD, group, option, place
from regard.cli.commands.shared import InBatches, InShards
from regard.config.decoding import Search
from regard.config.looking import PaperWishes
from regard.config.settings import at_least
from regard.errors import UserError
from regard.folder import Folder


@dataclass(frozen=True, kw_only=True)
class CaptionCommand(InShards):
    """What is in each picture, one line for each."""

    examples = """
        regard caption runs/photos dog.jpg beach.png
        regard caption runs/photos dog.jpg --n-best 3
        regard caption runs/photos dog.jpg --save looks.png          (where it looked for each word)"""
    in_one_piece = ("save",)

    images: tuple[Path, ...] = place("IMAGE")
    """JPEG, PNG, WebP, GIF, BMP or TIFF files."""
    search: Search = group(Search())
    ensemble: tuple[Path, ...] = option((), "RUN")
    """Runs that join in."""
    json: bool = False
    """Print a JSON object for each caption."""
    save: Path | None = None
    """The picture once for each word of its best caption, lit where it looked (png, svg, pdf)."""
    paper: PaperWishes = group(PaperWishes())

    def relies_on(self) -> tuple[Path, ...]:
        return (*super().relies_on(), *(Folder(run).weights for run in self.ensemble))

    def items(self) -> Iterable[str]:
        return map(str, self.images)

    def count(self) -> int | None:
        return len(self.images)

    def about(self, items: Sequence[str], folder: Path) -> Self:
        return replace(self, images=tuple(map(Path, items)))

    def check(self) -> None:
        super().check()
        if self.save is not None and self.save.suffix not in (".png", ".svg", ".pdf"):
            raise UserError(f"--save wants a name that ends in .png, .svg or .pdf, found '{self.save}'")


@dataclass(frozen=True, kw_only=True)
class ClassifyCommand(InBatches):
    """The class of each line and its probability, with a tab between them."""

    examples = """
        regard classify runs/films reviews.txt
        echo 'a moving film' | regard classify runs/films --all
        regard classify runs/films reviews.txt --weights          (which words carried the weight)"""

    file: str = place("FILE", STANDARD)
    """Lines to classify; -: standard input, where a terminal is answered line by line."""
    all: bool = False
    """Every class with its probability, the best first."""
    weights: bool = False
    """The words that got most attention, for a run with attention pooling."""
    json: bool = False
    """Print a JSON object for each line."""


@dataclass(frozen=True, kw_only=True)
class TagCommand(InBatches):
    """A tag for each word: lines word<TAB>tag, and a blank line behind each sentence."""

    examples = """
        regard tag runs/parts sentences.txt > tagged.tsv
        echo 'They like it .' | regard tag runs/parts"""

    file: str = place("FILE", STANDARD)
    """A sentence on each line, with a space on both sides of each word; -: standard input."""
    json: bool = False
    """Print a JSON object for each sentence."""


@dataclass(frozen=True, kw_only=True)
class EmbedCommand(InBatches):
    """A vector for each line, its numbers with tabs between them: lines that say alike point alike."""

    examples = """
        regard embed runs/minilm lines.txt > vectors.tsv
        regard embed runs/minilm lines.txt --similar 3          (the lines that say most alike)
        regard embed runs/minilm lines.txt --save vectors.npy"""
    in_one_piece = ("similar", "save")

    file: str = place("FILE", STANDARD)
    """Lines to read; -: standard input."""
    similar: int = at_least(0, 0)
    """Print instead of vectors so many other lines that each is nearest to, with their cosines."""
    json: bool = False
    """Print a JSON object for each line."""
    save: Path | None = None
    """All vectors as one array, a row for each line (npy)."""

    def check(self) -> None:
        super().check()
        if self.save is not None and self.save.suffix != ".npy":
            raise UserError(f"--save wants a name that ends in .npy, found '{self.save}'")
