"""`regard align`: attention, or counting, as an alignment."""

import json
import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, cast

from rich.table import Table

from regard.cli.command import STANDARD
from regard.cli.commands.align import AlignCommand
from regard.cli.lines import output_to, read_lines
from regard.cli.screen import console, is_bounded, whole
from regard.data.corpora.phrases import LONGEST, Language, phrases
from regard.decode.translate import Alignment
from regard.errors import UserError, counted, unknown
from regard.look.align.against_gold import AgainstGold, HeadRow, Judged, Segmented, against_gold, with_both
from regard.look.align.counts import ROUNDS, Aligner
from regard.look.align.error_rate import Gold, read_gold, turned
from regard.look.align.heads import FED, MEAN, PREDICTED, links_by_head, read_alignments
from regard.look.align.symmetrise import WAYS
from regard.look.align.weights import paths_over_source
from regard.look.align.words import links_of, pharaoh
from regard.look.pictures.style import HONEST
from regard.progress import watched
from regard.runs import Run, load_run

BUILT_IN = re.compile(r"phrases(-short)?:(french|spanish)")
SHORT = 14  # words of a short phrase at most
SHOWN = 12  # readings in a table
COUNTED = "these sentences were counted in too, without their gold"


def align(asked: AlignCommand) -> int:
    if asked.method == "counts":
        return _counted(asked)
    run, back = _translator(asked.run, asked), _translator(asked.back, asked) if asked.back else None
    if asked.gold is not None:
        return _print_scores(asked, *_scores(run, back, list(_judged(asked, asked.gold))))
    join = WAYS[asked.symmetrise]
    with output_to(None) as output:
        for source, target in _pairs(asked):
            one = _weights(run, source, target, asked.head, asked.fed)
            if back is not None:
                other = _weights(back, target, source, asked.back_head, asked.fed)
                print(pharaoh(join(links_of(one), turned(links_of(other)))), file=output)
            elif asked.json:
                rows = [[round(weight, 4) for weight in row] for row in one.weights.tolist()]
                print(json.dumps(one._asdict() | {"weights": rows}, ensure_ascii=False), file=output)
            else:
                print(pharaoh(links_of(one)), file=output)
    return 0


def _translator(path: Path, asked: AlignCommand) -> Run:
    run = load_run(path, precision=asked.precision)
    run.check("align")
    paths_over_source(run.model)
    return run


def _weights(run: Run, source: Segmented, target: Segmented, head: str, fed: bool) -> Alignment:
    wanted = HeadRow(head or MEAN, FED if fed else PREDICTED)
    found = read_alignments(run.model, run.tokenizers, source, target)
    if wanted not in found:
        raise unknown("head", wanted.head, dict.fromkeys(reading.head for reading in found))
    return Alignment(source.parts, target.parts, found[wanted])


def _counted(asked: AlignCommand) -> int:
    """By counting: in the pairs that are asked about, and in those to count in."""
    gold = list(_judged(asked, asked.gold)) if asked.gold is not None else []
    more = [(source.parts, target.parts) for source, target in _pairs(asked, str(asked.run))]
    if gold:
        first = [(source.parts, target.parts) for source, target, _ in gold]
    else:
        first = [] if asked.file == STANDARD else [(source.parts, target.parts) for source, target in _pairs(asked)]
    if not more:
        raise UserError(f"{asked.run} is empty; give a file of pairs to count in, source<TAB>target")
    aligner = Aligner([*first, *more])
    for _ in watched(range(ROUNDS), "counting", ROUNDS):
        aligner.improve()
    found = aligner.first(len(first) or len(more))
    if gold:
        there = [{HeadRow("counts", "source to target"): one} for one, _ in found]
        back = [{HeadRow("counts", "target to source"): other} for _, other in found]
        return _print_scores(asked, gold, *against_gold(gold, with_both(gold, there, back)))
    with output_to(None) as output:
        for one, other in found:
            print(pharaoh(WAYS[asked.symmetrise](one, other)), file=output)
    return 0


def _scores(
    run: Run, back: Run | None, pairs: list[Judged]
) -> tuple[list[Judged], list[AgainstGold], list[AgainstGold]]:
    """Of every reading; with a second run of its readings too, and of the best two as one."""
    watching = watched(pairs, "aligning", len(pairs))
    there = [links_by_head(run.model, run.tokenizers, source, target) for source, target, _ in watching]
    if back is None:
        return pairs, *against_gold(pairs, there)
    other = [
        {HeadRow(f"back: {reading.head}", reading.row): turned(links) for reading, links in found.items()}
        for source, target, _ in watched(pairs, "aligning back", len(pairs))
        for found in [links_by_head(back.model, back.tokenizers, target, source)]
    ]
    return pairs, *against_gold(pairs, with_both(pairs, there, other))


def _pairs(asked: AlignCommand, name: str = "") -> Iterator[tuple[Segmented, Segmented]]:
    for number, line in enumerate(read_lines(name or asked.file), 1):
        source, mark, target = line.partition("\t" if "\t" in line else "|||")
        if line.strip() and not mark:
            raise UserError(f"line {number} has no tab and no |||; write source<TAB>target, join two files with paste")
        yield _sentence(source, asked.glued), _sentence(target, asked.glued)


def _sentence(text: str, glued: str) -> Segmented:
    """Words between blanks; the model reads them as people write them, with some marks right behind a word."""
    words = tuple(text.split())
    blanks = ("" if set(word) <= set(glued) else " " for word in words)
    return Segmented("".join(blank + word for blank, word in zip(blanks, words, strict=True)).strip(), words)


def _judged(asked: AlignCommand, gold: str) -> Iterator[Judged]:
    return _built_in(gold, asked.number) if BUILT_IN.fullmatch(gold) else _with_gold(asked, gold)


def _print_scores(
    asked: AlignCommand, pairs: list[Judged], found: list[AgainstGold], baselines: list[AgainstGold]
) -> int:
    if asked.json:
        print(json.dumps({"sentences": len(pairs), "scores": [_figures(one) for one in [*found, *baselines]]}))
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
    said = COUNTED if asked.method == "counts" else HONEST
    more = f" The best {SHOWN} of {len(found)} readings and the mean; --json has all." if len(found) > SHOWN else ""
    screen.print(
        f"{counted(len(pairs), 'sentence pair')}. Readings are ranked on one half of them (chosen on); reported, "
        "precision and recall are of the other half alone. Diagonal: the word that stands as far along. Uniform: a "
        f"word at random, its mean. {said[0].upper()}{said[1:]}.{more}",
        soft_wrap=not is_bounded(),
    )
    return 0


def _figures(one: AgainstGold) -> dict[str, Any]:
    figures = {"chosen_on": one.chosen_on.error, "aer": one.reported.error, "aer_all": one.everywhere.error}
    more = {"precision": one.reported.precision, "recall": one.reported.recall}
    return {"read": str(one.reading), **{name: round(value, 6) for name, value in (figures | more).items()}}


def _with_gold(asked: AlignCommand, path: str) -> Iterator[Judged]:
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


def _built_in(name: str, number: int) -> Iterator[Judged]:
    """Phrases of the part that nobody trains on."""
    match = BUILT_IN.fullmatch(name)
    assert match is not None
    drawn = phrases(cast(Language, match[2]), "test", longest=SHORT if match[1] else LONGEST)
    for one in islice(drawn, number):
        sure = frozenset(one.alignment)
        yield Segmented(one.source, one.source_words), Segmented(one.target, one.target_words), Gold(sure, sure)
