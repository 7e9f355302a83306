"""What the page asks of runs, answered with text in and plain values out."""

import base64
import binascii
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from regard.config.looking import Recording
from regard.data.corpora.scenes import captioned
from regard.data.images import as_pixels
from regard.decode.choose import Choose, Sample, argmax
from regard.decode.rules import Bounds
from regard.decode.stream import stream
from regard.decode.write import Detokenizer
from regard.errors import UserError
from regard.layers.tap import WRITTEN, layer_of, taps_of
from regard.look.attribution import gradient_times_input, rollout, token_effects, value_norms
from regard.look.coding import to_bytes
from regard.look.gradients import furthest, memory
from regard.look.patch import patch
from regard.look.record import GROUPS, Record, Seen
from regard.look.trace import Trace, trace
from regard.look.units import clamped, unit_named
from regard.models.count import count
from regard.models.model import Model, Source
from regard.page.about import about
from regard.page.asked import LONGEST, MOST, Question
from regard.page.finding import properties_of, search
from regard.page.story import Story, built_in
from regard.runs import Run
from regard.special import START, STOP

SCENES = 12
"""Built-in pictures to choose from."""
TOP = 8
"""Alternatives in a ladder."""
EXACT = 1 << 20
"""Weights of attention up to which they are sent as they are; more are sent in bytes, which are as fine as eyes."""
EXAMPLES = 4
"""Held-out examples to begin with."""


class Answers:
    """About these runs. Between questions the runs are kept, the names of their units, and what searches found."""

    def __init__(self, runs: Sequence[Run], stories: Sequence[Story] = ()) -> None:
        self._runs = list(runs)
        self._stories = list(stories)
        self._heard: dict[int, Trace] = {}
        self._found: dict[tuple[int, str], list[dict[str, Any]]] = {}

    def runs(self) -> list[dict[str, Any]]:
        """What there is to look at."""
        names = told_apart([run.folder.path.resolve() for run in self._runs])
        return [_described(run, name) for run, name in zip(self._runs, names, strict=True)]

    def stories(self) -> list[dict[str, Any]]:
        """Walks over the page: somebody's own before ours."""
        own = {story.name for story in self._stories}
        return [story.plain() for story in (*self._stories, *(one for one in built_in() if one.name not in own))]

    def record(self, asked: Question) -> bytes:
        """Everything a view needs of one pass, as a file."""
        with self._patched(asked):
            record = self._recorded(asked)
        weights = sum(seen.values.numel() for seen in record.seen.values() if seen.attention)
        return to_bytes(record, exact=weights <= EXACT)

    def _recorded(self, asked: Question) -> Record:
        run = self._run(asked)
        wishes = Recording(
            beam=asked.beam, length=asked.length, begin=asked.answer, said=asked.said, answer=asked.wording, top=TOP,
            paths=_besides(run.model, asked.head),
        )  # fmt: skip
        picture = self._picture(run, asked)
        return run.record(asked.text if picture is None else picture, wishes)

    def write(self, asked: Question) -> Iterator[dict[str, Any]]:
        """How a text goes on, token by token, each with the tokens that might have stood there.

        Every other answer, and what a beam finds, is known only at its end: it comes with its record, and once.
        """
        run = self._run(asked)
        if run.task.has_source:
            what = run.task.title
            raise UserError(f"only a text that goes on is written token by token; ask for a record of this {what}")
        if asked.beam > 1:
            raise UserError(f"one hypothesis is written token by token, found beam {asked.beam}; ask for a record")
        tokenizer = run.tokenizer
        begun = [START, *tokenizer.encode(asked.text), *tokenizer.check(asked.answer)]
        limit = asked.length or MOST
        if run.model.longest:
            limit = min(limit, max(0, run.model.longest - len(begun) + 1))
        seen: list[Tensor] = []
        chooser: Choose = Sample((asked.seed,), temperature=asked.temperature) if asked.temperature else argmax

        def choose(scores: Tensor, rows: Tensor, made: int) -> Tensor:
            seen[:] = [scores.softmax(-1)[0]]
            return chooser(scores, rows, made)

        text, model = Detokenizer(tokenizer, begun), run.for_long_texts
        with self._patched(asked), torch.inference_mode():
            state = model.start()
        made = stream(model, torch.tensor([begun]), state, choose, Bounds(limit=limit))
        while True:
            with self._patched(asked):
                token = next(made, None)
            if token is None:
                break
            number = int(token)
            yield {
                "token": number,
                "label": tokenizer.label(number),
                "text": text.add(number),
                "probability": round(float(seen[0][number]), 5),
                "top": [
                    [i, tokenizer.label(i), round(p, 5)]
                    for p, i in zip(*(part.tolist() for part in seen[0].topk(min(TOP, len(seen[0])))), strict=True)
                ],
            }
        yield {"done": True, "text": text.end()}

    def gradients(self, asked: Question) -> Iterator[dict[str, Any]]:
        """‖∂loss_t / ∂h_{t−k}‖ over k, a line for each place; `last` marks the last from which anything comes back."""
        with self._patched(asked):
            curves = memory(self._run(asked).model, self._recorded(asked))
        last = furthest(curves)
        for path, curve in curves.items():
            yield {"path": path, "values": [float(f"{value:.5g}") for value in curve.tolist()], "last": path == last}

    def attribution(self, asked: Question) -> dict[str, Any]:
        """Other answers to what an output depended on: rows over columns.

        `head` names an attention layer, or a group of them, whose mean is meant.

        `norms`: a ‖v W_O‖ for each head; `rollout`, an approximation; `gradient`: gradient × input; `off`: the change
        of log p when a token is switched off. One that does not apply is left out.
        """
        run = self._run(asked)
        with self._patched(asked):
            record = self._recorded(replace(asked, head=""))
            layers = _layers(record, asked.head.partition("[")[0])
            seen = next(iter(layers.values()))
            found: dict[str, Any] = {}
            valued = {layer_of(path) for path, tap in taps_of(run.model).items() if tap.role == "values"}
            if all(layer_of(path) in valued for path in layers):
                found["norms"] = torch.stack([value_norms(run.model, record, path) for path in layers]).mean(0)
            if seen.group != "cross":
                found["rollout"] = rollout(record, seen.group)[None]
            if seen.rows == WRITTEN and not record.sequences[seen.columns].grid:
                found["gradient"] = gradient_times_input(run.model, record)[seen.columns][None]
                found["off"] = token_effects(run.model, record, name=seen.columns)[None]
        rows, columns = seen.values.shape[-2:]
        return {
            name: [[[float(f"{x:.4g}") for x in row] for row in head] for head in values[:, :rows, :columns].tolist()]
            for name, values in found.items()
        }

    def find(self, asked: Question) -> Iterator[dict[str, Any]]:
        """Which units follow a property of the run's held-out text; what was found once is not searched for again."""
        run, key = self._run(asked), (asked.run, asked.property)
        if key in self._found:
            yield from self._found[key]
            return
        found = []
        for line in search(run, asked.property):
            found += [line] if "unit" in line else []
            yield line
        self._found[key] = found

    def scene(self, number: str) -> bytes:
        """A built-in picture."""
        if not number.isdecimal() or int(number) >= SCENES:
            raise UserError(f"scenes have numbers from 0 to {SCENES - 1}, found '{number[:20]}'")
        file = io.BytesIO()
        Image.fromarray(self._scenes[int(number)].permute(1, 2, 0).numpy()).save(file, "PNG")
        return file.getvalue()

    @cached_property
    def _scenes(self) -> list[Tensor]:
        some = (one for one, _ in zip(captioned("test"), range(SCENES), strict=False))
        return [torch.from_numpy(one.pixels(64)) for one in some]

    @contextmanager
    def _patched(self, asked: Question) -> Iterator[None]:
        """A block in which the heads that are off add nothing and the cells that are held say their value."""
        run = self._run(asked)
        with ExitStack() as stack:
            for name, value in [*((name, 0.0) for name in asked.off), *asked.held]:
                unit = unit_named(name, self._taps(asked.run))
                stack.enter_context(patch(run.model, clamped(unit, float(value))))
            yield

    def _taps(self, number: int) -> Trace:
        """What passes when a run reads next to nothing: which units it has, and how many."""
        if number not in self._heard:
            run = self._runs[number]
            side = run.recipe.pictures.side
            black = torch.zeros(1, 3, side, side, dtype=torch.uint8)
            content = black if run.task.reads == "picture" else torch.tensor([[STOP]])
            with torch.no_grad(), trace(run.model) as seen:
                source = Source(content) if run.task.has_source else None
                run.model(torch.tensor([[START]]), run.model.start(source))
            self._heard[number] = seen
        return self._heard[number]

    def _run(self, asked: Question) -> Run:
        if asked.run >= len(self._runs):
            raise UserError(f"there are runs 0 to {len(self._runs) - 1}, found {asked.run}")
        return self._runs[asked.run]

    def _picture(self, run: Run, asked: Question) -> Tensor | None:
        if run.task.reads != "picture":
            return None
        side, name = run.recipe.pictures.side, asked.picture or "scene:0"
        if name.startswith("scene:"):
            content = self.scene(name.removeprefix("scene:"))
        else:
            try:
                content = base64.b64decode(name, validate=True)
            except (binascii.Error, ValueError):
                raise UserError("a picture is 'scene:NUMBER' or a file in base 64, found neither") from None
        try:
            with Image.open(io.BytesIO(content)) as image:
                return torch.from_numpy(as_pixels(image, side))
        except Exception:  # whatever Pillow's many decoders say of a broken file
            raise UserError("this is no picture that can be read; give a JPEG, PNG, WebP, GIF, BMP or TIFF") from None


def told_apart(paths: Sequence[Path]) -> list[str]:
    """The last parts of each path, as many as it takes to tell it from all others."""
    names = []
    for path in paths:
        others = {other for other in paths if other != path}
        parts = path.parts[1:]
        many = next(
            (n for n in range(1, len(parts)) if not any(other.parts[-n:] == parts[-n:] for other in others)),
            len(parts),
        )
        names.append("/".join(parts[-many:]))
    return names


def _described(run: Run, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "path": str(run.folder.path),
        **about(run.task),
        "kept": "",
        "parameters": count(run.model).total,
        "tokens": run.source_tokenizer.kind,
        "longest": LONGEST,
        "scenes": SCENES if run.task.reads == "picture" else 0,
        "examples": _examples(run),
        "properties": properties_of(run),
    }


def _layers(record: Record, name: str) -> dict[str, Seen]:
    """The weights of an attention layer, or of all layers of a group, by path."""
    return record.attention(name) if name in GROUPS else dict([record.layer(name)])


def _examples(run: Run) -> list[str]:
    """The beginnings of a few held-out examples, where training left some."""
    try:
        return run.task.beginnings(run.source_tokenizer, run.material.valid, EXAMPLES)
    except UserError:  # the folder was copied without its data
        return []


def _besides(model: Model, head: str) -> tuple[str, ...]:
    """What a record holds besides the usual: embeddings and units; of a head's layer, how it came to its weights."""
    layer = head.partition("[")[0]
    taps = taps_of(model).items()
    return tuple(path for path, tap in taps if tap.role in ("embedding", "units") or (head and layer_of(path) == layer))
