"""Two alignments of the same words, one by each direction, as one (symmetrisation)."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from regard.look.align.error_rate import Link

GROW = "grow-diag-final-and"
BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def grow_diagonal_final_and(there: AbstractSet[Link], back: AbstractSet[Link]) -> set[Link]:
    """Begins with what both found; adds what one found, first beside links that are there, then anywhere.

    Beside a link (grow-diag): if one of its two words has no link yet. Anywhere (final-and): if neither has, those of
    the first direction first. (Och & Ney 2003; Koehn et al. 2005)
    """
    links, either = set(there & back), there | back
    sources, targets = {source for source, _ in links}, {target for _, target in links}

    def add(link: Link) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    new = sorted(links)
    while new:
        grown = []
        for source, target in new:
            for down, right in BESIDE:
                link = source + down, target + right
                if link in either and link not in links and (link[0] not in sources or link[1] not in targets):
                    add(link)
                    grown.append(link)
        new = grown  # what stood beside an old link and was refused stays so: words only ever gain links
    for direction in (there, back):
        for link in sorted(direction):
            if link[0] not in sources and link[1] not in targets:
                add(link)
    return links


WAYS: Mapping[str, Callable[[AbstractSet[Link], AbstractSet[Link]], AbstractSet[Link]]] = {
    GROW: grow_diagonal_final_and,
    "intersection": lambda there, back: there & back,
    "union": lambda there, back: there | back,
}
"""How two directions become one, by name."""
