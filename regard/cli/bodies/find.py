"""`regard find`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.cli.commands.find import TERMINAL, FindCommand
from regard.disk import write_text
from regard.look.find.evidence import as_page, as_text, evidence
from regard.look.find.find import Finding, occurring
from regard.look.find.find import find as search
from regard.look.find.labelled import labelled
from regard.look.find.properties import PROPERTIES, properties_named
from regard.progress import watched
from regard.runs import load_run
from regard.tasks import TEXT


def find(asked: FindCommand) -> int:
    run = load_run(asked.run)
    subject = run.subject(asked.effort.seed)
    documents = TEXT.documents(run.folder, run.recipe, run.tokenizer, asked.data)
    reading = labelled(run.tokenizer, documents)
    properties = properties_named(asked.property) or occurring(reading, PROPERTIES)
    findings = search(subject, reading, properties, asked.effort, watched)
    if asked.save is not None:
        write_text(asked.save, json.dumps([as_table(one) for one in findings], indent=1) + "\n")
    console = Console()
    if asked.json:
        print(*(json.dumps(as_table(one)) for one in findings), sep="\n")
    else:
        console.print(table(findings))
    best = {one.property: one for one in reversed(findings)}
    shown = (
        [(best[name], evidence(subject, reading, best[name], properties[name])) for name in properties]
        if asked.evidence
        else []
    )
    if asked.evidence == TERMINAL:
        for one, text in shown:
            console.print(f"\n[bold]{one.property}: {one.unit}[/bold]", as_text(text), sep="\n", highlight=False)
    elif asked.evidence:
        write_text(Path(asked.evidence), as_page(shown))
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
