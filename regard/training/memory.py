"""Examples in memory as a file that training can read: a run folder holds all that it was made from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.config import Where
from regard.data.formats.line import short
from regard.disk import write_text
from regard.errors import UserError

PAIRED = {"pairs": ("source", "target"), "labels": ("label", "text")}
"""What the two sides of an example are called, by the kind of data."""


def named(data: Any) -> Where | None:
    """Data that is a name: of a file, a folder or a built-in corpus, or of two files; None: it is examples."""
    if isinstance(data, str | Path):
        return str(data)
    two = isinstance(data, tuple | list) and len(data) == 2 and all(isinstance(one, str | Path) for one in data)
    if two and (isinstance(data, tuple) or all(Path(one).exists() for one in data)):  # two short texts are no files
        return tuple(map(str, data))
    return None


def on_disk(data: Any, path: Path, kind: str) -> Where:
    """Where training finds this data. Examples are written to the path, unless other ones are there."""
    where = named(data)
    if where is not None:
        return where
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows_of(data, kind))
    if not text:
        raise UserError("data holds no example, found an empty list; give texts, pairs, or the name of a file")
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UserError(f"{path} holds other examples; choose another run, or delete {path.parent}")
    write_text(path, text)
    return str(path)


def rows_of(data: Any, kind: str) -> Iterable[Mapping[str, Any]]:
    """Each example by name. A pandas table says the names itself; pairs are source and target, or label and text."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        data = data.to_dict("records")
    keys = PAIRED.get(kind, PAIRED["pairs"])
    for number, one in enumerate(data, 1):
        if isinstance(one, Mapping):
            yield {str(key): value for key, value in one.items()}
        elif isinstance(one, str):
            yield {"text": one}
        elif isinstance(one, Sequence) and len(one) == 2 and all(isinstance(side, str) for side in one):
            yield dict(zip(keys, one, strict=True))
        else:
            raise UserError(
                f"example {number} must be a text, a pair of texts or a dictionary, found {short(repr(one))}; "
                "make a list of one of these"
            )
