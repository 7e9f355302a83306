"""What a person sees in a notebook while a model trains: one block that changes, not a line for every look."""

from collections.abc import Mapping
from html import escape
from typing import Any

from regard.training.report import Moment, Report

OFTEN = 0.3  # seconds between two pictures of one bar: a browser has other things to do


class NotebookReport(Report):
    """What was said, and below it the bar, in one place of the notebook that is drawn anew."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self._lines: list[str] = []
        self._now, self._held = "", ""
        self._shown: Any = None
        self._drawn = float("-inf")

    def say(self, text: str) -> None:
        self._lines.append(text)
        self._draw()

    def begin(self, steps: int, done: int) -> None:
        self._now = f'<progress max="{steps}" value="{done}" style="width: 16em"></progress>'
        self._draw()

    def step(self, now: Moment) -> None:
        self._now = (
            f'<progress max="{now.steps}" value="{now.step}" style="width: 16em"></progress> step {now.step:,} of '
            f"{now.steps:,} · loss {now.loss:.3f} · {now.speed:,.0f} tokens/s{' · ' if now.rest else ''}{now.rest}"
        )
        if self.clock() - self._drawn >= OFTEN:
            self._draw()

    def evaluated(self, entry: Mapping[str, Any]) -> None:
        figures = (f"{name} {value:.4g}" for name, value in entry["held_out"].items() if isinstance(value, float))
        self._held = f"held out at step {entry['step']:,}: {', '.join(figures)}"
        self._draw()

    def end(self) -> None:
        self._draw()

    def _draw(self) -> None:
        from IPython.display import HTML, display

        self._drawn = self.clock()
        said = "".join(f'<div style="white-space: pre-wrap">{escape(line)}</div>' for line in self._lines)
        text = f"<div>{said}<div>{self._now}</div><div>{escape(self._held)}</div></div>"
        block = HTML(text)
        if self._shown is None:
            self._shown = display(block, display_id=True)
        else:
            self._shown.update(block)
