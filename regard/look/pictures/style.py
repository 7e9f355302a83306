"""The one hand that draws: colours that everybody can tell apart, a figure without a screen, one page for all that is
saved as HTML. matplotlib is loaded when something is drawn, and never asked for a window."""

import base64
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.disk import write_with
from regard.look.pictures.paper import PLAIN, Paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:
    Figure = object

HONEST = "where it looked, not why it answered"
WIDTH = 7.1  # inches: A4 less its margins
DOTS = 200  # an inch
INK, FAINT, GREY, RULE = "#222222", "#666666", "#767676", "#cccccc"
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by everybody, with the dashes below. (Okabe and Ito 2008)"""
DASHES = ("-", "--", "-.", ":")


def blue(share: float) -> str:
    """White to dark blue for 0 to 1, as CSS."""
    return _between((255, 255, 255), (8, 48, 107), min(max(share, 0.0), 1.0) ** 0.8)


def signed(share: float) -> str:
    """Orange below 0, blue above, for −1 to 1."""
    end = (33, 102, 172) if share >= 0 else (230, 97, 1)
    return _between((255, 255, 255), end, min(abs(share), 1.0))


def ink_on(colour: str) -> str:
    """What can be read on a colour: dark or white."""
    red, green, rest = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * rest > 115 else "white"


def _between(first: tuple[int, int, int], last: tuple[int, int, int], share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, last, strict=True))


def shorten(text: str, letters: int) -> str:
    """As much of it as there is room for."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def figure(width: float, height: float) -> Figure:
    """So many inches; it belongs to no window and to no list of open figures, and goes when nobody holds it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(text: str) -> str:
    """For a figure, where $…$ would be read as mathematics."""
    return text.replace("$", r"\$")


def save_figure(drawn: Figure, path: Path, paper: Paper = PLAIN) -> None:
    """As png, svg or pdf by the ending of the name, whole or not at all."""
    write_with(path, lambda partial: write_figure(drawn, partial, path.suffix[1:], paper))


@contextmanager
def drawing(paper: Paper = PLAIN) -> Iterator[None]:
    """What is drawn in this block has the style of that paper; lines go through our colours where it has none."""
    from cycler import cycler
    from matplotlib import rc_context

    wanted: Any = {"axes.prop_cycle": cycler(color=LINES)} | paper.style
    with rc_context(wanted):
        yield


def line_colours() -> list[str]:
    """For lines that stand beside each other, as the style has them."""
    from matplotlib import rcParams

    return [one["color"] for one in rcParams["axes.prop_cycle"]]


def write_figure(drawn: Figure, target: Path | io.BytesIO, kind: str, paper: Paper = PLAIN) -> None:
    """Text stays text in an SVG, and in a PDF its fonts are TrueType, as publishers want them (Type 42, not 3)."""
    from matplotlib import rc_context

    fixed: Any = {"svg.fonttype": "none", "svg.hashsalt": "regard", "pdf.fonttype": 42}
    with drawing(paper), rc_context(fixed), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        drawn.savefig(target, format=kind, dpi=DOTS, metadata=paper.metadata(kind))
    if kind != "svg" and any("missing from font" in str(warning.message) for warning in said):
        warnings.warn("some characters have no shape in the font of pictures; save as svg or html", stacklevel=2)


def as_image(drawn: Figure) -> str:
    """A figure inside a page, as dots."""
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(_bytes(drawn, "png")).decode()}">'


def as_svg(drawn: Figure) -> str:
    """A figure inside a page, as lines and text."""
    text = _bytes(drawn, "svg").decode()
    return text[text.index("<svg") :]


def _bytes(drawn: Figure, kind: str) -> bytes:
    file = io.BytesIO()
    write_figure(drawn, file, kind)
    return file.getvalue()


def painted(text: str, colour: str, title: str, more: str = "") -> str:
    """Some text of a page on a colour."""
    shown = escape(text).replace("\n", "⏎\n")
    return f'<span style="background:{colour};color:{ink_on(colour)}{more}" title="{title}">{shown}</span>'


def page(title: str, body: str, style: str = "", made_by: str = "") -> str:
    """One file that opens by itself, on light and on dark screens: no network, no script."""
    made = f'<meta name="description" content="{escape(made_by)}">\n' if made_by else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{made}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


STYLE = """
:root { color-scheme: light dark;
  --serif: 'Iowan Old Style', 'Palatino Linotype', Palatino, 'Liberation Serif', Georgia, serif;
  --sans: -apple-system, 'Segoe UI', 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  --paper: #fcfbf8; --ink: #201e1a; --soft: #57534b; --faint: #69645a; --line: #e3dfd5;
  --accent: #1b5e96; --warm: #9a4d0c }
@media (prefers-color-scheme: dark) { :root { --paper: #14161a; --ink: #e9e6df; --soft: #b3aea4; --faint: #8d887e;
  --line: #2b2f36; --accent: #7fc1ee; --warm: #f0a45d } }
body { font: 15px/1.5 var(--sans); color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto;
       padding: 0 1.2rem }
h1, h2 { font-family: var(--serif); font-weight: 400; line-height: 1.2 }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem }
a { color: inherit }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8em 0 }
td, th { font-weight: normal; padding: .15em .6em .15em 0; text-align: left } .judged td { font-weight: inherit }
footer, .soft, th { color: var(--soft); font-size: .92em } .number { text-align: right; white-space: nowrap }
.text { font: 14px/1.7 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4 }
img, svg { max-width: 100%; height: auto; background: #ffffff }
"""
