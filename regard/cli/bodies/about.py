"""`regard corpora` and `completion`."""

from regard.cli.commands.about import CompletionCommand, CorporaCommand
from regard.cli.completion import script
from regard.cli.screen import WIDE, console
from regard.data.corpora.registry import CORPORA


def corpora(asked: CorporaCommand) -> int:
    wide, screen = max(map(len, CORPORA)), console(WIDE)
    for name, corpus in CORPORA.items():
        screen.print(f"{name:<{wide}}  {corpus.kind:<5}  {corpus.size:<19}  {corpus.description}", markup=False)
    return 0


def completion(asked: CompletionCommand) -> int:
    print(script(asked.shell), end="")
    return 0
