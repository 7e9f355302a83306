"""How a record is made: one traced pass over what is given, then one step for each token of the answer."""

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import UInt8
from torch import Tensor

from regard.config.decoding import Search
from regard.config.looking import Recording
from regard.decode.batches import bucket_of
from regard.decode.beam import BeamSearch, Step, beam
from regard.decode.caption import USUAL
from regard.decode.choose import argmax
from regard.decode.rules import Bounds
from regard.decode.stream import stream
from regard.decode.translate import Plan
from regard.errors import UserError
from regard.layers.state import State, leaves
from regard.layers.tap import SOURCE, WRITTEN, matching, taps_of
from regard.look.align.weights import over_source
from regard.look.record import Call, Fate, Node, Record, Seen, Sequence, Token, Top
from regard.look.trace import Trace, trace
from regard.models.model import Model, Source
from regard.special import NAMES, START, STOP, UNKNOWN
from regard.text.tokenizer import Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]
SHOWN = 3  # continuations of each hypothesis that are told, besides those that were kept


RECORDING = Recording()


def of_text(model: Model, tokenizers: Tokenizers, text: str, wishes: Recording = RECORDING) -> Record:
    """A language model reads a text, in one pass, and may go on with it, step by step."""
    tokenizer, tree, device = tokenizers[1], BeamTree(), _device(model)
    read = [START, *tokenizer.encode(text)]
    begun = [*read, *tokenizer.check(wishes.begin)]
    made = _given(tokenizer, wishes)
    known = bool(made)
    limit = 0 if known else min(wishes.length, (model.longest or sys.maxsize) - len(begun) + 1)
    if limit > 0 and wishes.beam > 1:
        with torch.inference_mode():
            fed, start = torch.tensor([begun], device=device), model.start()
            ((best, *_),) = beam(model, fed, start, BeamSearch(beam=wishes.beam, limit=limit), watch=tree)
        made = [*best.tokens, *[STOP] * best.finished]
    elif limit > 0:
        fed = torch.tensor([begun], device=device)
        made = [int(token) for token in stream(model, fed, model.start(), argmax, Bounds(limit=limit))]
    made = made if known else [*wishes.begin, *made]
    passed = _pass(model, None, read, made, wishes)
    return _record(
        "language model", {WRITTEN: sequence(tokenizer, [*read, *made], text)}, passed, tokenizer, tree.nodes
    )


def of_translation(model: Model, tokenizers: Tokenizers, line: str, wishes: Recording = RECORDING) -> Record:
    """A translator reads a line in one pass and writes its translation, step by step."""
    reader, writer = tokenizers
    read = _read(reader, line)
    source = Source(read.ids[None].to(_device(model)))
    made, tree = _answer(model, writer, source, 2 * bucket_of(len(read.tokens)) + 20, wishes)
    sequences = {SOURCE: read, WRITTEN: sequence(writer, [START, *made])}
    return _record("translator", sequences, _pass(model, source, [START], made, wishes), writer, tree)


def of_picture(
    model: Model, tokenizers: Tokenizers, picture: UInt8[Tensor, "3 Y X"], wishes: Recording = RECORDING
) -> Record:
    """A captioner reads a picture and writes its caption, step by step."""
    writer, source = tokenizers[1], Source(picture[None].to(_device(model)))
    made, tree = _answer(model, writer, source, USUAL, wishes)
    passed = _pass(model, source, [START], made, wishes)
    sequences = {WRITTEN: sequence(writer, [START, *made])}
    if weights := over_source(model):
        sequences[SOURCE] = _regions(passed.seen[weights[0]].shape[-1], picture)
    return replace(_record("captioner", sequences, passed, writer, tree), picture=picture)


def of_class(model: Model, tokenizers: Tokenizers, text: str, wishes: Recording = RECORDING) -> Record:
    """A classifier reads a text and says its class."""
    read = _read(tokenizers[0], text)
    return _labelled("classifier", model, read, tokenizers[1], 1, wishes)


def of_tags(model: Model, tokenizers: Tokenizers, text: str, wishes: Recording = RECORDING) -> Record:
    """A tagger reads a sentence and says a tag at each token; that at a word's last token is the word's."""
    read = _read(tokenizers[0], " ".join(text.split()))
    return _labelled("tagger", model, read, tokenizers[1], len(read.tokens) - 1, wishes)


def of_reading(model: Model, tokenizers: Tokenizers, text: str, wishes: Recording = RECORDING) -> Record:
    """An encoder on its own reads a text, and says nothing."""
    read = _read(tokenizers[0], text)
    passed = _pass(model, Source(read.ids[None].to(_device(model))), [START], [], wishes)._replace(top=0)
    sequences = {SOURCE: read, WRITTEN: sequence(tokenizers[1], [START])}
    return _record("text encoder", sequences, passed, tokenizers[1], [])


def sequence(tokenizer: Tokenizer, ids: list[int], text: str = "") -> Sequence:
    """Tokens with their names, bytes and places. Where a text is behind a start token or none, its unknown words keep
    their faces."""
    faces = tokenizer.faces(text) if text else []
    first = int(ids[0] == START)
    found, begin = [], 0
    for place, (token, piece) in enumerate(zip(ids, tokenizer.pieces(ids), strict=True)):
        read = token == UNKNOWN and first <= place < first + len(faces)
        found.append(Token(token, faces[place - first] if read else tokenizer.label(token), piece, begin))
        begin += len(piece)
    return Sequence(tuple(found))


def size(state: State) -> int:
    """How many bytes a state holds."""
    return sum(leaf.numel() * leaf.element_size() for leaf in leaves(state))


def _device(model: Model) -> torch.device:
    return next(model.parameters()).device


def _read(tokenizer: Tokenizer, text: str) -> Sequence:
    """What a model that reads a source is given."""
    if not text.strip():
        raise UserError("there is no text to look at, found an empty one; write it behind the run")
    return sequence(tokenizer, [*tokenizer.encode(text), STOP], text)


def _regions(count: int, picture: UInt8[Tensor, "3 Y X"]) -> Sequence:
    """The regions of a picture row by row, by their places counted from 1; a square picture has a square grid."""
    across = round((count * picture.shape[2] / picture.shape[1]) ** 0.5)
    named = (f"row {i // across + 1}, column {i % across + 1}" for i in range(count))
    return Sequence(tuple(Token(i, name, b"", 0) for i, name in enumerate(named)), across)


def _given(writer: Tokenizer, wishes: Recording) -> list[int]:
    """What it is made to say, as tokens or as text; nothing where it speaks for itself."""
    return writer.check(wishes.said) or (writer.encode(wishes.answer) if wishes.answer else [])


def _answer(
    model: Model, writer: Tokenizer, source: Source, usual: int, wishes: Recording
) -> tuple[list[int], list[Node]]:
    """What the model says, stop included; or what it is made to say."""
    if made := _given(writer, wishes):
        return [*made, *[STOP] * (not wishes.said)], []
    tree, plan = BeamTree(), Plan(Search(beam=wishes.beam), writer, writer.check(wishes.begin))
    ((best, *_),) = plan.search(model, source, usual, tree)
    return [*wishes.begin, *best.tokens, *[STOP] * best.finished], tree.nodes if wishes.beam > 1 else []


def _labelled(
    kind: str, model: Model, read: Sequence, labels: Tokenizer, count: int, wishes: Recording
) -> Record:  # fmt: skip
    """Labels are no text that goes on: what is fed says how many are wanted, and they are known behind the pass."""
    passed = _pass(model, Source(read.ids[None].to(_device(model))), [START] * count, [], wishes)
    logs = passed.logs.clone()  # of an inference: it may not be written to
    logs[:, : len(NAMES)] = -math.inf  # special tokens are no labels
    passed = passed._replace(logs=logs.log_softmax(-1))
    written = sequence(labels, [START, *passed.logs.argmax(-1).tolist()])
    return _record(kind, {SOURCE: read, WRITTEN: written}, passed, labels, [])


class _Passed(NamedTuple):
    """What one pass and the steps behind it gave."""

    logs: Tensor  # (T, V)
    seen: Trace
    calls: tuple[Call, ...]
    top: int


@torch.no_grad()  # not inference mode: what is recorded may be computed with afterwards
def _pass(model: Model, source: Source | None, prompt: list[int], made: list[int], wishes: Recording) -> _Passed:
    """The prompt in one call, then what was made one by one; its last token is not fed."""
    taps = taps_of(model)
    usual = [path for path, tap in taps.items() if tap.role == "weights" or tap.axes == ["B", "T", "D"]]
    calls: list[Call] = []
    found: list[Tensor] = []
    with trace(model, *usual, *matching(taps, wishes.paths)) as seen:
        state = model.start(source)
        for fed in (prompt, *([token] for token in made[:-1])):
            scores, state = model(torch.tensor([fed], device=_device(model)), state)
            calls.append(Call(len(fed), sum(call.computed for call in calls), size(state)))
            found.append(scores[0].float())
    return _Passed(torch.cat(found).log_softmax(-1).cpu(), seen, tuple(calls), wishes.top)


def _record(
    kind: str, sequences: dict[str, Sequence], passed: _Passed, writer: Tokenizer, tree: list[Node]
) -> Record:  # fmt: skip
    written = sequences[WRITTEN]
    values, tokens = passed.logs.topk(min(passed.top, passed.logs.shape[1]))
    said = passed.logs[: len(written.tokens) - 1].gather(1, written.ids[1:, None])[:, 0]
    shown = {*tokens.flatten().tolist(), *(node.token for node in tree)}
    return Record(
        kind,
        sequences,
        {path: _seen(path, passed.seen) for path in passed.seen},
        Top(tokens.int(), values.exp(), said),
        {token: writer.label(token) for token in sorted(shown)},
        passed.calls,
        tuple(tree),
    )


def _seen(path: str, seen: Trace) -> Seen:
    """What passed at a tap, less its batch axis."""
    tap = seen.taps[path]
    values = seen[path][0].float().cpu()
    return Seen(values, tuple(tap.axes[1:]), tap.role, tap.rows, tap.columns, tap.carried, tap.from_the_end)


class BeamTree:
    """Watches the search for one answer, and grows a node for every continuation that it considered."""

    def __init__(self, shown: int = SHOWN) -> None:
        self.nodes: list[Node] = []
        self._shown = shown
        self._rows = [-1]  # the node of each row

    def __call__(self, step: Step) -> None:
        """One step: which of the continuations went on, and which of the others came close."""
        going = {place: row for row, place in enumerate(step.going.flatten().tolist())}
        best = [part.flatten().tolist() for part in step.best]
        nodes, taken = [-1] * len(going), set()
        for place, (total, token, log, parent) in enumerate(zip(*best, strict=True)):
            if total == -math.inf:
                continue
            ended = bool(step.ended.flatten()[place])
            fate: Fate = "finished" if ended else "kept" if place in going else "pruned"
            taken.add((parent, token))
            node = self._add(Node(self._rows[parent], token, log, self._before(parent) + log, fate))
            if place in going:
                nodes[going[place]] = node
        for parent, token, log in self._close(step):
            if (parent, token) not in taken:
                self._add(Node(self._rows[parent], token, log, self._before(parent) + log, "pruned"))
        self._rows = nodes

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _before(self, row: int) -> float:
        return self.nodes[self._rows[row]].total if self._rows[row] >= 0 else 0.0

    def _close(self, step: Step) -> Iterator[tuple[int, int, float]]:
        """The most probable continuations of every row."""
        logs, tokens = step.logs.topk(min(self._shown, step.logs.shape[1]))
        for row, (several, named) in enumerate(zip(logs.tolist(), tokens.tolist(), strict=True)):
            yield from ((row, token, log) for token, log in zip(named, several, strict=True))
