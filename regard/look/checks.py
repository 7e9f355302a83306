"""Whether a record fits together, so that a view meets no surprise.

One that comes from a file may be damaged, or made by somebody who means no good: nothing of it is believed before its
lengths and numbers are checked.
"""

from typing import get_args

import torch
from torch import Tensor

from regard.layers.tap import SOURCE, WRITTEN, Role
from regard.look.record import Call, Fate, Node, Record, Seen, Sequence, Token, Top

SIDES = (WRITTEN, SOURCE)
NUMBERS = (torch.float32, torch.uint8)


def check(record: Record) -> None:
    """Raises a ValueError that says what does not fit."""
    _want(isinstance(record.kind, str) and WRITTEN in record.sequences, "its kind or what was written is not there")
    for name, sequence in record.sequences.items():
        _want(name in SIDES and _is_sequence(sequence), f"the tokens of '{name}' are no tokens")
    for path, seen in record.seen.items():
        _check_seen(path, seen, record)
    _check_top(record.top, len(record.written.tokens))
    known = {*record.top.tokens.flatten().tolist(), *(node.token for node in record.tree if isinstance(node, Node))}
    _want(known <= record.names.keys() and all(isinstance(name, str) for name in record.names.values()), "names lack")
    _want(bool(record.calls) and all(_is_call(call) for call in record.calls), "its calls are no calls")
    _want(all(_is_node(node, place) for place, node in enumerate(record.tree)), "its tree is no tree")
    _want(all(isinstance(one, str) for pair in record.about.items() for one in pair), "what it is about is no text")
    if record.picture is not None:
        fits = record.picture.dtype == torch.uint8 and record.picture.ndim == 3 and record.picture.shape[0] == 3
        _want(fits and record.picture.numel() > 0, "its picture is no picture")


def _want(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)


def _whole(*numbers: object) -> bool:
    return all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers)


def _real(*numbers: object) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)


def _is_sequence(sequence: Sequence) -> bool:
    grid = _whole(sequence.grid) and (not sequence.grid or len(sequence.tokens) % sequence.grid == 0)
    return grid and bool(sequence.tokens) and all(_is_token(token) for token in sequence.tokens)


def _is_token(token: Token) -> bool:
    return _whole(token.id, token.begin) and isinstance(token.label, str)


def _check_seen(path: str, seen: Seen, record: Record) -> None:
    fits = seen.role in get_args(Role) and len(seen.axes) == seen.values.ndim and seen.values.dtype in NUMBERS
    _want(fits and seen.values.numel() > 0, f"what passed at {path} is not what it says")
    for axis, side in (("T", seen.rows), ("S", seen.columns)):
        _want((axis in seen.axes) == bool(side), f"{path} does not say whose {axis} it has")
        if side:
            count = seen.values.shape[seen.axes.index(axis)]
            there = len(record.sequences[side].tokens) if side in record.sequences else 0
            _want(count <= there, f"{path} has {count} places for {there} tokens")
    _want(not seen.attention or seen.axes == ("H", "T", "S"), f"{path} has no rows and columns")


def _check_top(top: Top, written: int) -> None:
    tokens, probabilities, said = top
    _want(
        tokens.ndim == 2 and tokens.shape == probabilities.shape and tokens.numel() > 0, "its alternatives do not fit"
    )
    _want(not tokens.is_floating_point() and bool((tokens >= 0).all()), "its alternatives are no tokens")
    _want(_floats(probabilities) and _floats(said) and said.ndim == 1, "its probabilities are no numbers")
    _want(len(tokens) <= written and len(said) <= len(tokens), "it has more steps than tokens")


def _floats(values: Tensor) -> bool:
    return values.dtype == torch.float32


def _is_call(call: Call) -> bool:
    return _whole(*call)


def _is_node(node: Node, place: int) -> bool:
    behind = _whole(node.parent + 1) and node.parent < place  # every node behind its parent: no circle
    return behind and _whole(node.token) and _real(node.log, node.total) and node.fate in get_args(Fate)
