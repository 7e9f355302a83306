"""`regard corpora`."""

from regard.cli.commands.about import CorporaCommand
from regard.data.corpora.registry import CORPORA


def corpora(asked: CorporaCommand) -> int:
    wide = max(map(len, CORPORA))
    for name, corpus in CORPORA.items():
        print(f"{name:<{wide}}  {corpus.kind:<5}  {corpus.size:<19}  {corpus.description}")
    return 0
