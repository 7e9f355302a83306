"""The command that runs the claims of the notes."""

import argparse
import sys
from pathlib import Path
from typing import Any

from regard.cli.command import Command, no_settings
from regard.disk import write_text
from regard.errors import UserError


def add(command: Command) -> None:
    """`regard lab`."""
    lab = command(
        "lab",
        _lab,
        "run a claim of the notes: train, measure, draw, and say whether it held",
        "  regard lab                              (lists the claims)\n"
        "  regard lab permutation\n"
        "  regard lab all --quick --seeds 3        (goes on where it was stopped)",
    )
    lab.add_argument("claims", nargs="*", metavar="CLAIM", help="names of claims, or all; none: list them")
    effort = lab.add_mutually_exclusive_group()
    effort.add_argument("--quick", dest="effort", action="store_const", const="quick", help="minutes (the default)")
    effort.add_argument("--full", dest="effort", action="store_const", const="full", help="larger models, real text")
    lab.add_argument("--seeds", type=int, default=1, metavar="N", help="how often each is run (1)")
    lab.add_argument("--folder", type=Path, default=Path("lab"), help="where numbers and the report go (lab)")


def _lab(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from rich.console import Console

    from regard.lab.claims import CLAIMS, claim_named
    from regard.lab.report import COLOURS, SIGNS, report
    from regard.lab.session import Session
    from regard.train.loop import Interrupted

    no_settings(settings)
    console = Console(highlight=False, soft_wrap=True)
    if not known.claims:
        for claim in CLAIMS.values():
            console.print(f"[bold]{claim.name:<22}[/bold] {claim.says}")
        return 0
    if known.seeds < 1:
        raise UserError(f"--seeds must be at least 1, found {known.seeds}")
    chosen = list(CLAIMS.values()) if "all" in known.claims else [claim_named(name) for name in known.claims]
    session = Session(known.folder, known.effort or "quick", known.seeds)
    words = ["regard lab", *known.claims, f"--{session.effort}", f"--seeds {session.seeds}"]
    found = []
    try:
        for number, claim in enumerate(chosen, 1):
            if session.left(claim):
                print(f"{number}/{len(chosen)} {claim.name}: {claim.says} …", file=sys.stderr, flush=True)
            outcome = session.outcome(claim)
            found.append(outcome)
            verdict = outcome.verdict
            sign = f"[{COLOURS[verdict]}]{SIGNS[verdict]} {verdict:<17}[/]"
            console.print(f"{sign} {claim.name:<22} {outcome.seconds:4.0f} s  {claim.says}")
    except (KeyboardInterrupt, Interrupted):
        again = " ".join([*words, f"--folder {known.folder}"])
        print(f"regard: stopped; what is finished is kept in {known.folder}; go on with: {again}", file=sys.stderr)
        return 130
    page = known.folder / ("report.html" if "all" in known.claims else f"{'-'.join(known.claims)}.html")
    write_text(page, report(found, " ".join(words)))
    console.print(f"report: {page}")
    return 0
