r"""Captions and the pictures that they speak of: from `image<TAB>caption` lines, JSON lines, or Flickr8k's own files.

Flickr8k names an image once for each of its captions (`name.jpg#0<TAB>caption`) and lists the images of each part in
files of their own; both are read as they come.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from regard.data.examples import Captioned
from regard.data.images import Pixels, Unreadable, read_picture
from regard.data.tables import Row
from regard.errors import UserError

NUMBERED = re.compile(r"#\d+$")


def together(
    rows: Iterable[Row], table: Path, folder: Path, listed: Iterable[str] | None = None
) -> Iterator[Captioned]:
    """Rows of (image, caption) by image, in the order of the list, or else as the images first come."""
    said: dict[str, list[str]] = {}
    for number, (image, caption, *_) in rows:
        name = NUMBERED.sub("", image.strip())
        if name not in said and not _within(folder, name):
            raise UserError(
                f"line {number} of {table} names {name}, which is outside the pictures' folder {folder}; "
                "name the folder that all are in with [pictures] folder, or take the line out"
            )
        said.setdefault(name, []).append(" ".join(caption.split()))
    for name in said if listed is None else dict.fromkeys(line.strip() for line in listed if line.strip()):
        if name not in said:
            raise UserError(
                f"image '{name}' is listed, but no line of the captions names it; check that they belong together"
            )
        path = folder / name
        yield Captioned(name, tuple(said[name]), partial(read_picture, path))


def _within(folder: Path, name: str) -> bool:
    """Whether a picture is in a folder, also once links are followed: a table from elsewhere opens no other files."""
    return (folder / name).resolve().is_relative_to(folder.resolve())


def readable(examples: Iterable[Captioned], side: int, skipped: Counter[str]) -> Iterator[tuple[Captioned, Pixels]]:
    """Examples with their pixels. Those that cannot be read are left out, counted, and the first of a kind named."""
    first: dict[str, str] = {}
    missed: Counter[str] = Counter()
    for example in examples:
        try:
            yield example, example.pixels(side)
        except Unreadable as error:
            first.setdefault(error.reason, example.name)
            missed[error.reason] += 1
    for reason, number in missed.items():
        skipped[f"picture {reason} (first: {first[reason]})"] += number
