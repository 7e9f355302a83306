"""The report: one HTML file with everything in it, that opens offline by a double click."""

from collections.abc import Sequence
from html import escape
from statistics import mean, stdev

from regard.errors import counted
from regard.lab.claim import Mark, Numbers
from regard.lab.session import Outcome
from regard.look.pictures.style import GREY, LINES, WIDTH, as_svg, figure, page

COLOURS = {"held": LINES[0], "did not hold": LINES[1], "too noisy to say": GREY}
SIGNS = {"held": "●", "did not hold": "○", "too noisy to say": "◐"}
STYLE = """
h2 { margin: 3.5rem 0 .3rem } table { width: 100% }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
.equation { font: 1rem/1.5 ui-monospace, monospace; margin: .6rem 0 } .verdict { font-weight: 600; white-space: nowrap }
figure { margin: 1rem 0 } dt { color: var(--soft); font-size: .85rem; margin-top: .8rem } dd { margin: 0 }
@media print { h2 { break-before: page } }
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
    body = (
        "<p class=soft>Every claim of the notes, run and measured. A rule was fixed for each before "
        "it was run; where one was changed later, the claim says so. <b>Held</b>: every seed passes its marks; <b>did "
        f"not hold</b>: none does; <b>too noisy to say</b>: some do. "
        f"{counted(seeds, 'seed')}, {_lasted(took)}.</p>"
        f"<p class=soft><code>{escape(command)}</code></p>"
        f"<table><tr><th></th><th>claim</th><th>verdict</th><th class=number>took</th></tr>{rows}</table>"
        + "".join(_section(n, o) for n, o in outcomes)
    )
    return page("The lab: claims of the notes", body, STYLE)


def _lasted(seconds: float) -> str:
    return counted(f"{seconds:.0f}", "second") if seconds < 100 else f"{seconds / 60:.0f} minutes"


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
    from matplotlib import rc_context

    drawn = figure(WIDTH, 3.4)
    with rc_context({"axes.spines.top": False, "axes.spines.right": False}):
        outcome.claim.draw(drawn, outcome.seeds)
    return as_svg(drawn)
