"""What a person sees while a model trains: a progress bar on a terminal, a line for every look elsewhere; a picture."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.config import Train
from regard.errors import UserError
from regard.folder import Folder
from regard.look.pictures.style import GREY, LINES, WIDTH, figure, save_figure
from regard.training.pace import in_words

Entry = Mapping[str, Any]
SILENCE = 20.0  # seconds without a line after which there is one: with what an update takes, no more than half a minute


@dataclass(frozen=True)
class Moment:
    """How far a training has come."""

    step: int
    steps: int
    loss: float
    speed: float  # tokens a second
    left: float  # seconds
    answers_from: int  # the update whose weights would answer now; 0: none yet

    @property
    def rest(self) -> str:
        """How long it will still take; at the end nothing."""
        return f"about {in_words(self.left)} left" if self.step < self.steps else ""

    def __str__(self) -> str:
        answers = f"  answers come from step {self.answers_from:,}" if self.answers_from else ""
        return (
            f"step {self.step:,} of {self.steps:,}: loss {self.loss:.3f}  {self.speed:,.0f} tokens/s  "
            f"{self.rest}{answers}"
        )


class Report:
    """Speaks to standard error, so that standard output stays free for what was asked for. A quiet one says nothing."""

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self._spoke = clock, clock()
        self.console = Console(file=sys.stderr, quiet=quiet, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def say(self, text: str) -> None:
        self._spoke = self.clock()
        self.console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def meanwhile(self, so_far: Callable[[], str]) -> Iterator[None]:
        """While something is done that says nothing itself: how far it is, by a spinner or wherever it is silent."""
        over, began = Event(), self.clock()
        spinner = self.console.status("") if self.console.is_terminal and not self.console.quiet else None

        def watch() -> None:
            while not over.wait(1.0 if spinner else SILENCE):
                told = f"{so_far()}, {in_words(self.clock() - began)} so far"
                spinner.update(told) if spinner else self.say(told)

        watching = Thread(target=watch, daemon=True)
        with spinner or nullcontext():
            watching.start()
            try:
                yield
            finally:
                over.set()
                watching.join()

    def begin(self, steps: int, done: int) -> None:
        if self.console.is_terminal and not self.console.quiet:
            self._bar = Progress(
                TextColumn("[bold]{task.fields[name]}"),
                BarColumn(bar_width=None),
                TextColumn("step {task.completed:,.0f}/{task.total:,.0f}"),
                TextColumn("loss {task.fields[loss]}  {task.fields[speed]} tokens/s  held out {task.fields[held]}"),
                TextColumn("{task.fields[left]}"),
                console=self.console,
            )
            self._task = self._bar.add_task(
                "", total=steps, completed=done, name="training", loss="…", speed="…", held="…", left="…"
            )
            self._bar.start()

    def step(self, now: Moment) -> None:
        """Off a terminal a line at the first update, and wherever nothing has been said for a while."""
        if self._bar is not None and self._task is not None:
            left = now.rest + (f", answers: step {now.answers_from:,}" if now.answers_from and now.rest else "")
            self._bar.update(
                self._task,
                completed=now.step,
                total=now.steps,
                loss=f"{now.loss:.3f}",
                speed=f"{now.speed:,.0f}",
                left=left,
            )
        elif now.step == 1:
            self.say(f"step 1: loss {now.loss:.3f}")
        elif self.clock() - self._spoke >= SILENCE:
            self.say(str(now))

    def evaluated(self, entry: Entry) -> None:
        held = entry["held_out"]
        others = "  ".join(f"{name} {held[name]:.2f}" for name in ("bleu", "chrf", "exact") if name in held)
        size = held.get("bits_per_byte")
        figure = f"{size:.3f} bits/byte" if size is not None else f"accuracy {held['accuracy']:.4f}"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, held=f"{held['loss']:.3f} {others}".strip())
        else:
            self.say(
                f"step {entry['step']:,}: loss {entry['loss']:.3f}  held out {held['loss']:.4f} "
                f"({figure})  {others}{'  ' if others else ''}"
                f"{entry['tokens_per_second']:,.0f} tokens/s{'  best' if entry['best'] else ''}"
            )

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def no_longer_a_number(folder: Folder, settings: Train, step: int) -> UserError:
    """What to do about a loss that is infinite or none."""
    there = folder.checkpoint.exists()
    kept = f"the last good checkpoint is in {folder.path}" if there else "nothing is lost"
    return UserError(
        f"the loss is no longer a number at step {step}; {kept}; try a lower train.rate "
        f"(now {settings.rate}), a longer train.warmup (now {settings.warmup}) "
        f"or a smaller train.clip (now {settings.clip})"
    )


class Board:
    """The log's entries as TensorBoard files, for those who ask for them."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError("train.tensorboard wants the package; pip install 'regard[tensorboard]'") from None
        self._writer = SummaryWriter(str(folder / "tensorboard"))

    def write(self, entry: Entry) -> None:
        parts = {"training": {"loss": entry["loss"], "rate": entry["rate"]}, "held_out": entry.get("held_out", {})}
        for part, figures in parts.items():
            for name, value in figures.items():
                self._writer.add_scalar(f"{part}/{name}", value, entry["step"])
        self._writer.flush()


def draw_curve(path: Path, entries: list[dict[str, Any]]) -> None:
    """The learning curve as a picture: training and held-out loss against steps."""
    looks = [entry for entry in entries if "held_out" in entry]
    if not looks:
        return
    drawn = figure(WIDTH, 4.0)
    axes = drawn.add_subplot()
    axes.plot([e["step"] for e in entries], [e["loss"] for e in entries], color=GREY, label="training")
    steps = [entry["step"] for entry in looks]
    held = [entry["held_out"]["loss"] for entry in looks]
    axes.plot(steps, held, color=LINES[0], marker="o", markersize=3, label="held out")
    best = min(range(len(held)), key=held.__getitem__)
    axes.annotate(
        f"{held[best]:.3f}", (steps[best], held[best]), textcoords="offset points", xytext=(0, 8), ha="center"
    )
    axes.set_xlabel("updates")
    axes.set_ylabel("loss (nats per token)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")  # said, so that a slow machine gets no warning about the time it takes
    save_figure(drawn, path)
