"""A lesson is a page of Markdown whose blocks of Python are the cells of a notebook.

A cell says in its first line what it is: `# exercise` defines one function that the student writes, `# check` holds it
against regard's own layer, `# training` takes seconds rather than milliseconds. Solutions are functions of the same
name in a file beside it; to fill them in is to put them in the place of the exercises.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

HERE = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
KINDS = ("exercise", "check", "training")


@dataclass(frozen=True)
class Cell:
    """What stands between two blocks of Python, or such a block."""

    kind: str
    """`text`, `code`, or one of KINDS."""
    source: str

    @property
    def function(self) -> str:
        """The name of the function that an exercise asks for."""
        return next(node.name for node in ast.parse(self.source).body if isinstance(node, ast.FunctionDef))


@dataclass(frozen=True)
class Lesson:
    """One page."""

    name: str
    cells: tuple[Cell, ...]

    def solutions(self) -> dict[str, str]:
        """The code of each solution by the name of its function."""
        text = (HERE / "solutions" / f"{self.name}.py").read_text()
        functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
        return {node.name: ast.get_source_segment(text, node) or "" for node in functions}

    def solved(self) -> "Lesson":
        """The lesson as a student hands it in who has written every exercise."""
        solutions = self.solutions()
        return replace(self, cells=tuple(_filled(cell, solutions) for cell in self.cells))

    def notebook(self) -> Any:
        """The lesson for Jupyter."""
        make = {"text": nbformat.v4.new_markdown_cell}
        book = nbformat.v4.new_notebook(
            cells=[make.get(cell.kind, nbformat.v4.new_code_cell)(cell.source) for cell in self.cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        for place, cell in enumerate(book.cells):
            cell["id"] = f"{self.name}-{place}"  # the same each time it is made
        return book


def lessons() -> list[Lesson]:
    """All of them, in their order."""
    return [Lesson(page.stem, tuple(_cells(page.read_text()))) for page in sorted(HERE.glob("[0-9]-*.md"))]


def _cells(page: str) -> Iterator[Cell]:
    for place, part in enumerate(BLOCK.split(page)):  # text and code take turns
        if place % 2:
            first = part.partition("\n")[0].removeprefix("# ")
            yield Cell(first if first in KINDS else "code", part)
        elif part.strip():
            yield Cell("text", part.strip())


def _filled(cell: Cell, solutions: dict[str, str]) -> Cell:
    return replace(cell, source=f"# exercise\n{solutions[cell.function]}") if cell.kind == "exercise" else cell
