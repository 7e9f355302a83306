"""The tree of a beam search: what was kept, what was pruned, what came to an end."""

import math
from collections.abc import Iterator

from regard.decode.beam import Look
from regard.look.record import Fate, Node

SHOWN = 3  # continuations of each hypothesis that are told, besides those that were kept


class BeamTree:
    """Watches the search for one answer, and grows a node for every continuation that it considered."""

    def __init__(self, shown: int = SHOWN) -> None:
        self.nodes: list[Node] = []
        self._shown = shown
        self._rows = [-1]  # the node of each row

    def __call__(self, look: Look) -> None:
        """One step: which of the continuations went on, and which of the others came close."""
        going = {place: row for row, place in enumerate(look.going.flatten().tolist())}
        best = [part.flatten().tolist() for part in look.best]
        nodes, taken = [-1] * len(going), set()
        for place, (total, token, log, parent) in enumerate(zip(*best, strict=True)):
            if total == -math.inf:
                continue
            ended = bool(look.ended.flatten()[place])
            fate: Fate = "finished" if ended else "kept" if place in going else "pruned"
            taken.add((parent, token))
            node = self._add(Node(self._rows[parent], token, log, self._before(parent) + log, fate))
            if place in going:
                nodes[going[place]] = node
        for parent, token, log in self._close(look):
            if (parent, token) not in taken:
                self._add(Node(self._rows[parent], token, log, self._before(parent) + log, "pruned"))
        self._rows = nodes

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _before(self, row: int) -> float:
        return self.nodes[self._rows[row]].total if self._rows[row] >= 0 else 0.0

    def _close(self, look: Look) -> Iterator[tuple[int, int, float]]:
        """The most probable continuations of every row."""
        logs, tokens = look.logs.topk(min(self._shown, look.logs.shape[1]))
        for row, (several, named) in enumerate(zip(logs.tolist(), tokens.tolist(), strict=True)):
            yield from ((row, token, log) for token, log in zip(named, several, strict=True))
