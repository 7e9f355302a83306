"""`regard find`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from regard.cli.bodies.paper import paper
from regard.cli.commands.find import TERMINAL, FindCommand
from regard.cli.screen import console, whole
from regard.disk import write_text
from regard.errors import counted
from regard.look.find.evidence import as_page, as_text, evidence
from regard.look.find.find import Finding, find_on_sides
from regard.look.find.own import own_properties
from regard.look.find.properties import PROPERTIES
from regard.look.pictures.paper import Paper
from regard.look.pictures.ranking import Ranking
from regard.look.pictures.save import save
from regard.progress import watched
from regard.runs import load_run


def find(asked: FindCommand) -> int:
    run = load_run(asked.run)
    subject = run.subject(asked.effort.seed)
    for file in asked.own_files():
        print(f"regard: running the code in {file}, which --property names", file=sys.stderr)
    properties = own_properties(asked.property)
    readings = run.task.texts(run.folder, run.recipe, run.tokenizers, asked.where, asked.effort.side)
    findings = find_on_sides(subject, readings, properties, asked.effort, watched)
    if asked.save is not None:
        if asked.save.suffix == ".json":
            write_text(asked.save, json.dumps([as_table(one) for one in findings], indent=1) + "\n")
        else:
            save(Ranking.of(f"{asked.run}: what follows each property", findings), asked.save, _paper(asked))
    screen = console(180)
    if asked.json:
        print(*(json.dumps(as_table(one)) for one in findings), sep="\n")
    else:
        screen.print(whole(table(findings)))
    best = {(one.property, one.side): one for one in reversed(findings)}
    there, known = {reading.passage.side: reading for reading in readings}, properties or PROPERTIES
    shown = [
        (one, evidence(subject, there[one.side], one, known[one.property]))
        for one in (reversed(best.values()) if asked.evidence else ())
    ]
    if asked.evidence == TERMINAL:
        for one, text in shown:
            screen.print(f"\n[bold]{one.property}: {one.named}[/bold]", as_text(text), sep="\n", highlight=False)
    elif asked.evidence:
        write_text(Path(asked.evidence), as_page(shown, _paper(asked).made_by))
    return 0


def _paper(asked: FindCommand) -> Paper:
    return paper(asked.paper, [asked.run])


def as_table(finding: Finding) -> dict[str, Any]:
    """A finding as plain values."""
    figures = {**asdict(finding), "effect": finding.effect._asdict(), "failed": finding.failed}
    del figures["stream"]
    return figures


def _searched(side: tuple[str, int]) -> str:
    name, number = side
    return counted(number, "signal") + ("" if name == "text" else f" over the {name}")


def table(findings: Sequence[Finding]) -> Table:
    """The findings ranked, those that fail a control in grey."""
    searched = {one.side: one.searched for one in findings}
    made = Table(
        title=f"{' and '.join(map(_searched, searched.items()))} searched; chosen on the first half of the text, "
        "every figure of the second",
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
            ("−" if one.sign < 0 else "") + one.named,
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
