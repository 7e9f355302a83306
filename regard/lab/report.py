"""The report: one HTML file with everything in it, that opens offline by a double click."""

from collections.abc import Sequence
from html import escape
from math import exp, floor, log, log10
from statistics import mean, stdev

from regard.errors import counted
from regard.lab.claim import Mark, Numbers
from regard.lab.formula import formula
from regard.lab.session import Outcome
from regard.look.pictures.style import GREY, INK, LINES, WIDTH, as_svg, figure, page

COLOURS = {"held": LINES[0], "did not hold": LINES[1], "too noisy to say": GREY}
SIGNS = {"held": "●", "did not hold": "○", "too noisy to say": "◐"}
KINDS = {"held": "held", "did not hold": "not", "too noisy to say": "noisy"}
SHADES = {
    **dict(zip(LINES, (f"--line-{place}" for place in range(1, 7)), strict=False)),
    LINES[6]: "--ink",
    INK: "--ink",
    GREY: "--faint",
}
"""A colour of a figure is a name in the page, which has one value for light screens and one for dark."""
STYLE = """
:root { --line-1: #1b5e96; --line-2: #b3560e; --line-3: #12755a; --line-4: #8a3c78; --line-5: #8a6d00;
  --line-6: #3f93c8 }
@media (prefers-color-scheme: dark) { :root { --line-1: #7fc1ee; --line-2: #f0a45d; --line-3: #6fd0b0;
  --line-4: #e39ad2; --line-5: #e3c95a; --line-6: #4a9bd4 } }
body { max-width: 48rem } h1 { font-size: 2rem } h2 { font-size: 1.4rem; margin: 3.5rem 0 .4rem; text-wrap: balance }
nav td, section td, section th, nav th { border-bottom: 1px solid var(--line); padding: .35rem .8rem .35rem 0 }
td, th { vertical-align: top } nav table, section table { width: 100% } nav a { text-decoration: none }
nav a:hover, nav a:focus-visible { text-decoration: underline } .judged { font-weight: 600 }
.verdict { font-weight: 600; white-space: nowrap } .held { color: var(--accent) } .not { color: var(--warm) }
.noisy { color: var(--faint) } .equation { font-size: 1.2rem; line-height: 2; margin: .6rem 0; overflow-x: auto }
figure { margin: 1.2rem 0; overflow-x: auto } figure svg { background: none; width: 100%; min-width: 30rem }
figure text { font-family: var(--sans) !important } math { font-family: var(--serif) } code { font-family: var(--mono) }
dt { color: var(--soft); font-size: .85rem; margin-top: .8rem } dd { margin: 0 } sup { line-height: 0 }
@media (max-width: 40rem) { nav th:last-child, nav td:last-child { display: none } h1 { font-size: 1.6rem } }
@media print { h2 { break-before: page } }
"""


def report(found: Sequence[Outcome], command: str) -> str:
    """All claims in one page: a table of contents with the verdicts, then each claim by itself."""
    outcomes = list(enumerate(found, 1))
    rows = "".join(
        f'<tr><td class=number>{n}</td><td><a href="#{o.claim.name}">{escape(o.claim.says)}</a></td>'
        f'<td>{_verdict(o)}</td><td class="number">{_lasted(o.seconds)}</td></tr>'
        for n, o in outcomes
    )
    seeds = max(len(o.seeds) for o in found)
    took = sum(o.seconds for o in found)
    body = (
        "<p>Every claim of the notes, run and measured. A rule was fixed for each before "
        "it was run; where one was changed later, the claim says so. <b>Held</b>: every seed passes its marks; <b>did "
        f"not hold</b>: none does; <b>too noisy to say</b>: some do. "
        f"{counted(seeds, 'seed')}, {_lasted(took)}.</p>"
        "<p class=soft>Numbers that a rule asks for are bold. A spread over seeds is their standard deviation, and no "
        "digit is shown that it makes uncertain; where seeds differ more than tenfold, the mean is the geometric one "
        f"and the spread a factor.</p><p class=soft><code>{escape(command)}</code></p>"
        f"<nav aria-label=contents><table><tr><th></th><th>claim</th><th>verdict</th><th class=number>took</th></tr>"
        f"{rows}</table></nav>" + "".join(_section(n, o) for n, o in outcomes)
    )
    return page("The lab: claims of the notes", body, STYLE)


def _lasted(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


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
        f'<div class="equation">{formula(claim.equation)}</div><figure>{_figure(outcome)}</figure>'
        f"{_numbers(outcome.seeds, claim.marks)}<dl>{listed}</dl></section>"
    )


def _verdict(outcome: Outcome) -> str:
    verdict = outcome.verdict
    return f'<span class="verdict {KINDS[verdict]}">{SIGNS[verdict]} {verdict}</span>'


def _numbers(seeds: Sequence[Numbers], marks: Sequence[Mark]) -> str:
    """Every number measured: its mean, and its spread over seeds where there are several."""
    judged = {mark.number for mark in marks}
    rows = []
    for name, first in seeds[0].items():
        if isinstance(first, int | float):
            middle, spread = summed_up([float(numbers[name]) for numbers in seeds])
            kind = " class=judged" if name in judged else ""
            rows.append(
                f"<tr{kind}><td>{escape(name)}</td><td class=number>{middle}</td><td class=number>{spread}</td></tr>"
            )
    headline = "<tr><th>measured</th><th class=number>mean</th><th class=number>spread</th></tr>"
    return f"<table>{headline}{''.join(rows)}</table>"


def summed_up(values: Sequence[float]) -> tuple[str, str]:
    """The mean and the spread of one number over seeds, as HTML, with the digits that mean something."""
    if len(values) == 1 or min(values) == max(values):
        return shown(values[0]), ""
    if min(values) > 0 and max(values) > 10 * min(values):
        logs = [log(value) for value in values]
        return shown(exp(mean(logs)), 2), f"× or ÷ {shown(exp(stdev(logs)), 2)}"
    spread = stdev(values)
    return shown(mean(values), 1 + _power(mean(values)) - _power(spread)), f"± {shown(spread, 1)}"


def shown(value: float, digits: int | None = None) -> str:
    """A number with so many digits that count; three where nobody says, and whole ones as they are."""
    power = _power(value)
    if digits is None and value == int(value):
        return f"{value:,.0f}".replace("-", "−")
    digits = max(digits or 3, 1)
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if not -5 < power < 6:
        return f"{mantissa} × 10<sup>{int(exponent)}</sup>".replace("-", "−")
    return f"{float(f'{mantissa}e{exponent}'):,.{max(0, digits - 1 - power)}f}".replace("-", "−")


def _power(value: float) -> int:
    """Of ten, of a number's first digit."""
    return floor(log10(abs(value))) if value else 0


def _figure(outcome: Outcome) -> str:
    from matplotlib import rc_context

    drawn = figure(WIDTH, 3.4)
    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    ):
        outcome.claim.draw(drawn, outcome.seeds)
    return themed(as_svg(drawn))


def themed(svg: str) -> str:
    """Colours by the names that the page gives them, on the page's own ground."""
    svg = svg.replace("fill: #ffffff", "fill: none")
    for colour, name in SHADES.items():
        svg = svg.replace(colour, f"var({name})")
    return svg
