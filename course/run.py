"""Lessons run by a real kernel, and read as pages: Markdown with what each cell put out below it."""

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient

from course.lesson import Lesson

LIMIT = 600  # seconds for one cell


def executed(lesson: Lesson, folder: Path) -> Any:
    """The notebook of a lesson with all that its cells put out, run in `folder`; a cell that fails raises."""
    folder.mkdir(parents=True, exist_ok=True)
    book = lesson.notebook()
    nbclient.NotebookClient(book, timeout=LIMIT, resources={"metadata": {"path": folder}}).execute()
    return book


def page(lesson: Lesson, book: Any, folder: Path) -> str:
    """The lesson as it is given to students, and below each cell what the executed notebook has; pictures beside it."""
    parts = []
    for place, (cell, done) in enumerate(zip(lesson.cells, book.cells, strict=True)):
        if cell.kind == "text":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += _shown(done.outputs, folder, f"{lesson.name}-{place}")
    return "\n\n".join(parts) + "\n"


def _shown(outputs: list[Any], folder: Path, name: str) -> Iterator[str]:
    for place, output in enumerate(outputs):
        data = output.get("data", {})
        if "image/png" in data:
            picture = folder / f"{name}-{place}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(b64decode(data["image/png"]))
            yield f"![what the cell above drew]({picture.name})"
        elif "text/html" in data:
            yield _plain(data["text/html"])
        elif text := output.get("text", data.get("text/plain", "")):
            yield _block(text)


def _plain(html: str) -> str:
    """The words of a block of HTML."""
    return _block(re.sub(r"<[^>]+>", "", re.sub(r"</(?:div|p|tr|pre)>|<br */?>", "\n", html)))


def _block(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "```text\n" + "\n".join(lines) + "\n```"
