"""A record: everything a view needs from one pass or one generation of any model, as a value that can be saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from regard.errors import UserError, unknown
from regard.layers.tap import SOURCE, WRITTEN, layer_of
from regard.models.model import Source
from regard.special import STOP, UNKNOWN

RowOf = Literal["fed", "predicted"]
Fate = Literal["kept", "pruned", "finished"]
GROUPS = ("cross", "self", "encoder")
"""Attention of what is written to what was read; within what is written; within what was read."""


class Token(NamedTuple):
    """One token as it stands in its text."""

    id: int
    label: str
    """Its name for people: nothing in it is invisible."""
    piece: bytes
    """What it adds to the text, in UTF-8."""
    begin: int
    """How many bytes of the text stand before it."""


@dataclass(frozen=True)
class Sequence:
    """What was read or written, start and stop included."""

    tokens: tuple[Token, ...]
    grid: int = 0
    """For the regions of a picture: how many stand in a row; 0: this is text."""

    @property
    def text(self) -> str:
        """What all tokens add up to."""
        return b"".join(token.piece for token in self.tokens).decode(errors="replace")

    @property
    def ids(self) -> Int[Tensor, " T"]:
        return torch.tensor([token.id for token in self.tokens])

    @property
    def words(self) -> list[str]:
        """Each token as one likes to see it beside a map: without the space before it."""
        return [
            token.label if token.id == UNKNOWN else token.piece.decode(errors="replace").strip() or token.label
            for token in self.tokens
        ]


@dataclass(frozen=True)
class Seen:
    """What passed at one tap, for one row of a batch. Axes: H heads, T rows, S columns, D or F cells."""

    values: Tensor
    axes: tuple[str, ...]
    role: str
    """What it is: hidden, cells, gate, weights, …, as its tap says."""
    rows: str
    """The sequence whose tokens T runs over; empty: there is no T."""
    columns: str = ""
    """The sequence whose tokens S runs over; empty: there is no S."""
    carried: bool = False
    """Whether each position hands it on to the next: the arrows along time."""
    from_the_end: bool = False
    """Whether it runs from the last token to the first."""

    @property
    def attention(self) -> bool:
        return self.role == "weights"

    @property
    def reading(self) -> RowOf:
        """Whose row it is by habit: of the token that was fed at that step, or of the next, predicted from it."""
        return "predicted" if self.attention and self.group == "cross" else "fed"

    @property
    def causal(self) -> bool:
        """Whether a row sees no column behind its own: these are masked, which is not the same as a weight of zero."""
        return self.rows == self.columns == WRITTEN

    @property
    def group(self) -> str:
        """Which attention of `GROUPS` it is."""
        if self.rows != self.columns:
            return "cross"
        return "encoder" if self.rows == SOURCE else "self"

    @property
    def masked(self) -> Bool[Tensor, "T S"]:
        """Where a row was not allowed to look."""
        shape = self.values.shape[-2:]
        return torch.ones(shape, dtype=torch.bool).triu(1) if self.causal else torch.zeros(shape, dtype=torch.bool)


class Top(NamedTuple):
    """The most probable tokens at each step, the best first; and the one that was said."""

    tokens: Int[Tensor, "T k"]
    probabilities: Float[Tensor, "T k"]
    said: Float[Tensor, " T"]
    """log p of the token that followed."""


class Call(NamedTuple):
    """One call of the model: so many positions were computed, so many reused from the state it was given."""

    computed: int
    reused: int
    bytes: int
    """Of the state behind it."""


class Node(NamedTuple):
    """A token that a beam search considered."""

    parent: int
    """The node before it; −1: the prompt."""
    token: int
    log: float
    """log p of the token."""
    total: float
    """Σ log p from the prompt to here."""
    fate: Fate


@dataclass(frozen=True)
class Record:
    """`written` begins with the start token: step t fed its token t and predicted its token t + 1.

    Of a classifier the written token is the class, of a tagger there is one for each token read.
    """

    kind: str
    """What people call the model."""
    sequences: Mapping[str, Sequence]
    """`written`, and `source` where there is one."""
    seen: Mapping[str, Seen]
    """What passed, by the path of its tap."""
    top: Top
    names: Mapping[int, str]
    """How people call the tokens of `top` and `tree`."""
    calls: tuple[Call, ...]
    tree: tuple[Node, ...] = ()
    """Of a beam search, every node behind its parent."""
    picture: UInt8[Tensor, "3 Y X"] | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> Sequence:
        return self.sequences[WRITTEN]

    @property
    def source(self) -> Source | None:
        """What the model read, to ask it again."""
        if self.picture is not None:
            return Source(self.picture[None])
        return Source(self.sequences[SOURCE].ids[None]) if SOURCE in self.sequences else None

    @property
    def labelled(self) -> bool:
        """Whether what was written are labels, all of them known behind one pass; else it is a text, with its stop."""
        return SOURCE in self.sequences and len(self.calls) == 1 and self.written.tokens[-1].id != STOP

    def row_words(self, seen: Seen, reading: RowOf | None = None) -> list[str]:
        """The names of its rows, read as the tokens fed or as those predicted."""
        words = [*self.sequences[seen.rows].words, "…"]  # what would follow a text that is only read
        first = (reading or seen.reading) == "predicted"
        count = seen.values.shape[seen.axes.index("T")]
        return words[first : first + count]

    def attention(self, group: str = "") -> dict[str, Seen]:
        """The attention layers of a group by path, the lowest first; without a name, of the first group there is."""
        every = {path: seen for path, seen in self.seen.items() if seen.attention}
        there = [name for name in GROUPS if any(seen.group == name for seen in every.values())]
        if not there:
            others = {path: seen.role for path, seen in self.seen.items() if not seen.attention}
            cells = next((path for path, role in others.items() if role == "cells"), next(iter(others), ""))
            raise UserError(
                f"this {self.kind} has no attention, so there is no map and no heads; "
                f"look at its cells instead: --view text --unit '{cells}[0]'"
            )
        if group and group not in GROUPS:
            raise unknown("attention", group, GROUPS)
        if group and group not in there:
            raise UserError(f"this {self.kind} has no attention called '{group}'; it has {', '.join(there)}")
        return {path: seen for path, seen in every.items() if seen.group == (group or there[0])}

    def layer(self, name: str) -> tuple[str, Seen]:
        """The weights of one attention layer, behind their path."""
        layers = {layer_of(path): (path, seen) for path, seen in self.seen.items() if seen.attention}
        if name not in layers:
            raise unknown("attention layer", name, layers)
        return layers[name]
