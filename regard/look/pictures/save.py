"""A view as a file: the ending of its name says which kind."""

import csv
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.config.looking import kind_of_picture
from regard.disk import write_with
from regard.errors import UserError
from regard.look.pictures.paper import PLAIN, Paper
from regard.look.pictures.style import HONEST, drawing, write_figure
from regard.look.pictures.view import View

MOST = 1_000_000  # lines of a CSV file, cells of a JSON file: above, take npz


def save(view: View, path: Path, paper: Paper = PLAIN) -> None:
    """Whole or not at all."""
    with drawing(paper):
        write_with(path, lambda file: KINDS[kind_of_picture(path)](view, file, paper))


def _drawn(kind: str, view: View, path: Path, paper: Paper) -> None:
    write_figure(view.figure(paper.width), path, kind, paper)


def _html(view: View, path: Path, paper: Paper) -> None:
    path.write_text(view.page(paper.made_by), encoding="utf-8", newline="\n")


def _csv(view: View, path: Path, paper: Paper) -> None:
    """Rows and nothing else: there is no place to say what made them."""
    _few(view)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(view.table())


def _json(view: View, path: Path, paper: Paper) -> None:
    _few(view)
    made = {"made_by": paper.made_by} if paper.made_by else {}
    found: dict[str, Any] = {"title": view.title, "note": view.said, **made}
    for name, value in view.numbers().items():
        found[name] = _plain(value.tolist()) if isinstance(value, np.ndarray) else value
    path.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what was masked is null."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and value != value else value


def _npz(view: View, path: Path, paper: Paper) -> None:
    with path.open("wb") as file:
        arrays = {name: np.asarray(value) for name, value in view.numbers().items()}
        arrays |= {"made_by": np.asarray(paper.made_by)} if paper.made_by else {}
        arrays["note"] = np.asarray(f"{view.title}: {HONEST}")
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _few(view: View) -> None:
    cells = sum(value.size for value in view.numbers().values() if isinstance(value, np.ndarray))
    if cells > MOST:
        raise UserError(f"this view has {cells:,} numbers, too many for a text file; save it as npz, or choose a layer")


KINDS: dict[str, Callable[[View, Path, Paper], None]] = {
    **{kind: partial(_drawn, kind) for kind in ("svg", "png", "pdf")},
    "html": _html,
    "json": _json,
    "csv": _csv,
    "npz": _npz,
}
