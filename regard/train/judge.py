"""`regard evaluate`: every figure of a run, on its own held-out data or on other data."""

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from regard.config import Where, carries_state
from regard.data import store
from regard.data.corpora.scenes import scenes
from regard.data.corpus import Split, kind_of, read_texts
from regard.errors import UserError
from regard.layers.tap import taps_of
from regard.look.alignment import OVER_THE_SOURCE
from regard.runs import Run, load_run
from regard.text import START, STOP, Labels
from regard.train.captions import caption_scores, described, gathered_captions, references_of
from regard.train.evaluate import answers, label_scores, labelled, look, text_scores
from regard.train.examples import READERS, data_of, encode, reasons, sides_of
from regard.train.loss import Objective
from regard.train.metrics import Score
from regard.train.parallel import World
from regard.train.pointing import pointing
from regard.train.prepare import Material, material
from regard.train.report import draw_confusion


def judge(path: Path, where: Where | None = None) -> dict[str, Any]:
    """Figures by name, with their signatures. Without data: on the run's test part, or else its held-out one."""
    run = load_run(path)
    split = None
    part = "given data"
    if where is None:
        where, split = sides_of(run.recipe.data, "test")
        part = "test"
    if not where:
        return {"data": "held out", **_figures(run, material(run.folder), None)}
    own = data_of(run.model_config)
    if kind_of(where, own) != own:
        name = where if isinstance(where, str) else ", ".join(where)
        raise UserError(f"{name} holds {kind_of(where)}, this run was trained on {own}")
    if own == "text":
        return {"data": part, **_figures(run, _text(run, where, split), None)}
    if own == "captions":
        return {"data": part, **_captions(run, where, split)}
    examples = list(READERS[own](where, split, None))
    held = tuple(store.gather(side) for side in encode(own, examples, (run.source_tokenizer, run.tokenizer)))
    targets = [example.target for example in examples]
    size = sum(len(target.encode()) for target in targets)
    return {"data": part, **_figures(run, Material(own, (), held, size, {}), targets)}


def _captions(run: Run, where: Where, split: Split | None) -> dict[str, Any]:
    """The figures of captions; on drawn scenes also whether each word looked at what it names."""
    skipped: Counter[str] = Counter()
    album, target, references = gathered_captions(run, where, split, skipped)
    held = Material(
        "captions", (), (album, target), sum(len(text.encode()) for each in references for text in each), {}
    )
    figures = {"pictures": len(album), **_figures(run, held, references)}
    if skipped:
        figures["left_out"] = reasons(skipped)
    if where == "scenes" and any(path.endswith(OVER_THE_SOURCE) for path in taps_of(run.model)):
        scored = pointing(run.model, run.tokenizer, list(scenes(split or "test")), run.recipe.pictures.side)
        figures |= {f"pointing_{name}": value for name, value in scored._asdict().items()}
    return figures


def _text(run: Run, where: Where, split: Any) -> Material:
    tokens: list[int] = []
    size = 0
    for document in read_texts(where, split):
        text = "".join(document)
        tokens += [START, *run.tokenizer.encode(text), STOP]
        size += len(text.encode())
    return Material("text", (), (store.gather([tokens]),), size, {})


def _figures(run: Run, held: Material, references: list[Any] | None) -> dict[str, Any]:
    device = torch.device("cpu")
    objective = Objective(run.model, 0.0, torch.float32)
    length, carry = run.recipe.train.length, carries_state(run.model_config)
    figures: dict[str, Any] = dict(look(objective, held, device, World(), length, carry))
    if isinstance(run.tokenizer, Labels):
        said, wanted = labelled(run.model, held, run.tokenizer)
        draw_confusion(run.folder.confusion, [*chain.from_iterable(said)], [*chain.from_iterable(wanted)])
        figures |= _with_signatures(label_scores(held.kind, said, wanted))
    elif held.kind == "captions":
        album, target = held.valid
        outputs = described(run.model, album.pixels, run.tokenizer)
        figures |= _with_signatures(caption_scores(outputs, references or references_of(album, target, run.tokenizer)))
    elif held.kind == "pairs":
        source, target = held.valid
        outputs = answers(run.model, [source[i] for i in range(len(source))], run.tokenizer, device)
        references = references or [run.tokenizer.decode(target[i]) for i in range(len(target))]
        figures |= _with_signatures(text_scores(outputs, references))
    return figures


def _with_signatures(scores: dict[str, Score]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, score in scores.items():
        figures[name] = score.value
        if score.signature:
            figures[f"{name}_signature"] = score.signature
    return figures
