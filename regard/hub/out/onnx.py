"""ONNX: every model there is, as one graph that reads a source, where there is one, and one that makes a step.

    encode(source, keep) → state          step(token, state) → scores, state

The state is a value here too: each of its tensors is a named input and a named output of `step`. Without a source it
begins with zeros, and what grows with a length of 0. Rows, the length of a source and of what has been fed are free.
"""

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim

from regard.disk import write_text
from regard.hub.out.target import ComparedRow, Target
from regard.hub.out.vocabulary import write_library
from regard.layers.state import Growing, Part, State, leaves, like
from regard.models.model import Model, Source
from regard.runs import Run
from regard.special import NAMES, START

ABOUT = "model.json"
LARGE = 1 << 30  # bytes; a graph that holds more keeps its weights in a file beside it


class Sizes(NamedTuple):
    """Of the example that is followed through a model. All of them are free afterwards."""

    rows: int = 3
    source: int = 5
    past: int = 4


LARGER = {"rows": Sizes(rows=4), "source": Sizes(source=7), "past": Sizes(past=6)}  # by what an axis is called


class EncodeGraph(nn.Module):
    """s_0 of a source, as its tensors."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, content: Tensor, keep: Tensor | None = None) -> list[Tensor]:
        return leaves(first_state(self.model, Source(content, keep), content.shape[0]))


class StepGraph(nn.Module):
    """scores, s_t = model(y_t, s_{t−1}), with states as their tensors."""

    def __init__(self, model: Model, template: State) -> None:
        super().__init__()
        self.model, self.template = model, template

    def forward(self, token: Tensor, *state: Tensor) -> tuple[Tensor, list[Tensor]]:
        scores, after = self.model.step(token, like(self.template, list(state)))
        return scores, leaves(after)


class Onnx(Target):
    """A folder with encode.onnx and step.onnx, and model.json, which says what they take and give."""

    name, title, writers, engine = "onnx", "ONNX", ("onnx", "onnxscript"), "onnxruntime"

    def refusal(self, run: Run) -> str:
        return ""

    @torch.enable_grad()  # memory then grows by being joined, which a graph can say
    def write(self, run: Run, place: Path) -> None:
        model = run.trained_model().requires_grad_(False)
        template = _later(run, model, Sizes())
        parts, axes = names_in(template), _axes(run, model, template)
        state, after = ([f"{when}{part}" for part in parts] for when in ("state", "next"))
        token, source = torch.zeros(Sizes().rows, dtype=torch.long), _source(run, Sizes())
        fed = (token, *(leaf.clone() for leaf in leaves(template)))
        free = ({0: Dim.DYNAMIC}, tuple(dict.fromkeys(named, Dim.DYNAMIC) for named in axes))
        _save(StepGraph(model, template), fed, free, (["token", *state], ["scores", *after]), place / "step.onnx")
        if source is not None:
            read = tuple(part for part in source if part is not None)
            whole = tuple(dict.fromkeys(range(2 if part.dim() == 2 else 1), Dim.DYNAMIC) for part in read)
            _save(EncodeGraph(model), read, whole, (["source", "keep"][: len(read)], state), place / "encode.onnx")
        shapes = [[named.get(axis, size) for axis, size in enumerate(leaf.shape)]
                  for leaf, named in zip(leaves(template), axes, strict=True)]  # fmt: skip
        kinds = [str(leaf.dtype).removeprefix("torch.") for leaf in leaves(template)]
        about = {
            "reads": run.task.reads if run.task.has_source else None,
            "state": [
                {"name": name, "after": later, "shape": shape, "type": kind}
                for name, later, shape, kind in zip(state, after, shapes, kinds, strict=True)
            ],
            "special": {name: number for number, name in enumerate(NAMES)},
            "tokens": run.tokenizer.vocabulary,
            "labels": None if run.task.writes else list(run.tokenizer.to_json().get("labels", ())),
        }
        write_text(place / ABOUT, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
        sides = {"tokenizer.json": run.tokenizer, "source-tokenizer.json": run.source_tokenizer}
        for name, tokenizer in list(sides.items())[: 1 if run.tokenizer is run.source_tokenizer else 2]:
            write_library(tokenizer, place / name, "$A")

    def log_probabilities(self, run: Run, place: Path, rows: Sequence[ComparedRow]) -> Iterator[list[float]]:
        import onnxruntime

        quietly = onnxruntime.SessionOptions()
        quietly.log_severity_level, quietly.intra_op_num_threads = 3, torch.get_num_threads()
        about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        step = onnxruntime.InferenceSession(str(place / "step.onnx"), quietly)
        names = [one["name"] for one in about["state"]]
        if run.task.has_source:
            encode = onnxruntime.InferenceSession(str(place / "encode.onnx"), quietly)
        for row in rows:
            if row.source is None:
                state = [_nothing(one) for one in about["state"]]
            else:
                read = row.source[None]
                given = {"source": read.numpy(), "keep": torch.ones_like(read, dtype=torch.bool).numpy()}
                state = encode.run(names, {one.name: given[one.name] for one in encode.get_inputs()})
            logs = []
            for token, wanted in zip(row.fed, row.wanted, strict=True):
                fed = {"token": token[None].numpy(), **dict(zip(names, state, strict=True))}
                wants = {one.name for one in step.get_inputs()}
                scores, *state = step.run(None, {name: value for name, value in fed.items() if name in wants})
                logs.append(torch.from_numpy(scores)[0].log_softmax(-1)[wanted].item())
            yield logs

    def example(self, run: Run, place: str) -> str:
        if run.task.has_source:
            begin = (
                f'encode = onnxruntime.InferenceSession("{place}/encode.onnx")\n'
                "state = encode.run(None, given)  # given: source, and keep, which is True where a token is real"
            )
        else:
            begin = (
                "state = [np.zeros([{'rows': 1, 'past': 0}.get(size, size) for size in one['shape']], one['type'])\n"
                "         for one in about['state']]"
            )
        return f"""\
import json, numpy as np, onnxruntime

about = json.load(open("{place}/{ABOUT}"))
step = onnxruntime.InferenceSession("{place}/step.onnx")
{begin}
token = np.array([{START}])  # {NAMES[START]}
for _ in range(20):
    names = ["token", *(one["name"] for one in about["state"])]
    scores, *state = step.run(None, dict(zip(names, [token, *state])))
    token = scores.argmax(-1)
    print(token)"""


def first_state(model: Model, source: Source | None, rows: int) -> State:
    """The first state with room for what will grow: a memory of length 0 where nothing is remembered yet."""
    first = model.start(source, rows)
    device = next(model.parameters()).device
    return _opened(first, model.step(torch.zeros(rows, dtype=torch.long, device=device), first)[1])


def _opened(first: State, later: State) -> State:
    if first is None and isinstance(later, Growing):
        return later.map(lambda value: value.new_zeros(*value.shape[:2], 0, value.shape[3]))
    if isinstance(first, tuple) and isinstance(later, tuple):
        make = getattr(type(first), "_make", tuple)
        return make(_opened(*pair) for pair in zip(first, later, strict=True))
    return first


def names_in(state: State) -> list[str]:
    """A name for every tensor of a state, by where it stands."""
    if state is None:
        return []
    if isinstance(state, tuple):
        fields = getattr(state, "_fields", range(len(state)))
        return [f".{field}{name}" for field, part in zip(fields, state, strict=True) for name in names_in(part)]
    number = len(leaves(state)) if isinstance(state, Part) else 1
    return [""] if number == 1 else [f".{place}" for place in range(number)]


def _source(run: Run, sizes: Sizes) -> Source | None:
    """Something to read, of that size."""
    if not run.task.has_source:
        return None
    if run.task.reads == "picture":
        side = run.recipe.pictures.side
        return Source(torch.zeros(sizes.rows, 3, side, side, dtype=torch.uint8))
    shape = sizes.rows, sizes.source
    return Source(torch.zeros(shape, dtype=torch.long), torch.ones(shape, dtype=torch.bool))


def _later(run: Run, model: Model, sizes: Sizes) -> State:
    """The state of a model after it has been fed a few tokens."""
    state = first_state(model, _source(run, sizes), sizes.rows)
    for _ in range(sizes.past):
        _, state = model.step(torch.zeros(sizes.rows, dtype=torch.long), state)
    return state


def _axes(run: Run, model: Model, template: State) -> list[dict[int, str]]:
    """For every tensor of a state which of its axes are free, and what they count: found by changing one size."""
    found: list[dict[int, str]] = [{} for _ in leaves(template)]
    for name, sizes in LARGER.items():
        for named, here, there in zip(found, leaves(template), leaves(_later(run, model, sizes)), strict=True):
            named |= {axis: name for axis, size in enumerate(there.shape) if size != here.shape[axis]}
    return found


def _nothing(about: dict[str, Any]) -> Any:
    """One row of a tensor of a state that nothing has been read into."""
    shape = [{"rows": 1, "past": 0}.get(size, size) for size in about["shape"]]
    return torch.zeros(shape, dtype=getattr(torch, about["type"])).numpy()


def _save(module: nn.Module, given: tuple[Any, ...], free: Any, names: tuple[list[str], list[str]], path: Path) -> None:
    """The graph that torch's exporter finds by following an example."""
    with _quiet():
        program = torch.export.export(module.eval(), given, dynamic_shapes=free)
        inputs, outputs = names
        made = torch.onnx.export(program, dynamo=True, verbose=False, input_names=inputs, output_names=outputs)
    assert made is not None
    size = sum(tensor.numel() * tensor.element_size() for tensor in module.state_dict().values())
    made.save(path, external_data=size > LARGE)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter tells its own makers what it meets."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
