"""How well labels and tags were said."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from regard.metrics.score import Score


def macro_f1(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """Each label's F1 = 2 · right / (said + wanted), then the mean over labels: a rare one counts as much as any.

    An example is one label, or one for each of its words.
    """
    place: dict[str, int] = {}
    for names in (*said, *wanted):
        for name in names:
            place.setdefault(name, len(place))
    right, both = np.zeros((len(said), len(place))), np.zeros((len(said), len(place)))
    for example, (ours, theirs) in enumerate(zip(said, wanted, strict=True)):
        for a, b in zip(ours, theirs, strict=True):
            right[example, place[a]] += a == b
            both[example, place[a]] += 1
            both[example, place[b]] += 1
    return Score(np.hstack([right, both]), _mean_f1, f"mean over {len(place)} label{'s' * (len(place) != 1)}")


def _mean_f1(sums: Float[np.ndarray, " F"]) -> float:
    right, both = np.split(sums, 2)
    return float((2 * right[both > 0] / both[both > 0]).mean()) if both.any() else 0.0


def span_f1(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """2 · right / (said + wanted) over spans; one is right only if it begins, ends and is called as it should be.

    Spans are those of CoNLL-2000's evaluation. Where no tag begins with B- or I-, each word is a span by itself.
    """
    plain = not any(tag.startswith(("B-", "I-")) for sentence in wanted for tag in sentence)
    parts = []
    for ours, theirs in zip(said, wanted, strict=True):
        found, true = (set(enumerate(tags)) if plain else spans(tags) for tags in (ours, theirs))
        parts.append((len(found & true), len(found) + len(true)))
    signature = "plain tags: each word is a span" if plain else "BIO spans"
    return Score(np.array(parts, float).reshape(-1, 2), lambda sums: 2 * sums[0] / max(sums[1], 1), signature)


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """Begin, end and name of each span in BIO tags. An I- after something else begins a span as a B- does."""
    found: set[tuple[int, int, str]] = set()
    begin, name = 0, ""
    for place, tag in enumerate([*tags, "O"]):
        inside, _, called = tag.partition("-")
        goes_on = inside == "I" and called == name
        if name and not goes_on:
            found.add((begin, place, name))
            name = ""
        if inside in ("B", "I") and not goes_on:
            begin, name = place, called
    return found
