"""How much of a batch is padding, in buckets and in file order: python -m bench.padding SOURCE TARGET"""

import sys

from bench.measure import row
from regard.data import store
from regard.data.batch import Buckets
from regard.tasks import TASKS
from regard.text import train_tokenizer


def main(source: str, target: str) -> None:
    pairs = list(TASKS["pairs"].read((source, target), None))
    tokenizer = train_tokenizer("bpe", [text for pair in pairs for text in pair])
    sides = [store.gather(tokenizer.encode_all([pair[side] for pair in pairs])) for side in (0, 1)]
    for budget in (2048, 4096, 8192):
        buckets = Buckets(*sides, budget, seed=0)
        rows = len(pairs) // buckets.per_epoch
        parts = [buckets.sizes[begin : begin + rows] for begin in range(0, len(pairs), rows)]
        padded = sum((len(part) * part.max(0)).sum() for part in parts)
        in_order = 1 - buckets.sizes.sum() / padded
        batches = [buckets.batch(buckets.in_order(place)) for place in range(buckets.per_epoch)]
        shares = 1 - buckets.sizes.sum() / sum(batch.tokens.numel() + batch.source.numel() for batch in batches)
        row(f"padding in batches of {budget:,} tokens", f"{shares:.1%}", f"{in_order:.1%} in file order")


if __name__ == "__main__":
    main(*sys.argv[1:])
