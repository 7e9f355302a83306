"""`regard look`."""

from dataclasses import replace
from pathlib import Path

import torch

from regard.cli.bodies.paper import paper
from regard.cli.command import STANDARD
from regard.cli.commands.look import TRACE, LookCommand
from regard.cli.lines import at_terminal, read_text
from regard.cli.screen import WIDE, console
from regard.config.looking import Choice, Recording
from regard.data.images import read_picture
from regard.errors import UserError
from regard.look.coding import load_record, save_record
from regard.look.gradients import memory
from regard.look.pictures.save import save
from regard.look.pictures.view import View
from regard.look.pictures.views import gradients_view, view_of
from regard.look.record import Record
from regard.page.answers import Answers
from regard.page.kept import Kept
from regard.page.open import serve
from regard.page.story import story_named
from regard.runs import Run, load_run


def look(asked: LookCommand) -> int:
    if asked.on_page:
        return _page(asked)
    if asked.saved:
        return _shown(view_of(load_record(asked.run), asked.choice or Choice(), None), asked)
    choice, tap = asked.choice or Choice(), (asked.choice or Choice()).unit.partition("[")[0]
    wishes = replace(asked.recording or Recording(), paths=(tap,) if tap else ())
    run = load_run(asked.run, precision=asked.precision)
    text = _text(run, asked.text)
    record = _record(run, text, wishes)
    if asked.save is not None and asked.save.suffix == TRACE:
        save_record(record, asked.save, exact=asked.exact)
        return 0
    if choice.view == "gradients":
        found = {str(asked.run): memory(run.model, record)}
        for path in asked.also:
            other = load_run(path)
            found[str(path)] = memory(other.model, _record(other, text, wishes))
        view: View = gradients_view(found, choice.unit)
    else:
        view = view_of(record, choice, run.model)
    return _shown(view, asked)


def _shown(view: View, asked: LookCommand) -> int:
    """A view in a file, or on the terminal."""
    if asked.save is not None:
        save(view, asked.save, paper(asked.paper, (asked.run, *asked.also)))
    else:
        screen = console(WIDE)
        screen.print(view.terminal(screen.width), soft_wrap=True)
        screen.print(f"[dim]{view.title}\n{view.said}[/dim]")
    return 0


def _page(asked: LookCommand) -> int:
    """The page about these runs, or about a record that was saved, until it is interrupted."""
    if asked.saved:
        if asked.story:
            raise UserError(f"a story asks the model, and {asked.run} is without it; look at the run")
        serve(Kept(asked.run), port=asked.port, browser=not asked.no_open)
        return 0
    runs = [load_run(path, precision=asked.precision) for path in (asked.run, *asked.second, *asked.also)]
    typed = "" if asked.second else asked.text or ""
    text = read_text(STANDARD) if typed == STANDARD else typed
    if text and runs[0].task.reads == "picture":
        raise UserError("the page of a captioner lets you choose a picture there; leave it out here, or add --view map")
    told = [story_named(asked.story)] if asked.story else []
    name = told[0].name if told else ""
    serve(Answers(runs, told), text, story=name, port=asked.port, browser=not asked.no_open)
    return 0


def _text(run: Run, text: str | None) -> str:
    """What there is to read; standard input can be read only once."""
    if run.task.reads == "text" and (text == STANDARD or (text is None and not at_terminal())):
        text = read_text(STANDARD)
    if not text or text == STANDARD:
        wanted = f"there is no {run.task.reads} to look at"
        raise UserError(f'{wanted}; write it behind the run: regard look {run.folder.path} "…"')
    return text


def _record(run: Run, text: str, wishes: Recording) -> Record:
    if run.task.reads == "text":
        return run.record(text, wishes)
    return run.record(torch.from_numpy(read_picture(Path(text), run.recipe.pictures.side)), wishes)
