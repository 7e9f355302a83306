"""How well labels and tags were said."""

from collections import Counter
from collections.abc import Sequence

from regard.metrics.text import Score


def macro_f1(said: Sequence[str], wanted: Sequence[str]) -> Score:
    """Each label's F1 = 2 · right / (said + wanted), then the mean over labels: a rare one counts as much as any."""
    right = Counter(a for a, b in zip(said, wanted, strict=True) if a == b)
    both = Counter(said) + Counter(wanted)
    each = [2 * right[name] / number for name, number in both.items()]
    return Score(sum(each) / max(len(each), 1), f"mean over {len(each)} labels")


def span_f1(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """2 · right / (said + wanted) over spans; one is right only if it begins, ends and is called as it should be.

    Spans are those of CoNLL-2000's evaluation. Where no tag begins with B- or I-, each word is a span by itself.
    """
    plain = not any(tag.startswith(("B-", "I-")) for sentence in wanted for tag in sentence)
    right = counted = 0
    for ours, theirs in zip(said, wanted, strict=True):
        found, true = (set(enumerate(tags)) if plain else spans(tags) for tags in (ours, theirs))
        right += len(found & true)
        counted += len(found) + len(true)
    signature = "plain tags: each word is a span" if plain else "BIO spans"
    return Score(2 * right / max(counted, 1), signature)


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
