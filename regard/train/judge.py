"""`regard evaluate`: every figure of a run, on its own held-out data or on other data."""

from pathlib import Path
from typing import Any

import torch

from regard.config import Where, carries_state
from regard.data import store
from regard.data.corpus import kind_of, read_pairs, read_texts
from regard.errors import UserError
from regard.runs import Run, load_run
from regard.text import START, STOP
from regard.train.evaluate import answers, held_out_batches, look, text_scores
from regard.train.loss import Objective
from regard.train.parallel import World
from regard.train.prepare import Material, material, sides_of
from regard.train.report import watched


def judge(path: Path, where: Where | None = None, *, precision: str = "float32", beam: int = 1) -> dict[str, Any]:
    """Figures by name, with their signatures. Without data: on the run's test part, or else its held-out one."""
    run = load_run(path, precision=precision)
    split = None
    part = "given data"
    if where is None:
        where, split = sides_of(run.recipe.data, "test")
        part = "test"
    if not where:
        return {"data": "held out", **_figures(run, material(run.folder), None, beam)}
    own = "pairs" if run.model_config.kind == "seq2seq" else "text"
    if kind_of(where) != own:
        name = where if isinstance(where, str) else ", ".join(where)
        raise UserError(f"{name} holds {kind_of(where)}, this run was trained on {own}")
    if kind_of(where) == "text":
        return {"data": part, **_figures(run, _text(run, where, split), None, beam)}
    pairs = list(read_pairs(where, split))
    sources = run.source_tokenizer.encode_all([pair.source for pair in pairs])
    targets = run.tokenizer.encode_all([pair.target for pair in pairs])
    size = sum(len(pair.target.encode()) for pair in pairs)
    held = tuple(store.gather(side) for side in (sources, targets))
    material_of_pairs = Material("pairs", (), held, size, {})
    return {"data": part, **_figures(run, material_of_pairs, [pair.target for pair in pairs], beam)}


def against_float32(path: Path, where: Where | None, precision: str, beam: int) -> dict[str, dict[str, Any]]:
    """The figures in that precision, those in float32, and how much they changed."""
    here, there = (judge(path, where, precision=one, beam=beam) for one in (precision, "float32"))
    change = {name: here[name] - there[name] for name in here if isinstance(here[name], float)}
    return {precision: here, "float32": there, "change": change}


def _text(run: Run, where: Where, split: Any) -> Material:
    tokens: list[int] = []
    size = 0
    for document in read_texts(where, split):
        text = "".join(document)
        tokens += [START, *run.tokenizer.encode(text), STOP]
        size += len(text.encode())
    return Material("text", (), (store.gather([tokens]),), size, {})


def _figures(run: Run, held: Material, references: list[str] | None, beam: int) -> dict[str, Any]:
    objective = Objective(run.model, 0.0, torch.float32)
    batches = watched(held_out_batches(held, run.recipe.train.length), "reading")
    carry = carries_state(run.model_config)
    figures: dict[str, Any] = dict(look(objective, held, batches, torch.device("cpu"), World(), carry))
    if held.kind == "pairs":
        source, target = held.valid
        sources = (source[i] for i in range(len(source)))
        found = answers(run.model, sources, run.tokenizer, room=run.room, beam=beam)  # type: ignore[arg-type]
        outputs = list(watched(found, "translating", len(source)))
        references = references or [run.tokenizer.decode(target[i]) for i in range(len(target))]
        for name, score in text_scores(outputs, references).items():
            figures[name] = score.value
            if score.signature:
                figures[f"{name}_signature"] = score.signature
    return figures
