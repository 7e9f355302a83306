"""How large a model, how much dropout, which batches: by how much there is to learn from, in one table.

A row holds below so many training tokens (of pairs: of both sides). It is asked only where a recipe names a kind of
layer and no [model] section, and only for what the recipe leaves open. What each row was chosen by is in docs/log.md.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

from regard.config import Cell, Recurrent, Transformer

LITTLE = 1_000_000
USUAL = 4096  # tokens in one update


class Amount(NamedTuple):
    """One row: what suits so much data."""

    below: float
    """Training tokens, of which there are fewer."""
    blocks: tuple[int, int, float]
    """Of a Transformer: layers, width, dropout."""
    cells: tuple[int, int, float]
    """Of recurrent layers: the same."""
    batch: int = USUAL
    """Tokens in one update of a Transformer; cells learnt no more from small ones."""
    smoothing: float = 0.0
    """Of a Transformer, too."""

    def transformer(self) -> Transformer:
        layers, width, dropout = self.blocks
        return Transformer(width=width, layers=layers, heads=4, dropout=dropout)

    def recurrent(self, kind: str) -> Recurrent:
        layers, width, dropout = self.cells
        return Recurrent(cast(Cell, kind), width=width, layers=layers, dropout=dropout)  # which refuses another

    def stack(self, layer: str) -> Recurrent | Transformer:
        """Of the kind of layer that is named."""
        return self.transformer() if layer == "transformer" else self.recurrent(layer)

    def learning(self, kind: str) -> tuple[int, float]:
        """Batch and smoothing for a kind of layer."""
        return (self.batch, self.smoothing) if kind == "transformer" else (USUAL, 0.0)


LABELS = (Amount(math.inf, (2, 128, 0.3), (1, 256, 0.5)),)
TEXT = (Amount(LITTLE, (4, 128, 0.1), (2, 256, 0.3)), Amount(math.inf, (6, 256, 0.05), (2, 512, 0.1)))
PAIRS = (
    Amount(50_000, (3, 128, 0.3), (1, 256, 0.3), batch=1024, smoothing=0.1),
    Amount(500_000, (3, 128, 0.3), (1, 256, 0.3), batch=2048, smoothing=0.1),
    Amount(LITTLE, (3, 128, 0.3), (1, 256, 0.3)),
    Amount(math.inf, (4, 256, 0.1), (1, 256, 0.1)),
)
CAPTIONS = (Amount(LITTLE, (2, 128, 0.3), (1, 256, 0.3)), Amount(math.inf, (2, 128, 0.1), (1, 256, 0.1)))


def amount(rows: Sequence[Amount], tokens: int) -> Amount:
    return next(row for row in rows if tokens < row.below)
