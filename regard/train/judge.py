"""`regard evaluate`: every figure of a run, on its own held-out data or on other data."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.config import Where
from regard.config.decoding import Search
from regard.data import store
from regard.data.corpora.scenes import scenes
from regard.data.corpus import Split, kind_of, read_texts
from regard.errors import UserError
from regard.look.align.weights import over_source
from regard.progress import watched
from regard.runs import Run, load_run
from regard.text import START, STOP, Labels
from regard.train.captions import gathered_captions
from regard.train.evaluate import ARGMAX, SCORES, answers, held_out_batches, look
from regard.train.examples import READERS, data_of, encode, reasons, sides_of
from regard.train.loss import Objective
from regard.train.parallel import World
from regard.train.pointing import pointing
from regard.train.prepare import Material, material
from regard.train.report import draw_confusion


def judge(
    path: Path,
    where: Where | None = None,
    *,
    precision: str = "float32",
    search: Search = ARGMAX,
    ensemble: Sequence[str | Path] = (),
) -> dict[str, Any]:
    """Figures by name, with their signatures. Without data: on the run's test part, or else its held-out one."""
    run = load_run(path, precision=precision, ensemble=ensemble)
    split = None
    part = "given data"
    if where is None:
        where, split = sides_of(run.recipe.data, "test")
        part = "test"
    if not where:
        return {"data": "held out", **_figures(run, material(run.folder), None, search)}
    own = data_of(run.model_config)
    if kind_of(where, own) != own:
        name = where if isinstance(where, str) else ", ".join(where)
        raise UserError(f"{name} holds {kind_of(where)}, this run was trained on {own}")
    if own == "text":
        return {"data": part, **_figures(run, given_text(run, where, split), None, search)}
    if own == "captions":
        return {"data": part, **_captions(run, where, split, search)}
    examples = list(READERS[own](where, split, None))
    held = tuple(store.gather(side) for side in encode(own, examples, (run.source_tokenizer, run.tokenizer)))
    targets = [example.target for example in examples]
    size = sum(len(target.encode()) for target in targets)
    references = targets if own == "pairs" else None
    return {"data": part, **_figures(run, Material(own, (), held, size, {}), references, search)}


def against_float32(path: Path, where: Where | None, precision: str, **wishes: Any) -> dict[str, dict[str, Any]]:
    """The figures in that precision, those in float32, and how much they changed."""
    here, there = (judge(path, where, precision=one, **wishes) for one in (precision, "float32"))
    change = {name: here[name] - there[name] for name in here if isinstance(here[name], float)}
    return {precision: here, "float32": there, "change": change}


def held_out_texts(run: Run) -> list[str]:
    """The documents of a language model's test part, or else of its held-out one."""
    where, split = sides_of(run.recipe.data, "test")
    if where:
        return ["".join(document) for document in read_texts(where, split)]
    tokens = material(run.folder).valid[0].tokens
    parts = np.split(tokens, np.flatnonzero(tokens == START))
    return [text for text in (run.tokenizer.decode(part) for part in parts) if text]


def _captions(run: Run, where: Where, split: Split | None, search: Search) -> dict[str, Any]:
    """The figures of captions; on drawn scenes also whether each word looked at what it names."""
    skipped: Counter[str] = Counter()
    album, target, references = gathered_captions(run, where, split, skipped)
    held = Material(
        "captions", (), (album, target), sum(len(text.encode()) for each in references for text in each), {}
    )
    figures = {"pictures": len(album), **_figures(run, held, references, search)}
    if skipped:
        figures["left_out"] = reasons(skipped)
    if where == "scenes" and over_source(run.model):
        scored = pointing(run.model, run.tokenizer, list(scenes(split or "test")), run.recipe.pictures.side)
        figures |= {f"pointing_{name}": value for name, value in scored._asdict().items()}
    return figures


def given_text(run: Run, where: Where, split: Split | None = None) -> Material:
    """Text that is no part of the run, as its tokens."""
    tokens: list[int] = []
    size = 0
    for document in read_texts(where, split):
        text = "".join(document)
        tokens += [START, *run.tokenizer.encode(text), STOP]
        size += len(text.encode())
    return Material("text", (), (store.gather([tokens]),), size, {})


def _figures(run: Run, held: Material, references: Sequence[Any] | None, search: Search) -> dict[str, Any]:
    """`references` as they were written; without them, as the tokenizer knows them."""
    objective = Objective(run.model, 0.0, torch.float32)
    batches = watched(held_out_batches(held, run.recipe.train.length), "reading")
    figures: dict[str, Any] = dict(look(objective, held, batches, torch.device("cpu"), World()))
    if held.kind == "text":
        return figures
    found = list(watched(answers(run, run.model, held, search=search), "answering", len(held.valid[0])))
    said, wanted = [one for one, _ in found], references or [one for _, one in found]
    if isinstance(run.tokenizer, Labels):
        draw_confusion(run.folder.confusion, [*chain.from_iterable(said)], [*chain.from_iterable(wanted)])
    case = {} if run.tokenizer.cased else {"cased": False}
    for name, score in SCORES[held.kind](said, wanted, **case).items():
        figures[name] = score.value
        if score.signature:
            figures[f"{name}_signature"] = score.signature
    return figures
