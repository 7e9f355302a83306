"""`regard align`: attention as an alignment."""

import json
import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

from rich.table import Table

from regard.cli.commands.align import AlignCommand
from regard.cli.lines import output_to, read_lines
from regard.cli.screen import console, is_bounded, whole
from regard.data.corpora.phrases import LONGEST, phrases
from regard.decode.translate import Alignment
from regard.errors import UserError, counted, unknown
from regard.look.align.error_rate import Gold, read_gold
from regard.look.align.heads import FED, MEAN, PREDICTED, AgainstGold, HeadRow, Segmented, compare, read_alignments
from regard.look.align.weights import paths_over_source
from regard.look.align.words import pharaoh
from regard.look.pictures.style import HONEST
from regard.progress import watched
from regard.runs import Run, load_run

BUILT_IN = re.compile(r"phrases(-short)?:(french|spanish)")
SHORT = 14  # words of a short phrase at most
SHOWN = 12  # readings in a table

Scores = tuple[Segmented, Segmented, Gold]


def align(asked: AlignCommand) -> int:
    run = load_run(asked.run, precision=asked.precision)
    run.check("align")
    paths_over_source(run.model)
    if asked.gold is not None:
        return _score(run, asked, asked.gold)
    wanted = HeadRow(asked.head or MEAN, FED if asked.fed else PREDICTED)
    with output_to(None) as output:
        for source, target in _pairs(asked):
            found = read_alignments(run.model, run.tokenizers, source, target)
            if wanted not in found:
                raise unknown("head", wanted.head, dict.fromkeys(reading.head for reading in found))
            one = Alignment(source.parts, target.parts, found[wanted])
            if asked.json:
                rows = [[round(weight, 4) for weight in row] for row in one.weights.tolist()]
                print(json.dumps(one._asdict() | {"weights": rows}, ensure_ascii=False), file=output)
            else:
                print(pharaoh(one), file=output)
    return 0


def _pairs(asked: AlignCommand) -> Iterator[tuple[Segmented, Segmented]]:
    for number, line in enumerate(read_lines(asked.file), 1):
        source, mark, target = line.partition("\t" if "\t" in line else "|||")
        if line.strip() and not mark:
            raise UserError(f"line {number} has no tab and no |||; write source<TAB>target, join two files with paste")
        yield _sentence(source, asked.glued), _sentence(target, asked.glued)


def _sentence(text: str, glued: str) -> Segmented:
    """Words between blanks; the model reads them as people write them, with some marks right behind a word."""
    words = tuple(text.split())
    blanks = ("" if set(word) <= set(glued) else " " for word in words)
    return Segmented("".join(blank + word for blank, word in zip(blanks, words, strict=True)).strip(), words)


def _score(run: Run, asked: AlignCommand, gold: str) -> int:
    scores = list(_built_in(gold, asked.number) if BUILT_IN.fullmatch(gold) else _with_gold(asked, gold))
    found, baselines = compare(run.model, run.tokenizers, watched(scores, "aligning", len(scores)))
    if asked.json:
        print(json.dumps({"sentences": len(scores), "scores": [_figures(one) for one in [*found, *baselines]]}))
        return 0
    table = Table("read from", *(f"AER %\n{part}" for part in ("chosen on", "reported", "all")), "precision", "recall")
    for column in table.columns[1:]:
        column.justify = "right"
    shown = [one for place, one in enumerate(found) if place < SHOWN or one.reading.head == MEAN]
    for one in [*shown, *baselines]:
        figures = _figures(one)
        table.add_row(
            figures["read"],
            *(f"{100 * figures[name]:.1f}" for name in ("chosen_on", "aer", "aer_all", "precision", "recall")),
            end_section=one is shown[-1],
        )
    screen = console(120)
    screen.print(whole(table))
    more = f" The best {SHOWN} of {len(found)} readings and the mean; --json has all." if len(found) > SHOWN else ""
    screen.print(
        f"{counted(len(scores), 'sentence pair')}. Readings are ranked on one half of them (chosen on); reported, "
        "precision and recall are of the other half alone. Diagonal: the word that stands as far along. Uniform: a "
        f"word at random, its mean. {HONEST[0].upper()}{HONEST[1:]}.{more}",
        soft_wrap=not is_bounded(),
    )
    return 0


def _figures(one: AgainstGold) -> dict[str, Any]:
    figures = {"chosen_on": one.chosen_on.error, "aer": one.reported.error, "aer_all": one.everywhere.error}
    more = {"precision": one.reported.precision, "recall": one.reported.recall}
    return {"read": str(one.reading), **{name: round(value, 6) for name, value in (figures | more).items()}}


def _with_gold(asked: AlignCommand, path: str) -> Iterator[Scores]:
    lines = zip_longest(_pairs(asked), read_lines(path))
    for number, (pair, line) in enumerate(lines, 1):
        if pair is None or line is None:
            longer, shorter = (path, asked.file) if pair is None else (asked.file, path)
            raise UserError(f"{longer} has a line {number}, {shorter} has not; gold wants a line for each pair")
        source, target = pair
        sizes = source.size, target.size
        try:
            gold = read_gold(line, sizes, from_one=asked.from_one, target_first=asked.target_first)
        except UserError as error:
            raise UserError(f"line {number} of {path}: {error}") from None
        yield source, target, gold


def _built_in(name: str, number: int) -> Iterator[Scores]:
    """Phrases of the part that nobody trains on."""
    match = BUILT_IN.fullmatch(name)
    assert match is not None
    drawn = phrases(match[2], "test", longest=SHORT if match[1] else LONGEST)  # type: ignore[arg-type]
    for one in islice(drawn, number):
        sure = frozenset(one.alignment)
        yield Segmented(one.source, one.source_words), Segmented(one.target, one.target_words), Gold(sure, sure)
