"""`regard find`."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.cli.command import Command, no_settings
from regard.config.looking import Effort
from regard.disk import write_text
from regard.errors import UserError
from regard.look.find.evidence import as_page, as_text, evidence
from regard.look.find.find import Finding, find, occurring
from regard.look.find.labelled import read
from regard.look.find.properties import PROPERTIES, description, properties_named
from regard.progress import watched
from regard.runs import load_run
from regard.tasks import TEXT

TERMINAL = "terminal"


def add(command: Command) -> None:
    """The commands that look inside."""
    wide = max(map(len, PROPERTIES))
    known = "\n".join(f"  {name:<{wide}}  {description(found)}" for name, found in PROPERTIES.items())
    found = command(
        "find",
        _find,
        "which cells and heads follow a property of the text, beyond chance, architecture and echo",
        "  regard find runs/mine --property quotes\n"
        "  regard find runs/mine --property quotes depth --data other.c --evidence found.html\n"
        "  regard find runs/mine --units '*.cells' --top 3 --json found.json\n\n"
        f"properties:\n{known}",
    )
    found.add_argument("path", type=Path, metavar="RUN", help="the folder of a language model's run")
    found.add_argument(
        "--property", nargs="+", action="extend", default=[], metavar="NAME",
        help="what to look for (default: all that occur in the text)",
    )  # fmt: skip
    found.add_argument("--data", metavar="FILE", help="text to read (default: what the run held out)")
    found.add_argument(
        "--units", nargs="+", default=[], metavar="PATTERN",
        help="where to look: '*.cells', '*.hidden', '*.units', '*.weights' (heads), or one path[number] (default: all)",
    )  # fmt: skip
    found.add_argument(
        "--number",
        "--top",
        type=int,
        default=Effort.number,
        metavar="N",
        help="units listed for each (default: %(default)s)",
    )
    found.add_argument(
        "--shifts",
        type=int,
        default=Effort.shifts,
        metavar="N",
        help="of the label, for the null (default: %(default)s)",
    )
    found.add_argument(
        "--seed", type=int, default=Effort.seed, metavar="N", help="of shifts, intervals and new weights"
    )
    found.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    found.add_argument(
        "--evidence", metavar="FILE.html", help=f"text coloured by the best unit of each property; {TERMINAL}: print it"
    )


def _find(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    no_settings(settings)
    if known.evidence and known.evidence != TERMINAL and Path(known.evidence).suffix != ".html":
        raise UserError(f"--evidence wants a name that ends in .html, or {TERMINAL}, found '{known.evidence}'")
    properties = properties_named(known.property)
    effort = Effort(tuple(known.units), known.number, known.shifts, seed=known.seed)
    run = load_run(known.path)
    subject = run.subject(known.seed)
    documents = TEXT.documents(run.folder, run.recipe, run.tokenizer, known.data)
    reading = read(run.tokenizer, documents)
    properties = properties or occurring(reading, PROPERTIES)
    findings = find(subject, reading, properties, effort, watched)
    console = Console()
    console.print(table(findings))
    best = {one.property: one for one in reversed(findings)}
    shown = (
        [(best[name], evidence(subject, reading, best[name], properties[name])) for name in properties]
        if known.evidence
        else []
    )
    if known.evidence == TERMINAL:
        for one, text in shown:
            console.print(f"\n[bold]{one.property}: {one.unit}[/bold]", as_text(text), sep="\n", highlight=False)
    elif known.evidence:
        write_text(Path(known.evidence), as_page(shown))
    if known.json:
        write_text(known.json, json.dumps([as_table(one) for one in findings], indent=1) + "\n")
    return 0


def as_table(finding: Finding) -> dict[str, Any]:
    """A finding as plain values."""
    figures = {**asdict(finding), "effect": finding.effect._asdict(), "failed": finding.failed}
    del figures["stream"]
    return figures


def table(findings: Sequence[Finding]) -> Table:
    """The findings ranked, those that fail a control in grey."""
    searched = findings[0].searched if findings else 0
    made = Table(
        title=f"{searched:,} signals searched; chosen on the first half of the text, every figure of the second",
        caption="effect: change of log p when the unit is held still (mean of units like it; how many it beats). "
        "It says what a unit follows, not why the model answers.",
        title_justify="left", caption_justify="left", expand=False,
    )  # fmt: skip
    for column in ("property", "unit", "measure"):
        made.add_column(column, overflow="fold")
    for column in ("held out (95 %)", "base", "null 95 %", "p (q)", "untrained", "last k", "effect"):
        made.add_column(column, justify="right")
    made.add_column("verdict", overflow="fold")
    before = ""
    for one in findings:
        if before not in ("", one.property):
            made.add_section()
        before = one.property
        low, high = one.interval
        made.add_row(
            one.property,
            ("−" if one.sign < 0 else "") + one.unit,
            one.measure,
            f"{one.score:.3f} ({low:.3f}–{high:.3f})",
            "" if one.base_rate is None else f"{one.base_rate:.3f}",
            f"{one.null:.3f}",
            f"{one.p:.3f} ({one.q:.3f})",
            "–" if one.untrained is None else f"{one.untrained:.3f}",
            f"{one.last_characters:.3f} ({one.k})",
            f"{one.effect.change:+.4f} ({one.effect.controls:+.4f}; {one.effect.beaten}/{one.effect.of})",
            f"fails {', '.join(one.failed)}" if one.failed else "passes",
            style="dim" if one.failed else "",
        )
    return made
