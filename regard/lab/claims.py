"""All claims, in the order of the notes."""

from regard.errors import unknown
from regard.lab import (
    all_at_once,
    bottleneck,
    cache,
    keys_and_values,
    mixing,
    no_mask,
    permutation,
    positions,
    saturation,
)
from regard.lab.claim import Claim

IN_ORDER = (
    bottleneck,
    mixing,
    saturation,
    keys_and_values,
    permutation,
    positions,
    no_mask,
    all_at_once,
    cache,
)
CLAIMS: dict[str, Claim] = {part.CLAIM.name: part.CLAIM for part in IN_ORDER}


def claim_named(name: str) -> Claim:
    if name not in CLAIMS:
        raise unknown("claim", name, CLAIMS)
    return CLAIMS[name]
