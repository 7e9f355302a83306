"""All claims, in the order of the notes."""

from regard.errors import unknown
from regard.lab import permutation
from regard.lab.claim import Claim

CLAIMS: dict[str, Claim] = {part.CLAIM.name: part.CLAIM for part in (permutation,)}


def claim_named(name: str) -> Claim:
    if name not in CLAIMS:
        raise unknown("claim", name, CLAIMS)
    return CLAIMS[name]
