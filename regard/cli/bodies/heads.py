"""`regard heads`: the profile of every head."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from regard.cli.bodies.paper import paper
from regard.cli.commands.heads import SHARES, HeadsCommand
from regard.cli.screen import console, is_bounded, whole
from regard.data.tagged import read_trees
from regard.disk import write_text
from regard.errors import counted
from regard.evaluate.samples import marks_for, samples
from regard.look.heads.induction import LENGTH, Induction, induction
from regard.look.heads.profile import Example, Profile, affordable, heads_of, longest_text, profiles, switched_off
from regard.look.heads.relations import Best, Parsed, Relation, relations
from regard.look.pictures.profiles import ProfileGrid
from regard.look.pictures.save import save
from regard.look.pictures.style import HONEST
from regard.look.units import Unit
from regard.progress import watched
from regard.runs import Run, load_run
from regard.tasks import spread


def heads(asked: HeadsCommand) -> int:
    run = load_run(asked.run, precision=asked.precision)
    run.check("heads")
    units = heads_of(run.model)
    every, tokenizer = samples(run, asked.where, longest_text(len(units))), run.source_tokenizer
    examples, marks = [every[at] for at in spread(len(every), asked.number)], marks_for(run, every)
    found = {
        one.name: one for one in profiles(run.model, tokenizer, watched(examples, "reading", len(examples)), marks)
    }
    twice = None if run.task.has_source else _twice(run)
    for name, score in (twice.scores if twice else {}).items():
        found[name].induction = score
    grammar, best = _grammar(run, asked.conllu, asked.sentences) if asked.conllu else ([], {})
    shown = _sorted(list(found.values()), best, asked)
    names = {one.name for one in (found.values() if asked.sort == "loss" else shown)}
    note = _switch_off(run, examples, [unit for unit in units if str(unit) in names], found, asked)
    shown = _sorted(list(found.values()), best, asked)
    if asked.save is not None:
        if asked.save.suffix == ".json":
            write_text(asked.save, json.dumps(_figures(found.values(), best, twice, grammar), indent=1) + "\n")
        else:
            grid = ProfileGrid.of(f"{asked.run}: what each head looks at", shown)
            save(grid, asked.save, paper(asked.paper, [asked.run]))
    if asked.json:
        print(json.dumps(_figures(found.values(), best, twice, grammar)))
        return 0
    _show(shown, best, twice, len(examples))
    if note:
        print(note)
    if grammar:
        _show_relations(grammar)
    return 0


def _switch_off(
    run: Run, examples: list[Example], units: list[Unit], found: dict[str, Profile], asked: HeadsCommand
) -> str:
    """What each of these heads costs, or why that is left out."""
    if not any(example.target for example in examples):
        return ""  # what says nothing can lose nothing
    if asked.sort != "loss" and not affordable(run.model, examples, len(units)):
        more = counted(len(units), "time")
        return f"Δ loss is left out: all texts would be read {more} more; --sort loss measures it."
    for unit, change in watched(switched_off(run.model, examples, units), "switching off", len(units)):
        found[str(unit)].loss = change
    return ""


def _figures(
    found: Iterable[Profile], best: dict[str, Best], twice: Induction | None, grammar: list[Relation]
) -> dict[str, Any]:
    heads = [asdict(one) | {"relation": best[one.name]._asdict() if one.name in best else None} for one in found]
    copied = {"first": twice.first, "again": twice.again} if twice else None
    return {"heads": heads, "induction_loss": copied, "relations": [one._asdict() for one in grammar]}


def _twice(run: Run) -> Induction:
    length = min(LENGTH, ((run.model.longest or sys.maxsize) - 1) // 2)
    return induction(run.model, run.tokenizer.vocabulary, length=length)


def _grammar(run: Run, path: Path, most: int) -> tuple[list[Relation], dict[str, Best]]:
    longest, tokenizer = run.model.longest or sys.maxsize, run.source_tokenizer
    trees = [tree for tree in read_trees(path) if len(tokenizer.encode(tree.text)) < longest]
    chosen = [Parsed(*trees[at]) for at in spread(len(trees), most)]
    return relations(run.model, tokenizer, watched(chosen, "parsing", len(chosen)), run.task.has_source)


def _sorted(found: list[Profile], best: dict[str, Best], asked: HeadsCommand) -> list[Profile]:
    """Largest first, as many as are wanted, uniform weights last."""
    key = asked.sort

    def value(one: Profile) -> float:
        if key in SHARES:
            return one.shares[key]
        if key == "offset":
            return one.offsets[one.offset]
        if key == "relation":
            return best[one.name].accuracy - best[one.name].to_beat if one.name in best else 0.0
        return (one.loss or (0.0, 0.0))[0] if key == "loss" else getattr(one, key) or 0.0

    *heads, without_choice = found
    ordered = heads if key == "head" else sorted(heads, key=value, reverse=True)
    return [*ordered[: asked.show or None], without_choice]


def _show(found: list[Profile], best: dict[str, Best], twice: Induction | None, texts: int) -> None:
    columns = ["confidence", "entropy", *SHARES, "offset"]
    lost = any(one.loss for one in found)
    columns += [name for name, shown in (("induction", twice), ("relation", best), ("Δ loss", lost)) if shown]
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
        if lost:
            cells.append(f"{one.loss[0]:+.4f} ± {one.loss[1]:.4f}" if one.loss else "")
        table.add_row(one.name, *cells, end_section=one is found[-2])
    said = [
        f"{counted(texts, 'text')}. Uniform: what weights without a choice would give on the same texts. "
        "Confidence: mean largest weight. Entropy in bits. First … dates: share of the weight on such tokens. Offset: "
        "the one that gets most; -1 is the token before."
    ]
    if lost:
        said.append("Δ loss: nats a token when the head is switched off, ± 95 %.")
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
    screen = console(180)
    screen.print(whole(table))
    screen.print(f"{said} {HONEST[0].upper()}{HONEST[1:]}.", soft_wrap=not is_bounded())
