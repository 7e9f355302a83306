"""`regard heads`: the profile of every head."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from regard.cli.command import Command, no_settings
from regard.cli.lines import output_to
from regard.cli.options import add_run
from regard.data.tagged import read_trees
from regard.errors import UserError, unknown
from regard.look.heads.induction import LENGTH, Induction, induction
from regard.look.heads.profile import Profile, head_paths, look_at, profiles, switched_off
from regard.look.heads.relations import Best, Parsed, Relation, relations
from regard.look.pictures.render import HONEST
from regard.runs import Run, load_run

SHARES = ("first", "stop", "rare", "digits", "dates")
KEYS = ("head", "confidence", "entropy", *SHARES, "offset", "induction", "relation", "loss")


def add(command: Command) -> None:
    """The command that measures heads."""
    heads = command(
        "heads",
        _heads,
        "what each head of self-attention looks at, beside what weights without a choice would give",
        "  regard heads runs/mine\n"
        "  regard heads runs/mine --sort induction\n"
        "  regard heads runs/mine --data other.txt --conllu en_ewt-ud-dev.conllu --json heads.json",
    )
    add_run(heads)
    heads.add_argument(
        "--data",
        nargs="+",
        default=[],
        metavar="FILE",
        help="what to read, as for evaluate (default: the held-out part)",
    )
    heads.add_argument("--texts", type=int, default=100, metavar="N", help="stretches of it (default: %(default)s)")
    heads.add_argument("--conllu", type=Path, metavar="FILE", help="parsed sentences: measures grammatical relations")
    heads.add_argument(
        "--sentences", type=int, default=2000, metavar="N", help="of these at most (default: %(default)s)"
    )
    heads.add_argument("--sort", default="head", metavar="KEY", help=f"largest first: {', '.join(KEYS)}")
    heads.add_argument("--json", type=Path, metavar="FILE", help="all figures, offsets by offset")


def _heads(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.evaluate.samples import marks_for, samples
    from regard.progress import watched
    from regard.tasks import spread

    no_settings(settings)
    if known.sort not in KEYS:
        raise unknown("key", known.sort, KEYS)
    if min(known.texts, known.sentences) < 1:
        raise UserError(f"heads wants one text or more, found {min(known.texts, known.sentences)}")
    run = load_run(known.path, precision=known.precision)
    run.check("heads")
    head_paths(run.model)
    where = tuple(known.data) if len(known.data) > 1 else next(iter(known.data), None)
    every, tokenizer = samples(run, where), run.source_tokenizer
    examples, marks = [every[at] for at in spread(len(every), known.texts)], marks_for(run, every)
    found = {
        one.name: one for one in profiles(run.model, tokenizer, watched(examples, "reading", len(examples)), marks)
    }
    units = list(look_at(run.model, examples[0]))
    for unit, change in watched(switched_off(run.model, examples, units), "switching off", len(units)):
        found[str(unit)].loss = change
    twice = None if run.task.has_source else _twice(run)
    for name, score in (twice.scores if twice else {}).items():
        found[name].induction = score
    grammar, best = _grammar(run, known.conllu, known.sentences) if known.conllu else ([], {})
    _show(_sorted(list(found.values()), best, known.sort), best, twice, len(examples))
    if grammar:
        _show_relations(grammar)
    if known.json is not None:
        heads = [
            asdict(one) | {"relation": best[one.name]._asdict() if one.name in best else None} for one in found.values()
        ]
        copied = {"first": twice.first, "again": twice.again} if twice else None
        shown = {"heads": heads, "induction_loss": copied, "relations": [one._asdict() for one in grammar]}
        with output_to(known.json) as output:
            print(json.dumps(shown, indent=1), file=output)
    return 0


def _twice(run: Run) -> Induction:
    length = min(LENGTH, ((run.model.longest or sys.maxsize) - 1) // 2)
    return induction(run.model, run.tokenizer.vocabulary, length=length)


def _grammar(run: Run, path: Path, most: int) -> tuple[list[Relation], dict[str, Best]]:
    from regard.progress import watched
    from regard.tasks import spread

    longest, tokenizer = run.model.longest or sys.maxsize, run.source_tokenizer
    trees = [tree for tree in read_trees(path) if len(tokenizer.encode(tree.text)) < longest]
    chosen = [Parsed(*trees[at]) for at in spread(len(trees), most)]
    return relations(run.model, tokenizer, watched(chosen, "parsing", len(chosen)), run.task.has_source)


def _sorted(found: list[Profile], best: dict[str, Best], key: str) -> list[Profile]:
    """Largest first, uniform weights last."""

    def value(one: Profile) -> float:
        if key in SHARES:
            return one.shares[key]
        if key == "offset":
            return one.offsets[one.offset]
        if key == "relation":
            return best[one.name].accuracy - best[one.name].to_beat if one.name in best else 0.0
        return (one.loss or (0.0, 0.0))[0] if key == "loss" else getattr(one, key) or 0.0

    *heads, without_choice = found
    return [*(heads if key == "head" else sorted(heads, key=value, reverse=True)), without_choice]


def _show(found: list[Profile], best: dict[str, Best], twice: Induction | None, texts: int) -> None:
    columns = ["confidence", "entropy", *SHARES, "offset"]
    columns += [name for name, shown in (("induction", twice), ("relation", best)) if shown] + ["Δ loss"]
    table = Table("head", *columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in found:
        cells = [f"{one.confidence:.2f}", f"{one.entropy:.2f}", *(f"{one.shares[name]:.3f}" for name in SHARES)]
        cells.append(f"{one.offset:+d}: {one.offsets[one.offset]:.2f}")
        if twice:
            cells.append(f"{one.induction:.3f}")
        if best:
            cells.append(_relation(best[one.name]) if one.name in best else "")
        cells.append(f"{one.loss[0]:+.4f} ± {one.loss[1]:.4f}" if one.loss else "")
        table.add_row(one.name, *cells, end_section=one is found[-2])
    said = [
        f"{texts} texts. Uniform: what weights without a choice would give on the same texts. Confidence: mean largest "
        "weight. Entropy in bits. First … dates: share of the weight on such tokens. Offset: the one that gets most; "
        "-1 is the token before. Δ loss: nats a token when the head is switched off, ± 95 %."
    ]
    if twice:
        said.append(
            f"Induction: weight on what followed a random token the first time; such text costs {twice.first:.2f} nats "
            f"a token, and {twice.again:.2f} when it comes again."
        )
    if best:
        said.append(
            "Relation: where the head is furthest above offset and chance (in brackets); chosen on one half of "
            "the sentences, reported on the other."
        )
    _print(table, " ".join(said))


def _relation(one: Best) -> str:
    return f"{one.relation} {one.direction} {one.accuracy:.2f} ({one.to_beat:.2f})"


def _show_relations(grammar: list[Relation]) -> None:
    table = Table("relation", "looks", "number", "best head", "accuracy", "best offset", "its accuracy", "chance")
    for column in [*table.columns[2:3], *table.columns[4:]]:
        column.justify = "right"
    for one in grammar:
        figures = f"{one.accuracy:.3f}", f"{one.offset:+d}", f"{one.offset_accuracy:.3f}", f"{one.chance:.3f}"
        table.add_row(one.relation, one.direction, str(one.number), one.head, *figures)
    _print(
        table,
        "Head and offset are the best of one half of the sentences; number and accuracies are of the other. A head "
        "that is not above its offset has learnt a distance, not a relation. From a word's last token, to the sum over "
        "the tokens of another word.",
    )


def _print(table: Table, said: str) -> None:
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 180, highlight=False)
    console.print(table)
    console.print(f"{said} {HONEST[0].upper()}{HONEST[1:]}.", soft_wrap=not terminal)
