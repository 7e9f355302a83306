"""`regard look`."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from regard.cli.command import Command, no_settings
from regard.cli.lines import STANDARD, at_terminal, read_text
from regard.cli.options import add_run
from regard.config.looking import Choice, Recording
from regard.errors import UserError
from regard.look.coding import save_record
from regard.look.record import Record
from regard.runs import Run, load_run

TRACE = ".trace"
CHOICE = {
    "view": "map, heads, text, gradients or beam; none: a map where there is attention, else coloured text",
    "attention": "cross (what it wrote to what it read), self or encoder (within one of them); none: the first",
    "layer": "of that attention, from 0; -1: the mean of all",
    "head": "from 0; -1: the mean of all",
    "unit": "for --view text: a cell as path[number]; none: one that varies much",
    "measure": "for --view map: attention, norms (times the length of the values), rollout (an approximation), "
    "gradient (x input), off (change of log p without the token)",
    "reading": "whose row it is: fed or predicted; none: as is the habit for that attention",
}
RECORDING = {
    "beam": "for what is written: hypotheses followed at once",
    "length": "for a language model: tokens that it goes on for; 0: it only reads the text",
    "answer": "for a translator or captioner: what it is made to say",
}


def add(command: Command) -> None:
    """The command that shows what is inside."""
    look = command(
        "look",
        _look,
        "where a run looked, and what its cells said, while it read a text and answered it",
        "  regard look runs/fr                                                  (the page, in a browser)\n"
        '  regard look runs/rnn "we are eating bread" --also runs/attention     (two runs to compare)\n'
        '  regard look runs/fr "we are eating bread" --view map                 (on the terminal)\n'
        '  regard look runs/fr "we are eating bread" --save map.svg             (png, pdf, html, csv, json, npz)\n'
        "  regard look runs/mine - --view heads --save heads.png < part.txt\n"
        "  regard look runs/mine \"it's\" --view text --unit 'layer.layers.0.cells[7]' --save cell.html\n"
        '  regard look runs/rnn "a long text" --view gradients --also runs/lstm --save memory.svg\n'
        '  regard look runs/fr "we are eating bread" --view beam --save tree.png\n'
        "  regard look runs/photos dog.jpg --save looks.png                     (a captioner reads a picture)\n"
        '  regard look runs/fr "we are eating bread" --save all.trace           (everything, to look at later)',
    )
    add_run(look)
    look.add_argument(
        "text", nargs="?", metavar="TEXT", help="what to read, for a captioner a picture; -: standard input"
    )
    look.add_argument("--save", type=Path, metavar="FILE", help="as svg, png, pdf, html, csv, json, npz or trace")
    for name, text in (CHOICE | RECORDING).items():
        look.add_argument(
            f"--{name}", help=text, metavar="N" if name in ("layer", "head", "beam", "length") else "NAME"
        )
    look.add_argument(
        "--also", nargs="+", type=Path, default=[], metavar="RUN", help="runs beside, on the page or for gradients"
    )
    look.add_argument("--port", type=int, default=0, metavar="N", help="of the page; 0: any that is free")
    look.add_argument("--no-open", action="store_true", help="serve the page, and let me open it")
    look.add_argument("--exact", action="store_true", help="for a trace: attention in float32, four times the size")


def _look(known: argparse.Namespace, settings: dict[str, Any]) -> int:
    from regard.look.gradients import memory
    from regard.look.pictures.save import check, save
    from regard.look.pictures.view import View
    from regard.look.pictures.views import gradients_view, view_of

    no_settings(settings)
    if known.save is None and all(getattr(known, name) is None for name in CHOICE | RECORDING):
        return _page(known)
    choice, wishes = _wishes(Choice, known), _wishes(Recording, known, paths=_path(known.unit))
    if known.also and choice.view != "gradients":
        raise UserError("--also lays the gradients of several runs over each other; add --view gradients")
    if known.save is not None and known.save.suffix != TRACE:
        check(known.save)
    run = load_run(known.path, precision=known.precision)
    asked = _asked(run, known.text)
    record = _record(run, asked, wishes)
    if known.save is not None and known.save.suffix == TRACE:
        save_record(record, known.save, exact=known.exact)
        return 0
    if choice.view == "gradients":
        found = {str(known.path): memory(run.model, record)}
        for path in known.also:
            other = load_run(path)
            found[str(path)] = memory(other.model, _record(other, asked, wishes))
        view: View = gradients_view(found, known.unit or "")
    else:
        view = view_of(record, choice, run.model)
    if known.save is not None:
        save(view, known.save)
    else:
        console = Console(highlight=False)
        console.print(view.terminal(), soft_wrap=True)
        console.print(f"[dim]{view.title}\n{view.said}[/dim]")
    return 0


def _page(known: argparse.Namespace) -> int:
    """The page about these runs, until it is interrupted."""
    from regard.page.open import serve

    if not 0 <= known.port < 2**16:
        raise UserError(f"--port wants a number from 0 to 65535, found {known.port}")
    runs = [load_run(path, precision=known.precision) for path in (known.path, *known.also)]
    text = read_text(STANDARD) if known.text == STANDARD else known.text or ""
    if text and runs[0].task.reads == "picture":
        raise UserError("the page of a captioner lets you choose a picture there; leave it out here, or add --view map")
    serve(runs, text, port=known.port, browser=not known.no_open)
    return 0


def _wishes(kind: type[Any], known: argparse.Namespace, **more: Any) -> Any:
    """The settings of a kind that were chosen, the others as by default."""
    values = {}
    for setting in fields(kind):
        word = getattr(known, setting.name, None)
        if word is not None:
            values[setting.name] = _whole(setting.name, word) if setting.type is int else word
    return kind(**values, **more)


def _whole(name: str, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise UserError(f"--{name} wants a whole number, found '{word}'") from None


def _path(unit: str | None) -> tuple[str, ...]:
    """The tap of a cell, which must be recorded."""
    return (unit.partition("[")[0],) if unit else ()


def _asked(run: Run, text: str | None) -> str:
    """What there is to read; standard input can be read only once."""
    if run.task.reads == "text" and (text == STANDARD or (text is None and not at_terminal())):
        text = read_text(STANDARD)
    if not text or text == STANDARD:
        wanted = f"there is no {run.task.reads} to look at"
        raise UserError(f'{wanted}; write it behind the run: regard look {run.folder.path} "…"')
    return text


def _record(run: Run, asked: str, wishes: Recording) -> Record:
    if run.task.reads == "text":
        return run.record(asked, wishes)
    from regard.data.images import read_picture

    return run.record(torch.from_numpy(read_picture(Path(asked), run.recipe.pictures.side)), wishes)
