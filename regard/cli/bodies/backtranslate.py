"""`regard backtranslate`: back-translation, tagged. (Sennrich et al. 2016; Caswell et al. 2019)"""

import sys
from collections.abc import Iterable, Iterator

from regard.cli.bodies.shards import answered_once
from regard.cli.commands.backtranslate import BacktranslateCommand
from regard.cli.commands.decoding import TranslateCommand
from regard.cli.commands.training import one_or_more
from regard.cli.lines import one_line, read_lines
from regard.data.examples import Pair
from regard.disk import replacing
from regard.errors import counted
from regard.tasks import TASKS


def backtranslate(asked: BacktranslateCommand) -> int:
    translate = TranslateCommand(
        run=asked.run,
        file=str(asked.file),
        out=asked.pairs.with_name(f".{asked.pairs.name}"),
        search=asked.search,
        ensemble=asked.ensemble,
        processes=asked.processes,
    )
    answers = answered_once(translate)
    made = list(_made(asked, read_lines(str(answers))))
    real = list(TASKS["pairs"].read(where, None)) if (where := one_or_more(asked.real)) else []
    with replacing(asked.pairs) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines([*real * asked.times, *made]))
    answers.unlink()
    behind = f", behind {counted(len(real), 'pair')} of people's, {asked.times} ×" if real else ""
    print(f"{counted(len(made), 'pair')} made{behind}", file=sys.stderr)
    return 0


def _made(asked: BacktranslateCommand, answers: Iterable[str]) -> Iterator[Pair]:
    """What was made of each line, marked, and the line; where either is empty there is no pair."""
    for target, source in zip(read_lines(str(asked.file)), answers, strict=True):
        if source.strip() and target.strip():
            yield Pair(f"{asked.tag} {source}".strip(), target)


def _lines(pairs: Iterable[Pair]) -> Iterator[str]:
    return ("\t".join(one_line(side).replace("\t", " ") for side in pair) + "\n" for pair in pairs)
