"""The model card: what is in a folder, from what data, with which scores, and how it is used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.config import Where
from regard.disk import write_text
from regard.hub.out.target import Target
from regard.models.count import count
from regard.runs import Run

PURPOSES = {"language model": "text-generation", "translator": "translation", "captioner": "image-to-text"}


def write_card(run: Run, target: Target, folder: Path, place: Path) -> None:
    """README.md in a folder that will stand at `place`."""
    use = "\n\n".join([f"```python\n{target.example(run, str(place))}\n```", *_limits(run)])
    write_text(folder / "README.md", card(run, target.engine, use))


def own_card(run: Run) -> str:
    """The card of a run as it is, for people who have regard."""
    name = run.folder.path.resolve().name
    return card(run, "regard", f"```\nregard {run.task.commands[0]} {name}\nregard look {name}\n```")


def card(run: Run, library: str, use: str) -> str:
    """The card of a run for whoever has that library; `use` says how it is used, as Markdown."""
    return "\n".join(_lines(run, library, use)) + "\n"


def summary(run: Run) -> str:
    """What it is and from what data, in one sentence."""
    numbers = count(run.new_model()).total
    if run.recipe.origin is not None:
        origin = run.recipe.origin
        licence = f", licence {origin.licence}" if origin.licence else ""
        return (
            f"A {run.task.title} of {numbers:,} parameters, from {Path(origin.file).name} ({origin.family}{licence})."
        )
    return (
        f"A {run.task.title} of {numbers:,} parameters, trained with regard on {_named(run.recipe.data.train)}, "
        f"{run.recipe.data.kind if run.recipe.data.kind != 'auto' else run.task.name}."
    )


def _lines(run: Run, library: str, use: str) -> Iterator[str]:
    purpose = PURPOSES.get(run.task.title, "text-classification")
    yield from ("---", f"library_name: {library}", f"pipeline_tag: {purpose}", "tags:", "- regard", "---", "")
    yield from (f"# {run.folder.path.resolve().name}", "", summary(run), "")
    if scores := _held_out(run):
        yield from ("On what was held out:", "", "| figure | value |", "|---|---|")
        yield from (f"| {name} | {value:g} |" for name, value in scores.items() if isinstance(value, float))
        yield ""
    yield use


def _limits(run: Run) -> Iterator[str]:
    """What regard does with any text, and another engine does not."""
    if run.tokenizer.to_json()["kind"] == "characters":
        yield "A character that was not in the training text is unknown to this tokenizer; regard spells it in bytes."
    if not run.task.has_source and run.model.grows:
        length = run.recipe.train.length
        yield f"Trained on {length} tokens at a time: behind that regard reads the last half again, engines do not."


def _held_out(run: Run) -> dict[str, Any]:
    """The figures of the look whose weights these are."""
    looks = [entry["held_out"] for entry in run.folder.read_log() if entry.get("best")]
    return looks[-1] if looks else {}


def _named(where: Where) -> str:
    """Files by their names alone: where they are on a machine is nobody else's business."""
    return " and ".join(Path(one).name for one in (where if isinstance(where, tuple) else (where,)))
