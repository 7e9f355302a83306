"""All claims, in the order of the notes."""

from regard.errors import unknown
from regard.lab import (
    alignments,
    all_at_once,
    bottleneck,
    cache,
    cells,
    depth,
    forcing,
    keys_and_values,
    likely_text,
    mixing,
    no_mask,
    permutation,
    positions,
    saturation,
    scaling_law,
    several_heads,
    stop_vector,
    vanishing,
)
from regard.lab.claim import Claim

IN_ORDER = (
    vanishing,
    bottleneck,
    alignments,
    mixing,
    saturation,
    keys_and_values,
    permutation,
    positions,
    no_mask,
    all_at_once,
    cache,
    several_heads,
    depth,
    likely_text,
    forcing,
    cells,
    stop_vector,
    scaling_law,
)
CLAIMS: dict[str, Claim] = {part.CLAIM.name: part.CLAIM for part in IN_ORDER}


def claim_named(name: str) -> Claim:
    if name not in CLAIMS:
        raise unknown("claim", name, CLAIMS)
    return CLAIMS[name]
