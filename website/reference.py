"""The reference, generated: commands from what they declare, settings and Python from their docstrings."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

import regard
import regard.layers
from regard import config
from regard.cli.commands import COMMANDS
from regard.cli.help import help_for
from regard.config.settings import Settings, meanings

SECTIONS: dict[str, tuple[type[Settings], ...]] = {
    "data": (config.Data,),
    "text": (config.Text,),
    "train": (config.Train,),
    "model": (
        config.LanguageModel,
        config.Seq2Seq,
        config.Classifier,
        config.Tagger,
        config.Transducer,
        config.FromRun,
    ),
    "model.layer, model.encoder, model.decoder, model.history": (config.Recurrent, config.Transformer, config.Vision),
    "pictures": (config.Pictures,),
}


def pages() -> dict[str, str]:
    """Name → Markdown."""
    made = {"commands": commands(), "settings": settings(), "python": python(), "layers": layers()}
    return {name: "\n\n".join(parts) + "\n" for name, parts in made.items()}


def commands() -> Iterator[str]:
    """What `regard COMMAND --help` prints, for every command."""
    yield "# Every command"
    yield "What `regard COMMAND --help` says. Options may stand anywhere behind the command."
    for name, kind in COMMANDS.items():
        yield f"## regard {name}"
        yield (inspect.getdoc(kind) or "").split("\n\n")[0]
        yield f"```text\n{help_for(kind).rstrip()}\n```"


def settings() -> Iterator[str]:
    """Every setting of a recipe, with its default and what it means."""
    yield "# Every setting"
    yield (
        "A recipe is a TOML file with these sections; on the command line `--section.name value`, in Python "
        '`settings={"section.name": value}`. What they do to a training is told in [training](../docs/training.md).'
    )
    for section, kinds in SECTIONS.items():
        yield f"## [{section}]"
        for kind in kinds:
            if len(kinds) > 1:
                yield f"### {section.split(',')[0]}: {kind.__name__}"
            yield _text(inspect.getdoc(kind) or "")
            told = meanings(kind)
            rows = [(f"`{one.name}`", _default(one), _cell(told.get(one.name, ""))) for one in fields(kind)]  # type: ignore[arg-type]
            yield "\n".join(
                ["| setting | default | what it is |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
            )


def python() -> Iterator[str]:
    """What `import regard` offers."""
    yield "# Python: what `import regard` offers"
    yield "How it is used stands in [Python and notebooks](../docs/python.md)."
    for name in regard.__all__:
        thing = getattr(regard, name)
        if name.startswith("_") or not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        yield from _told(f"regard.{name}", thing)
        if inspect.isclass(thing) and not issubclass(thing, Settings):  # what settings are stands on their page
            for called, method in inspect.getmembers(thing, inspect.isfunction):
                home = getattr(method, "__module__", "")
                if not called.startswith("_") and home.startswith("regard") and inspect.getdoc(method):
                    yield from _told(f"{name}.{called}", method, level=3)


def layers() -> Iterator[str]:
    """Every mechanism: the equation that its docstring begins with."""
    yield "# Every layer, by its equation"
    yield "The classes of `regard.layers`. Which line computes what stands in the [lineage](../docs/lineage.md)."
    for module in pkgutil.iter_modules(regard.layers.__path__):
        room = importlib.import_module(f"regard.layers.{module.name}")
        own = [thing for _, thing in inspect.getmembers(room, inspect.isclass) if thing.__module__ == room.__name__]
        told = [thing for thing in own if thing.__doc__ and not thing.__name__.startswith("_")]
        if not told:
            continue
        yield f"## regard.layers.{module.name}"
        yield _text(inspect.getdoc(room) or "")
        for thing in told:
            yield f"### {thing.__name__}"
            yield _text(inspect.getdoc(thing) or "")


def _told(name: str, thing: Any, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    if signature := _signature(name, thing):
        yield f"```{'text' if '…' in signature else 'python'}\n{signature}\n```"
    yield _text(inspect.getdoc(thing) or "")


def _signature(name: str, thing: Any) -> str:
    """How it is called, without types, which stand in the code."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    shown = [one.replace(annotation=one.empty) for one in found.parameters.values() if one.name != "self"]
    listed = str(found.replace(parameters=shown, return_annotation=found.empty))
    return f"{name}{listed}" if "<" not in listed else f"{name}(…)"


def _default(one: Field) -> str:
    if one.default is MISSING:
        return ""
    return f"`{one.default!r}`" if one.default not in ("", ()) else "none"


def _text(docstring: str) -> str:
    """A docstring is plain text: only its `code` means something to Markdown. What is set off stays set off."""
    return "\n\n".join(_paragraph(part) for part in docstring.split("\n\n"))


def _paragraph(text: str) -> str:
    if all(line.startswith("  ") for line in text.splitlines()):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    parts = text.split("`")
    return "`".join(_escaped(part) if place % 2 == 0 else part for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    for sign in "\\*_[]<>#$|":
        text = text.replace(sign, "\\" + sign)
    return text


def _cell(text: str) -> str:
    return _paragraph(" ".join(text.split())).replace("\n", " ")
