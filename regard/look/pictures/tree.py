"""A beam search as a tree: kept, pruned, finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import exp

import numpy as np
from matplotlib.figure import Figure

from regard.errors import UserError
from regard.look.pictures.style import FAINT, GREY, LINES, RULE, WIDTH, plain
from regard.look.pictures.view import Arrays, Cell, View, blank
from regard.look.record import Node

LETTERS = 20  # of 7 points, in an inch
LEAST = 4.0  # points: the smallest letters that can be read
LEAVES = 60  # lines of a picture; the least probable of what was pruned is left out
COLOURS = {"kept": LINES[0], "pruned": GREY, "finished": LINES[1]}


@dataclass(frozen=True)
class SearchTree(View):
    """Every continuation that was considered."""

    nodes: Sequence[Node]
    names: Mapping[int, str]

    def _children(self, nodes: set[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {-1: []}
        for number in sorted(nodes):
            found.setdefault(self.nodes[number].parent, []).append(number)
        for several in found.values():
            several.sort(key=lambda number: -self.nodes[number].total)
        return found

    def _shown(self) -> set[int]:
        """All that was kept or finished, and the most probable of what was pruned, as far as there is room."""
        pruned = [number for number, node in enumerate(self.nodes) if node.fate == "pruned"]
        others = set(range(len(self.nodes))) - set(pruned)
        pruned.sort(key=lambda number: -self.nodes[number].total)
        return others | set(pruned[: max(0, LEAVES - sum(node.fate == "finished" for node in self.nodes))])

    def _places(self) -> dict[int, tuple[int, int]]:
        """Depth and line of every node: its leaves below each other, and itself on the line of its best."""
        children, places = self._children(self._shown()), dict[int, tuple[int, int]]()
        line = 0
        stack = [(number, 0) for number in reversed(children[-1])]
        while stack:
            number, depth = stack.pop()
            places[number] = depth, line
            below = children.get(number, [])
            if below:
                stack += [(child, depth + 1) for child in reversed(below)]
            else:
                line += 1
        return places

    def figure(self, width: float | None = None) -> Figure:
        places = self._places()
        lines = 1 + max(line for _, line in places.values())
        starts = self._columns(places, width or WIDTH)
        figure = blank(0.135 * lines + 0.8, self, width)
        axes = figure.add_subplot()
        axes.set_xlim(0, 1)
        axes.set_ylim(lines - 0.4, -1.2)
        axes.axis("off")
        size = min(7.0, 7.0 * LETTERS * (width or WIDTH) / self._letters(places))
        if width and size < LEAST:
            wanted = LEAST / 7.0 * self._letters(places) / LETTERS
            raise UserError(
                f"this search is too deep for {width:.1f}in, letters would be too small; --width {wanted:.1f}in"
            )
        for number, (depth, line) in places.items():
            node = self.nodes[number]
            if node.parent >= 0:
                above_depth, above = places[node.parent]
                if above != line:
                    bend = starts[above_depth] + 0.004
                    axes.plot([bend, bend, starts[depth] - 0.004], [above + 0.4, line, line], color=RULE, linewidth=0.6)
            label = plain(f"{self.names[node.token]} {exp(node.log):.2f}")
            axes.text(starts[depth], line, label, fontsize=size, va="center", color=COLOURS[node.fate],
                      weight="bold" if node.fate == "finished" else "normal")  # fmt: skip
        for place, (fate, colour) in enumerate(COLOURS.items()):
            axes.text(0.1 * place * WIDTH / (width or WIDTH), -1, fate, fontsize=7, color=colour, va="center")
        said = "token, p(token)" if width else "from left to right: token and p(token); lines: one hypothesis each"
        axes.text(0.32 * WIDTH / (width or WIDTH), -1, said, fontsize=7, color=FAINT, va="center").set_in_layout(False)
        return figure

    def _letters(self, places: Mapping[int, tuple[int, int]]) -> int:
        """From the first to the last of the longest names of all depths."""
        return sum(
            max(len(self.names[self.nodes[number].token]) + 7 for number, (depth, _) in places.items() if depth == at)
            for at in range(1 + max(depth for depth, _ in places.values()))
        )

    def _columns(self, places: Mapping[int, tuple[int, int]], width: float) -> list[float]:
        """Where each depth begins: as wide as its longest name, all of them together as wide as the page."""
        widest = [0] * (1 + max(depth for depth, _ in places.values()))
        for number, (depth, _) in places.items():
            widest[depth] = max(widest[depth], len(self.names[self.nodes[number].token]) + 7)
        return [sum(widest[:depth]) / max(sum(widest), 20 * width) for depth in range(len(widest))]

    def body(self) -> str:
        children = self._children(set(range(len(self.nodes))))
        parts: list[str] = []
        stack: list[int | str] = [*reversed(children[-1])]
        while stack:
            one = stack.pop()
            if isinstance(one, str):
                parts.append(one)
                continue
            node, below = self.nodes[one], children.get(one, [])
            title = f"log p {node.log:.4f}, sum {node.total:.4f}, {node.fate}"
            said = f"{escape(self.names[node.token])} {exp(node.log):.2f}"
            parts.append(f'<li><span class="{node.fate}" title="{title}">{said}</span>')
            stack.append("</li>")
            if below:
                parts.append("<ul>")
                stack += ["</ul>", *reversed(below)]
        fates = " · ".join(f'<span class="{fate}">{fate}</span>' for fate in COLOURS)
        key = f'<p class="soft">{fates}; from one token to the next: its name and p(token)</p>'
        return f'{key}<ul class="tree">{"".join(parts)}</ul>'

    def table(self) -> list[list[Cell]]:
        rows: list[list[Cell]] = [["node", *Node._fields, "name"]]
        return rows + [[number, *node, self.names[node.token]] for number, node in enumerate(self.nodes)]

    def numbers(self) -> Arrays:
        columns = {name: [node[place] for node in self.nodes] for place, name in enumerate(Node._fields)}
        arrays: dict[str, np.ndarray | list[str]] = {
            name: np.asarray(columns[name]) for name in ("parent", "token", "log", "total")
        }
        return {
            **arrays,
            "fate": [str(fate) for fate in columns["fate"]],
            "name": [self.names[node.token] for node in self.nodes],
        }
