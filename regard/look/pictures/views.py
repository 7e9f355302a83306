"""From a record to a view: which layer, which head, which cell, by which measure."""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from regard.config.looking import ALL, Choice
from regard.errors import UserError, unknown
from regard.layers.tap import SOURCE, WRITTEN
from regard.look.attribution import gradient_times_input, rollout, token_effects, value_norms
from regard.look.gradients import furthest, memory
from regard.look.pictures.coloured import Coloured
from regard.look.pictures.curve import Curve
from regard.look.pictures.maps import HeadMaps, Map
from regard.look.pictures.overlay import Overlay
from regard.look.pictures.tree import SearchTree
from regard.look.pictures.view import View
from regard.look.record import Record, RowOf, Seen, Token
from regard.look.units import place_named
from regard.models.model import Model


def view_of(record: Record, choice: Choice, model: Model | None) -> View:
    """The view that was chosen; `model` is asked where the record does not say; None: there is only the record."""
    kind = choice.view or ("map" if any(seen.attention for seen in record.seen.values()) else "text")
    if kind == "map":
        return map_view(record, choice, model)
    if kind == "heads":
        return heads_view(record, choice)
    if kind == "beam":
        return tree_view(record)
    if kind == "gradients":
        return gradients_view({record.about.get("run", record.kind): memory(_there(model), record)})
    return text_view(record, choice)


def _there(model: Model | None) -> Model:
    if model is None:
        raise UserError(
            "this asks the model again, and a saved record is without it; look at the run: regard look RUN TEXT"
        )
    return model


def _title(record: Record, what: str) -> str:
    run = record.about.get("run", "").rstrip("/").rsplit("/", 1)[-1]
    return f"{run}: {what}" if run else what


def _chosen(record: Record, choice: Choice) -> dict[str, Seen]:
    """The attention layers that are meant, each with the heads that are meant, by path."""
    layers = record.attention(choice.attention)
    if choice.layer >= len(layers):
        raise UserError(f"this attention has layers 0 to {len(layers) - 1}, found {choice.layer}")
    wanted = layers if choice.layer == ALL else dict([list(layers.items())[choice.layer]])
    for seen in wanted.values():
        if choice.head >= len(seen.values):
            raise UserError(f"this attention has heads 0 to {len(seen.values) - 1}, found {choice.head}")
    return wanted


def _called(choice: Choice) -> str:
    layer = "mean of all layers" if choice.layer == ALL else f"layer {choice.layer}"
    head = "mean of all heads" if choice.head == ALL else f"head {choice.head}"
    return "mean of all layers and heads" if choice.layer == choice.head == ALL else f"{layer}, {head}"


def _masked(values: Tensor, seen: Seen) -> Tensor:
    """NaN where a row was not allowed to look."""
    return values.masked_fill(seen.masked, torch.nan)


def _reading(choice: Choice) -> RowOf | None:
    return choice.reading or None


def map_view(record: Record, choice: Choice, model: Model | None) -> View:
    """One matrix, from tokens to tokens, by the measure that was chosen."""
    if choice.measure == "gradient":
        return _by_tokens(
            record,
            gradient_times_input(_there(model), record),
            "gradient × input, of the score of each token said",
            "x · ∂score / ∂x",
        )
    if choice.measure == "off":
        name = SOURCE if SOURCE in record.sequences else WRITTEN
        return _by_tokens(
            record,
            {name: token_effects(_there(model), record)},
            "change of log p of each token said, without a token",
            "Δ log p",
        )
    layers = _chosen(record, choice)
    seen, called = next(iter(layers.values())), _called(choice)
    if choice.measure == "rollout":
        values, measure, called = rollout(record, seen.group), "rollout, an approximation", "through all layers"
    else:
        by_layer = {path: one.values for path, one in layers.items()}
        measure = "attention weight"
        if choice.measure == "norms":
            by_layer = {path: value_norms(_there(model), record, path) for path in layers}
            measure = "attention weight × length of v W_O"
        heads = [each.mean(0) if choice.head == ALL else each[choice.head] for each in by_layer.values()]
        values = torch.stack(heads).mean(0)
    rows = record.row_words(seen, _reading(choice))
    title = _title(record, f"{seen.group} attention, {called}")
    if record.picture is not None and seen.columns == SOURCE:
        note = "from each word; beside it the largest weight of one region"
        down = values.shape[1] // record.sequences[SOURCE].grid
        return Overlay(title, note, record.picture, rows, values, down)
    columns = record.sequences[seen.columns].words[: values.shape[1]]
    reading = choice.reading or seen.reading
    note = f"a row is the token {reading}" + ("; hatched: masked" if seen.causal else "")
    return Map(
        title, note, _masked(values, seen).numpy(), rows, columns, measure, _named(record, seen.rows),
        _named(record, seen.columns),
    )  # fmt: skip


def _named(record: Record, sequence: str) -> str:
    """What people call a sequence."""
    if sequence == SOURCE:
        return "what it read"
    return "the text" if SOURCE not in record.sequences else "what it wrote"


def _by_tokens(record: Record, found: Mapping[str, Tensor], title: str, measure: str) -> Map:
    """Rows are the tokens said, columns those of the source, or of the text where there is none."""
    name = SOURCE if SOURCE in found else WRITTEN
    values = found[name]
    said = record.written.words[1 : 1 + len(values)]
    columns = record.sequences[name].words[: values.shape[1]]
    if name == WRITTEN:  # what comes later can have no say
        values = values.masked_fill(torch.ones_like(values, dtype=torch.bool).triu(1), torch.nan)
    note = "a row is the token predicted" + ("; hatched: comes later" if name == WRITTEN else "")
    return Map(
        _title(record, title), note, values.numpy(), said, columns, measure, _named(record, WRITTEN),
        _named(record, name),
    )  # fmt: skip


def heads_view(record: Record, choice: Choice) -> HeadMaps:
    """Every head of every layer, or of one."""
    layers = _chosen(record, choice)
    first = next(iter(layers.values()))
    return HeadMaps(
        _title(record, f"{first.group} attention, every head"),
        f"a row is the token {choice.reading or first.reading}" + ("; grey or hatched: masked" if first.causal else ""),
        [_masked(seen.values, seen).numpy() for seen in layers.values()],
        list(layers),
        record.row_words(first, _reading(choice)),
        record.sequences[first.columns].words[: first.values.shape[2]],
        tuple(range(len(layers))) if choice.layer == ALL else (choice.layer,),
    )


def text_view(record: Record, choice: Choice) -> Coloured:
    """The text coloured by one cell; of a classifier that looks by attention, by what each token got."""
    pooled = [seen for seen in record.seen.values() if seen.attention and seen.values.shape[1] == 1]
    if pooled and not choice.unit and record.labelled:
        values, sequence = pooled[-1].values.mean(0)[0], record.sequences[pooled[-1].columns]
        said = record.written.words[-1]
        return Coloured(
            _title(record, f"where it looked to say “{said}”"), f"from the class to each token; p = {_sure(record)}",
            _pieces(sequence.tokens), values.numpy(), "attention weight",
        )  # fmt: skip
    path, number, why = _unit(record, choice.unit)
    seen = record.seen[path]
    tokens = record.sequences[seen.rows].tokens[: len(seen.values)]
    note = f"from each token as it was read, to this cell{why}"
    return Coloured(
        _title(record, f"{path}[{number}]"), note, _pieces(tokens), seen.values[:, number].numpy(),
        "value of the cell",
    )  # fmt: skip


def _sure(record: Record) -> str:
    return f"{float(record.top.probabilities[0, 0]):.2f}"


def _pieces(tokens: Iterable[Token]) -> list[str]:
    """As they stand in the text; special tokens by their names, and what cannot be shown by its code."""
    return [_shown(token) for token in tokens]


def _shown(token: Token) -> str:
    text = token.piece.decode(errors="replace") or token.label
    return text if text.replace("\n", "").replace("\t", "").isprintable() else token.label


def _unit(record: Record, name: str) -> tuple[str, int, str]:
    """Path and number of a cell, and how it came to be this one."""
    cells = {path: seen.values for path, seen in record.seen.items() if not seen.attention}
    if not cells:
        raise UserError(f"this {record.kind} has no cells to colour a text by; its attention is a map: --view map")
    if not name:
        liked = [path for path in cells if record.seen[path].role == "hidden"] or [*cells]
        path = liked[-1]
        return path, int(cells[path].std(0, correction=0).argmax()), ", which varies most in its layer"
    path, number = place_named(name, {path: values.shape[-1] for path, values in cells.items()})
    return path, number, ""


def gradients_view(found: Mapping[str, Mapping[str, Tensor]], path: str = "") -> Curve:
    """Runs by name, each with its curves; of each the furthest place from which anything comes back, or a given one."""
    curves: dict[str, np.ndarray] = {}
    for number, (run, several) in enumerate(found.items(), 1):
        chosen = path or furthest(several)
        if chosen not in several:
            raise unknown("path", chosen, several)
        name = run.rstrip("/").rsplit("/", 1)[-1]
        if any(other.rstrip("/").rsplit("/", 1)[-1] == name for other in list(found)[: number - 1]):
            name = f"{name} {number}"
        curves[f"{name}: {chosen}"] = np.asarray(several[chosen])
    return Curve("how much of a loss comes back over time", "the mean over the last steps of the text", curves)


def tree_view(record: Record) -> SearchTree:
    """The search for what was written."""
    if not record.tree:
        remedy = "let it write: --length 20" if record.source is None else "search with --beam 5"
        if record.labelled:
            remedy = "it answers in one pass: look at --view map or text"
        raise UserError(f"this {record.kind} searched for nothing, so there is no beam tree; {remedy}")
    return SearchTree(_title(record, f"the search for “{record.written.text}”"), "", record.tree, record.names)
