"""A record as one file: a JSON header and typed blobs (safetensors). Nothing in it is ever executed.

Attention weights are bytes, code = round(255 √a): as fine where weights are small as eyes are, worst error 0.004.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, UInt8
from safetensors.torch import save
from torch import Tensor

from regard.disk import read_tensors, write_tensors
from regard.errors import UserError
from regard.layers.tap import layer_of
from regard.look.checks import check
from regard.look.record import Call, Node, Record, Seen, Sequence, Token, Top

VERSION = 1
NAME = "regard.record"  # of the header in the file's metadata
ROOT, EXACT = "root", "exact"
GATES = ("input_gate", "forget_gate", "output_gate", "reset_gate", "update_gate")
ROLES = {"vectors": "embedding", **dict.fromkeys(GATES, "gate")}
"""Of taps whose role is not their name, for files from before roles were written."""


def to_root(weights: Float[Tensor, "*any"]) -> UInt8[Tensor, "*any"]:
    """code = round(255 √a), for a from 0 to 1."""
    return (weights.clamp(0, 1).sqrt() * 255).round().to(torch.uint8)


def from_root(code: UInt8[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """a ≈ (code / 255)², off by at most √a / 255 and a rounding of it."""
    return (code.float() / 255) ** 2


def save_record(record: Record, path: Path, *, exact: bool = False) -> None:
    """One file, whole or not at all. `exact`: attention in float32, four times the size."""
    write_tensors(path, *_parts(record, exact))


def to_bytes(record: Record, *, exact: bool = False) -> bytes:
    """What `save_record` writes, to be sent."""
    blobs, metadata = _parts(record, exact)
    return save({name: blob.contiguous() for name, blob in blobs.items()}, metadata)


def _parts(record: Record, exact: bool) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The blobs, and the header among the metadata."""
    blobs: dict[str, Tensor] = {"top.tokens": record.top.tokens, "top.probabilities": record.top.probabilities}
    blobs["top.said"] = record.top.said
    if record.picture is not None:
        blobs["picture"] = record.picture
    tensors = {}
    for name, seen in record.seen.items():
        coding = ROOT if seen.attention and not exact else EXACT
        blobs[f"seen.{name}"] = to_root(seen.values) if coding == ROOT else seen.values
        tensors[name] = {
            "axes": seen.axes, "role": seen.role, "layer": layer_of(name), "rows": seen.rows, "columns": seen.columns,
            "reading": seen.reading, "causal": seen.causal, "coding": coding, "group": seen.group * seen.attention,
            "carried": seen.carried, "from_the_end": seen.from_the_end,
        }  # fmt: skip
    header = {
        "version": VERSION,
        "kind": record.kind,
        "sequences": {name: _sequence(sequence) for name, sequence in record.sequences.items()},
        "seen": tensors,
        "names": {str(token): name for token, name in record.names.items()},
        "calls": [call._asdict() for call in record.calls],
        "tree": [node._asdict() for node in record.tree],
        "about": dict(record.about),
    }
    return blobs, {NAME: json.dumps(header, ensure_ascii=False)}


def _sequence(sequence: Sequence) -> dict[str, Any]:
    tokens = [{**token._asdict(), "piece": token.piece.hex()} for token in sequence.tokens]
    return {**asdict(sequence), "tokens": tokens, "text": sequence.text}


def load_record(path: Path) -> Record:
    """The inverse of `save_record`, up to its coding; checked, since a file may come from anybody."""
    try:
        blobs, metadata = read_tensors(path, "make it again")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; make it with `regard look RUN TEXT --save {path}`") from None
    try:
        record = _record(_header(path, metadata), blobs)
        check(record)
    except KeyError as error:
        raise UserError(f"{path} is damaged (its header lacks {error}); make it again") from None
    except (AttributeError, RecursionError, TypeError, ValueError) as error:  # whatever JSON can hold in a wrong place
        raise UserError(f"{path} is damaged ({error}); make it again") from None
    return record


def _header(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    if NAME not in metadata:
        raise UserError(f"{path} is no record of a pass; make one with `regard look RUN TEXT --save out.trace`")
    header = json.loads(metadata[NAME])
    if header["version"] > VERSION:
        raise UserError(
            f"{path} is a record of version {header['version']}, this regard reads up to {VERSION}; update regard"
        )
    return dict(header)


def _record(header: dict[str, Any], blobs: dict[str, Tensor]) -> Record:
    seen = {}
    for name, about in header["seen"].items():
        values = blobs[f"seen.{name}"]
        seen[name] = Seen(
            from_root(values) if about["coding"] == ROOT else values,
            tuple(about["axes"]),
            about.get("role") or ROLES.get(last := name.rpartition(".")[2], last),
            about["rows"],
            about["columns"],
            about.get("carried", False),
            about.get("from_the_end", False),
        )
    return Record(
        header["kind"],
        {name: _tokens(about) for name, about in header["sequences"].items()},
        seen,
        Top(*(blobs[f"top.{name}"] for name in Top._fields)),
        {int(token): name for token, name in header["names"].items()},
        tuple(Call(**call) for call in header["calls"]),
        tuple(Node(**node) for node in header["tree"]),
        blobs.get("picture"),
        header["about"],
    )


def _tokens(about: dict[str, Any]) -> Sequence:
    tokens = (Token(**{**token, "piece": bytes.fromhex(token["piece"])}) for token in about["tokens"])
    return Sequence(tuple(tokens), about["grid"])
