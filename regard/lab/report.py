"""The report: one HTML file with everything in it, that opens offline by a double click."""

import io
from collections.abc import Sequence
from html import escape
from statistics import mean, stdev
from typing import Any

from regard.lab.claim import Mark, Numbers
from regard.lab.session import Outcome

COLOURS = {"held": "#0072b2", "did not hold": "#d55e00", "too noisy to say": "#767676"}  # told apart by everybody
SIGNS = {"held": "●", "did not hold": "○", "too noisy to say": "◐"}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --ground: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --ground: #0d1117; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 46rem;
       margin: 3rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem } h2 { font-size: 1.25rem; margin: 3.5rem 0 .3rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .92rem }
td, th { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 500 } a { color: inherit } .number { text-align: right; white-space: nowrap }
.soft { color: var(--soft); font-size: .92rem } .equation { font: 1rem/1.5 ui-monospace, monospace; margin: .6rem 0 }
.verdict { font-weight: 600; white-space: nowrap } figure { margin: 1rem 0; background: #fff; border-radius: 6px }
figure svg { width: 100%; height: auto; display: block } dt { color: var(--soft); font-size: .85rem; margin-top: .8rem }
dd { margin: 0 } @media print { h2 { break-before: page } }
"""


def report(found: Sequence[Outcome], command: str) -> str:
    """All claims in one page: a table of contents with the verdicts, then each claim by itself."""
    outcomes = list(enumerate(found, 1))
    rows = "".join(
        f'<tr><td>{n}</td><td><a href="#{o.claim.name}">{escape(o.claim.says)}</a></td><td>{_verdict(o)}</td>'
        f'<td class="number">{o.seconds:.0f} s</td></tr>'
        for n, o in outcomes
    )
    seeds = max(len(o.seeds) for o in found)
    took = sum(o.seconds for o in found)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The lab: claims of the notes</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        "<h1>The lab</h1><p class=soft>Every claim of the notes, run and measured. A rule was fixed for each before "
        "it was run; where one was changed later, the claim says so. <b>Held</b>: every seed passes its marks; <b>did "
        f"not hold</b>: none does; <b>too noisy to say</b>: some do. "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}, {_lasted(took)}.</p>"
        f"<p class=soft><code>{escape(command)}</code></p>"
        f"<table><tr><th></th><th>claim</th><th>verdict</th><th class=number>took</th></tr>{rows}</table>"
        + "".join(_section(n, o) for n, o in outcomes)
        + "</body></html>\n"
    )


def _lasted(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _section(number: int, outcome: Outcome) -> str:
    claim = outcome.claim
    facts = {
        "Set-up": claim.setup,
        "Rule": "; ".join(map(str, claim.marks)),
        **({"Changed after a first run": claim.changed} if claim.changed else {}),
        "Goes back to": claim.paper,
        "Try this next": claim.next,
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    return (
        f'<section id="{claim.name}"><h2>{number}. {escape(claim.says)}</h2>{_verdict(outcome)}'
        f'<div class="equation">{escape(claim.equation)}</div><figure>{_figure(outcome)}</figure>'
        f"{_numbers(outcome.seeds, claim.marks)}<dl>{listed}</dl></section>"
    )


def _verdict(outcome: Outcome) -> str:
    verdict = outcome.verdict
    return f'<span class="verdict" style="color:{COLOURS[verdict]}">{SIGNS[verdict]} {verdict}</span>'


def _numbers(seeds: Sequence[Numbers], marks: Sequence[Mark]) -> str:
    """Every number measured: its mean, and its spread over seeds where there are several."""
    judged = {mark.number for mark in marks}
    rows = []
    for name, first in seeds[0].items():
        if isinstance(first, int | float):
            values = [float(numbers[name]) for numbers in seeds]
            spread = f"± {shown(stdev(values))}" if len(values) > 1 else ""
            bold = ("<b>", "</b>") if name in judged else ("", "")
            rows.append(
                f"<tr><td>{bold[0]}{escape(name)}{bold[1]}</td><td class=number>{shown(mean(values))}</td>"
                f"<td class=number>{spread}</td></tr>"
            )
    headline = "<tr><th>measured</th><th class=number>mean</th><th class=number>spread</th></tr>"
    return f"<table>{headline}{''.join(rows)}</table>"


def shown(value: float) -> str:
    """Four digits that count, without zeros in front that nobody reads."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _figure(outcome: Outcome) -> str:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "axes.spines.top": False,
                         "axes.spines.right": False, "svg.hashsalt": "regard"}):  # fmt: skip
        figure: Any = plt.figure(figsize=(7.2, 3.4), layout="constrained")
        outcome.claim.draw(figure, outcome.seeds)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        plt.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
