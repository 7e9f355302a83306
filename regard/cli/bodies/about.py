"""`regard corpora` and `completion`."""

from regard.cli.commands.about import CompletionCommand, CorporaCommand
from regard.cli.completion import script
from regard.data.corpora.registry import CORPORA


def corpora(asked: CorporaCommand) -> int:
    wide = max(map(len, CORPORA))
    for name, corpus in CORPORA.items():
        print(f"{name:<{wide}}  {corpus.kind:<5}  {corpus.size:<19}  {corpus.description}")
    return 0


def completion(asked: CompletionCommand) -> int:
    print(script(asked.shell), end="")
    return 0
