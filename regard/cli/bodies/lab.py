"""The command that runs the claims of the notes."""

import sys
from pathlib import Path

from rich.console import Console

from regard.cli.commands.lab import ALL, LabCommand
from regard.cli.screen import WIDE, console
from regard.disk import write_text
from regard.lab import claims


def lab(asked: LabCommand) -> int:
    screen = console(WIDE)
    if asked.claims:
        return _measured(asked, screen)
    for name in claims.CLAIMS:
        screen.print(f"[bold]{name:<22}[/bold] {claims.CLAIMS.sentence(name)}")
    return 0


def _measured(asked: LabCommand, screen: Console) -> int:
    from regard.lab.own import claims_named  # here: a list of claims wants no torch
    from regard.lab.report import COLOURS, SIGNS, report
    from regard.lab.session import Session
    from regard.page.open import open_file
    from regard.training.stopping import Interrupted

    for file in asked.own_files:
        print(f"regard: running the code in {file}, which holds claims", file=sys.stderr, flush=True)
    names = [one for name in asked.claims for one in (claims.CLAIMS if name == ALL else [name])]
    chosen = claims_named(names, claims.CLAIMS)
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
            screen.print(f"{sign} {claim.name:<22} {outcome.seconds:4.0f} s  {claim.says}")
    except (KeyboardInterrupt, Interrupted):
        again = " ".join([*words, f"--folder {asked.folder}"])
        print(f"regard: stopped; what is finished is kept in {asked.folder}; go on with: {again}", file=sys.stderr)
        return 130
    stem = "report" if ALL in asked.claims else "-".join(Path(name).stem for name in asked.claims)
    page = asked.folder / f"{stem}.html"
    write_text(page, report(found, " ".join(words)))
    screen.print(f"report: {page}", soft_wrap=True)
    if not asked.no_open and sys.stdout.isatty():
        open_file(page)
    return 0
