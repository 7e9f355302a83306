"""Evidence for a finding: held-out text, coloured by what the unit said at each token, the label underlined."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rich.style import Style
from rich.text import Text

from regard.look.find.activations import signals
from regard.look.find.find import Finding, Subject
from regard.look.find.labelled import LabelledText
from regard.look.find.passages import densest
from regard.look.find.properties import Property
from regard.look.pictures.style import ink_on, page, painted, signed

LENGTH = 1500  # tokens shown
BEFORE = 500  # tokens read before them


class Shown(NamedTuple):
    """A token's text, how far the unit was from its mean (−1 to 1, in two standard deviations), and the label."""

    text: str
    value: float
    label: float


def evidence(subject: Subject, reading: LabelledText, finding: Finding, found: Property) -> list[Shown]:
    """The held-out stretch in which the label changes most often, as the unit saw it; short texts have a line each."""
    labels = reading.labels(finding.property, found)
    passage, middle = reading.passage, reading.middle
    held = labels[middle:]
    where = densest(np.append(held[1:] != held[:-1], False), min(LENGTH, len(held)))
    begin = max(middle, passage.boundary(middle + int(where[0])))
    end = max(passage.boundary(begin + len(where)), begin + 1)
    first = begin if passage.apart else begin - min(BEFORE, begin)
    part = passage.cut(first, end)
    row = signals(subject.model, part, [finding.stream], 1, lambda items, *_: iter(items))[0, begin - first :]
    values = ((row.astype(float) - finding.mean) / (2 * finding.spread or 1)).clip(-1, 1)
    lasts = reading.last[begin - 1 : end] if begin else np.append(-1, reading.last[:end])
    texts = [reading.text[left + 1 : right + 1] for left, right in pairwise(lasts)]
    if passage.apart:
        ends = {*reading.documents}
        texts = [text + "\n" * (right + 1 in ends) for text, right in zip(texts, lasts[1:].tolist(), strict=True)]
    return [Shown(*one) for one in zip(texts, values.tolist(), _level(labels[begin:end]).tolist(), strict=True)]


def _level(labels: np.ndarray) -> np.ndarray:
    """0 to 1: what is underlined, and how strongly."""
    if not np.issubdtype(labels.dtype, np.number) and labels.dtype != bool:
        labels = np.unique(labels, return_inverse=True)[1]
    return labels.astype(float) / max(1.0, float(labels.max()))


def as_text(shown: Iterable[Shown]) -> Text:
    """For a terminal."""
    text = Text()
    for one in shown:
        colour = signed(one.value)
        style = Style(color=ink_on(colour), bgcolor=colour, underline=one.label > 0)
        text.append(one.text.replace("\t", "    "), style)
    return text


def as_page(pairs: Sequence[tuple[Finding, Sequence[Shown]]], made_by: str = "") -> str:
    """For a browser: one page that needs nothing else."""
    parts = [
        "<p>Blue: the unit is above its mean, orange: below it. Underlined: the property holds; for a number, the "
        "darker the more. The figures are of text that had no part in choosing the unit; they say what it follows, not "
        "why it answers.</p>\n"
    ]
    for finding, shown in pairs:
        low, high = finding.interval
        verdict = f"fails: {', '.join(finding.failed)}" if finding.failed else "passes every control"
        spans = "".join(painted(one.text, signed(one.value), f"{2 * one.value:+.2f}", _line(one)) for one in shown)
        parts.append(
            f"<h2>{escape(finding.property)}: {escape(finding.named)}</h2>\n<p>{finding.measure} {finding.score:.3f} "
            f'({low:.3f} to {high:.3f}), {verdict}</p>\n<pre class="text">{spans}</pre>\n'
        )
    return page("regard find: units that follow a property of the text", "".join(parts), made_by=made_by)


def _line(one: Shown) -> str:
    """Under the text, in the colour that the text has there."""
    strong = f"color-mix(in srgb, currentcolor {100 * one.label:.0f}%, transparent)"
    return f";box-shadow:inset 0 -2px {strong}" if one.label > 0 else ""
