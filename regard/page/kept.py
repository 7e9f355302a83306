"""A record that was saved, on the page: one pass as it was, without the run it is of."""

from pathlib import Path
from typing import Any, NoReturn

from regard.errors import UserError
from regard.layers.tap import SOURCE
from regard.look.coding import load_record, to_bytes
from regard.page.about import about
from regard.page.answers import Answers
from regard.page.asked import LONGEST, Question
from regard.tasks import TASKS


class Kept(Answers):
    """Answers with what is in a file; whatever would ask the model is refused in words."""

    def __init__(self, path: Path) -> None:
        super().__init__([])
        self._path, self._record = path, load_record(path)
        titled = {task.title: task for task in TASKS.values()}
        if self._record.kind not in titled:
            raise UserError(
                f"{path} is a record of a '{self._record.kind}', which this regard does not know; update it"
            )
        self._task = titled[self._record.kind]

    def runs(self) -> list[dict[str, Any]]:
        record = self._record
        text = record.sequences.get(SOURCE, record.written).text
        return [
            {
                "name": self._path.name, "path": str(self._path), **about(self._task), "kept": self._said, "text": text,
                "parameters": 0, "tokens": "", "longest": LONGEST, "scenes": 0, "examples": [], "properties": [],
            }
        ]  # fmt: skip

    def record(self, asked: Question) -> bytes:
        if asked != Question():
            self._run(asked)
        return to_bytes(self._record)

    @property
    def _said(self) -> str:
        run = self._record.about.get("run", "RUN")
        return f"a saved record is without its model; for this look at the run: regard look {run}"

    def _run(self, asked: Question) -> NoReturn:
        raise UserError(self._said)
