"""What a picture is made for: how wide, in whose style, and by which command, which it carries with it."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import UserError

STYLED = re.compile(
    r"(?:axes|axes3d|font|xtick|ytick|lines|markers|grid|legend|hatch|patch|mathtext|errorbar|scatter)\..+"
    r"|text\.color|figure\.(?:facecolor|edgecolor)"
)  # what a style may say: how things look, and nothing of programs, files, sizes of the paper or what is computed
CYCLE = "axes.prop_cycle"


def style_in(path: Path) -> dict[str, Any]:
    """The settings of a matplotlib style, read as data: nothing in it is evaluated."""
    from matplotlib import RcParams

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read the style {path}: {error}; give a file of lines such as font.family: serif"
        ) from None
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        name, colon, value = (part.strip() for part in re.sub(r"(?<!['\"])#.*", "", line).partition(":"))
        if not name:
            continue
        where = f"line {number} of {path}"
        if not colon or not STYLED.fullmatch(name):
            raise UserError(f"{where}: a style may set fonts, axes, ticks, lines, grids and legends, found '{name}'")
        try:
            checked: Any = {} if name == CYCLE else RcParams({name: value.strip("'\"")})
            found[name] = _cycle(value) if name == CYCLE else checked[name]
        except (ValueError, KeyError, SyntaxError, TypeError) as error:
            raise UserError(f"{where}: {' '.join(str(error).split())[:200]}; see matplotlib's style sheets") from None
    return found


def _cycle(value: str) -> Any:
    """cycler('color', ['b', 'g', …]) or cycler(color=[…]): colours alone, written out."""
    from cycler import cycler
    from matplotlib.colors import is_color_like

    match = re.fullmatch(r"cycler\(\s*(?:['\"]color['\"]\s*,|color\s*=)\s*(\[.*\])\s*\)", value)
    colours = ast.literal_eval(match[1]) if match else None
    if not colours or not all(isinstance(one, str) and is_color_like(one) for one in colours):
        raise ValueError(f"{CYCLE} wants cycler('color', [...]) with colours, found {value}")
    return cycler(color=colours)


@dataclass(frozen=True)
class Paper:
    """How a picture shall look, and what made it."""

    width: float | None = None
    """Inches; None: as wide as it wants to be, A4 less its margins at most."""
    style: dict[str, Any] = field(default_factory=dict)
    made_by: str = ""
    """The command, the run and the checksum of its weights."""

    def metadata(self, kind: str) -> dict[str, Any]:
        """As each kind of file has it; nothing in a file depends on when it was made."""
        undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        name = {"svg": "Description", "pdf": "Subject", "png": "Description"}[kind]
        return undated.get(kind, {}) | ({name: self.made_by} if self.made_by else {})


PLAIN = Paper()
