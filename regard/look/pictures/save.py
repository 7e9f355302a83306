"""A view as a file: the ending of its name says which kind."""

import base64
import csv
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from regard.config.looking import kind_of_picture
from regard.disk import write_with
from regard.errors import UserError
from regard.look.pictures.render import HONEST
from regard.look.pictures.view import View

DOTS = 200  # an inch
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
MOST = 1_000_000  # lines of a CSV file, cells of a JSON file: above, take npz


def save_figure(figure: Figure, path: Path) -> None:
    """As png, svg or pdf, whole or not at all."""
    write_with(path, lambda partial: _drawn(figure, partial, path.suffix[1:]))


def _drawn(figure: Figure, target: Path | io.BytesIO, kind: str) -> None:
    # Text stays text in an SVG; nothing in a file depends on when it was made.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "regard"}), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.savefig(target, format=kind, dpi=DOTS, metadata=UNDATED.get(kind))
    if kind != "svg" and any("missing from font" in str(warning.message) for warning in said):
        warnings.warn("some characters have no shape in the font of pictures; save as svg or html", stacklevel=2)


def as_image(figure: Figure) -> str:
    """A figure inside a page."""
    drawn = io.BytesIO()
    _drawn(figure, drawn, "png")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}">'


def save(view: View, path: Path) -> None:
    """Whole or not at all."""
    write_with(path, lambda partial: KINDS[kind_of_picture(path)](view, partial))


def _html(view: View, path: Path) -> None:
    path.write_text(view.page(), encoding="utf-8", newline="\n")


def _csv(view: View, path: Path) -> None:
    _few(view)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(view.table())


def _json(view: View, path: Path) -> None:
    _few(view)
    found: dict[str, Any] = {"title": view.title, "note": view.said}
    for name, value in view.numbers().items():
        found[name] = _plain(value.tolist()) if isinstance(value, np.ndarray) else value
    path.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _plain(value: Any) -> Any:
    """JSON knows no NaN: what was masked is null."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and value != value else value


def _npz(view: View, path: Path) -> None:
    with path.open("wb") as file:
        arrays = {name: np.asarray(value) for name, value in view.numbers().items()}
        np.savez_compressed(file, **arrays, note=np.asarray(f"{view.title}: {HONEST}"))  # type: ignore[arg-type]


def _few(view: View) -> None:
    cells = sum(value.size for value in view.numbers().values() if isinstance(value, np.ndarray))
    if cells > MOST:
        raise UserError(f"this view has {cells:,} numbers, too many for a text file; save it as npz, or choose a layer")


KINDS: dict[str, Callable[[View, Path], None]] = {
    "svg": lambda view, path: _drawn(view.figure(), path, "svg"),
    "png": lambda view, path: _drawn(view.figure(), path, "png"),
    "pdf": lambda view, path: _drawn(view.figure(), path, "pdf"),
    "html": _html,
    "json": _json,
    "csv": _csv,
    "npz": _npz,
}
