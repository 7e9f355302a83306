"""Evidence for a finding: held-out text, coloured by what the unit said at each token, the label underlined."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rich.style import Style
from rich.text import Text

from regard.look.find.ablation import densest
from regard.look.find.activations import signals
from regard.look.find.find import Finding, Subject
from regard.look.find.labelled import Reading
from regard.look.find.properties import Property

LENGTH = 1500  # tokens shown
BEFORE = 500  # tokens read before them
WHITE, BLUE, ORANGE = np.array([255, 255, 255]), np.array([67, 147, 210]), np.array([245, 150, 50])


class Shown(NamedTuple):
    """A token's text, how far the unit was from its mean (−1 to 1, in two standard deviations), and the label."""

    text: str
    value: float
    label: float


def evidence(subject: Subject, reading: Reading, finding: Finding, found: Property) -> list[Shown]:
    """The held-out stretch in which the label changes most often, as the unit saw it."""
    labels = reading.labels(finding.property, found)[reading.middle :]
    changing = np.append(labels[1:] != labels[:-1], False)
    where = densest(changing, min(LENGTH, len(labels)))
    begin = reading.middle + int(where[0])
    ahead = min(BEFORE, begin)
    tokens = reading.tokens[begin - ahead : begin + len(where)]
    row = signals(subject.model, tokens, [finding.stream], 1, subject.carry, lambda items, *_: iter(items))[0, ahead:]
    values = ((row.astype(float) - finding.mean) / (2 * finding.spread or 1)).clip(-1, 1)
    lasts = reading.last[begin - 1 : begin + len(row)] if begin else np.append(-1, reading.last[: len(row)])
    texts = [reading.text[left + 1 : right + 1] for left, right in pairwise(lasts)]
    inside = _level(labels[where])
    return [Shown(*one) for one in zip(texts, values.tolist(), inside.tolist(), strict=True)]


def _level(labels: np.ndarray) -> np.ndarray:
    """0 to 1: what is underlined, and how strongly."""
    if not np.issubdtype(labels.dtype, np.number) and labels.dtype != bool:
        labels = np.unique(labels, return_inverse=True)[1]
    return labels.astype(float) / max(1.0, float(labels.max()))


def colour(value: float) -> str:
    """Blue below the mean, white at it, orange above: people who see no red or no green can tell them apart."""
    mixed = WHITE + (ORANGE if value > 0 else BLUE) * abs(value) - WHITE * abs(value)
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def as_text(shown: Iterable[Shown]) -> Text:
    """For a terminal."""
    text = Text()
    for one in shown:
        style = Style(color="#000000", bgcolor=colour(one.value), underline=one.label > 0)
        text.append(one.text.replace("\t", "    "), style)
    return text


def as_page(pairs: Sequence[tuple[Finding, Sequence[Shown]]]) -> str:
    """For a browser: one page that needs nothing else."""
    parts = [
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>regard find</title>\n<style>'
        "body{font:15px/1.6 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
        "pre{font:13px/1.7 monospace;white-space:pre-wrap;overflow-wrap:anywhere;color:#000;tab-size:4}"
        "</style>\n"
        "<p>Orange: the unit is above its mean, blue: below it. Underlined: the property holds; for a number, the "
        "darker the more. The figures are of text that had no part in choosing the unit; they say what it follows, not "
        "why it answers.</p>\n"
    ]
    for finding, shown in pairs:
        low, high = finding.interval
        verdict = f"fails: {', '.join(finding.failed)}" if finding.failed else "passes every control"
        parts.append(
            f"<h2>{escape(finding.property)}: {escape(finding.unit)}</h2>\n"
            f"<p>{finding.measure} {finding.score:.3f} ({low:.3f} to {high:.3f}), {verdict}</p>\n<pre>"
        )
        for one in shown:
            line = f";box-shadow:inset 0 -2px rgba(0,0,0,{one.label:.2f})" if one.label > 0 else ""
            text = escape(one.text).replace("\n", "⏎\n")
            title = f' title="{2 * one.value:+.2f}"'
            parts.append(f'<span style="background:{colour(one.value)}{line}"{title}>{text}</span>')
        parts.append("</pre>\n")
    return "".join([*parts, "</html>\n"])
