"""The command that runs the claims of the notes."""

import sys

from rich.console import Console

from regard.cli.commands.lab import ALL, LabCommand
from regard.disk import write_text
from regard.lab import claims
from regard.lab.report import COLOURS, SIGNS, report
from regard.lab.session import Session
from regard.train.loop import Interrupted


def lab(asked: LabCommand) -> int:
    console = Console(highlight=False, soft_wrap=True)
    if not asked.claims:
        for claim in claims.CLAIMS.values():
            console.print(f"[bold]{claim.name:<22}[/bold] {claim.says}")
        return 0
    chosen = [claims.CLAIMS[name] for name in (claims.CLAIMS if ALL in asked.claims else asked.claims)]
    session = Session(asked.folder, "full" if asked.full else "quick", asked.seeds)
    words = ["regard lab", *asked.claims, f"--{session.effort}", f"--seeds {session.seeds}"]
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
        again = " ".join([*words, f"--folder {asked.folder}"])
        print(f"regard: stopped; what is finished is kept in {asked.folder}; go on with: {again}", file=sys.stderr)
        return 130
    page = asked.folder / ("report.html" if ALL in asked.claims else f"{'-'.join(asked.claims)}.html")
    write_text(page, report(found, " ".join(words)))
    console.print(f"report: {page}")
    return 0
