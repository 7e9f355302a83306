"""The engine: one thread that answers many searches with one model, a step for all of them at a time.

A search is a conversation (`regard.models.feeding`). What it says besides goes to whoever waits for it. Sources and
prompts are read alone, long ones in pieces between the steps of the others; then their rows join a `Joined`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from torch import Tensor

from regard.models.feeding import Compute, Feed, Rank, Read, fed
from regard.models.model import Model
from regard.serve.batch import Joined, Seat, shape_of
from regard.serve.steady import BLOCK, RowCounts, steady

PIECE = 128  # tokens of a prompt that are read between two steps of the others

Asking = Generator[Any, Any, None]  # says Read, Feed and Compute, is told their answers; all else is for who waits


class Full(Exception):
    """No more can wait; after so many seconds somebody may."""

    def __init__(self, seconds: float) -> None:
        super().__init__("the queue is full")
        self.seconds = seconds


class Draining(Exception):
    """The engine takes nothing new: it is about to end."""


@dataclass(eq=False)
class Job:
    """A search that somebody waits for. `tell` is called in the engine's thread, and last with an `Ended`."""

    asking: Asking
    tell: Callable[[Any], None]
    rows: int = 1
    """How many rows it will have in a batch."""
    deadline: float = float("inf")
    """Until when it may take, by the clock that never jumps."""
    cancelled: bool = False
    began: float = 0.0
    waited: float = field(default_factory=time.monotonic)
    said: Any = None
    """What it wants now."""
    has_read: bool = False
    """Whether anything was fed since its first state."""
    pieces: list[Tensor] = field(default_factory=list)
    """What is left of a prompt to be read."""


@dataclass(frozen=True)
class Ended:
    """How a search ended: well, or with an error; `late`: it took too long."""

    error: BaseException | None = None
    late: bool = False


class Engine:
    """Answers searches with a model until it is closed."""

    def __init__(
        self, model: Model, rows: int = 32, queue: int = 256, flush: Callable[[], None] = lambda: None
    ) -> None:
        self.model, self.most_rows, self.most_waiting = model, rows, queue
        self.sizes = RowCounts([])
        """How many rows may be computed together."""
        self.running: dict[int, Job] = {}
        self.waiting: deque[Job] = deque()
        self.steps = 0
        self.pace = 0.1  # seconds between two searches that end, as measured
        self._flush, self._numbers, self._batches = flush, count(), dict[Any, Joined]()
        self._tried = threading.Event()
        self._changed, self._closing, self._ended = threading.Condition(), False, time.monotonic()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()
        self._tried.wait()

    def submit(self, job: Job) -> None:
        """Queues a search; refuses it where too many wait."""
        with self._changed:
            if self._closing:
                raise Draining
            if len(self.waiting) >= self.most_waiting:
                raise Full(max(1.0, len(self.waiting) * self.pace))
            self.waiting.append(job)
            self._changed.notify()

    def cancel(self, job: Job) -> None:
        """Nobody waits for it any more: it is gone before the next step."""
        with self._changed:
            job.cancelled = True
            self._changed.notify()

    def close(self, seconds: float = 0.0) -> bool:
        """Takes nothing new; whether all that there was came to its end within so many seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(seconds)
        done = not self._thread.is_alive()
        if not done:
            with self._changed:
                for job in (*list(self.waiting), *list(self.running.values())):
                    job.cancelled = True
                self._changed.notify()
            self._thread.join(30)
        return done

    # ---- in its thread

    @torch.inference_mode()
    def _run(self) -> None:
        torch.set_num_threads(1)  # attention by several threads gives a row other bits, by which of them it meets
        self.sizes = steady(self.model, max(2 * BLOCK, self.most_rows) + self.sizes.wide(self.most_rows))
        self._tried.set()
        while self._wait():
            self._admit()
            self._read()
            self._step()
            self._flush()

    def _wait(self) -> bool:
        """Until there is something to do; False: never again."""
        with self._changed:
            self._changed.wait_for(lambda: self.running or self.waiting or self._closing)
            return bool(self.running or self.waiting or not self._closing)

    def _admit(self) -> None:
        """Drops who was cancelled or is late, then takes in who waits, in order, while there is room."""
        now = time.monotonic()
        with self._changed:
            for number, job in list(self.running.items()):
                if job.cancelled or now > job.deadline:
                    self._end(number, job, Ended(late=not job.cancelled))
            free = self.most_rows - sum(job.rows for job in self.running.values())
            new: list[Job] = []
            for job in [job for job in self.waiting if job.cancelled or now > job.deadline]:
                self.waiting.remove(job)
                job.asking.close()
                job.tell(Ended(late=not job.cancelled))
            while self.waiting:
                job = self.waiting[0]
                if job.rows > free and (self.running or new):  # one that is too large runs alone
                    break
                new.append(self.waiting.popleft())
                free -= job.rows
            for job in new:
                number, job.began = next(self._numbers), now
                self.running[number] = job
        for number, job in [(number, job) for number, job in self.running.items() if job.said is None]:
            self._go_on(number, job, None)

    def _go_on(self, number: int, job: Job, told: Any) -> None:
        """A search goes on with what it is told, up to what it wants next."""
        try:
            said = job.asking.send(told)
            while not isinstance(said, Read | Feed | Compute):
                told = None
                if isinstance(said, Rank):
                    told = self.model.ranked(*said)
                else:
                    job.tell(said)
                said = job.asking.send(told)
            job.said = said
            if isinstance(said, Feed) and not self._sits(job, said):
                job.pieces = list(said.tokens.split(PIECE, 1)) if said.keep is None else [said.tokens]
        except StopIteration:
            self._end(number, job, Ended())
        except Exception as error:
            self._end(number, job, Ended(error))

    def _sits(self, job: Job, feed: Feed) -> bool:
        """Whether it is one more token for rows that are, or may be, in a batch; all else is read alone."""
        one_more = feed.tokens.shape[1] == 1 and feed.keep is None and not feed.every
        return job.has_read and one_more and len(self.sizes.numbers) > 0

    def _end(self, number: int, job: Job, ended: Ended) -> None:
        self.running.pop(number, None)
        job.asking.close()
        now = time.monotonic()
        self.pace += 0.1 * (min(now - self._ended, 10.0) - self.pace)
        self._ended = now
        job.tell(ended)

    def _read(self) -> None:
        """Sources, prompts and what is answered at once, in turn, up to a piece or so."""
        left = PIECE
        while left > 0:
            reading = [
                (n, job) for n, job in self.running.items() if job.pieces or isinstance(job.said, Read | Compute)
            ]
            if not reading:
                return
            for number, job in reading:
                if left > 0:
                    left -= self._one_piece(number, job)

    def _one_piece(self, number: int, job: Job) -> int:
        """How many tokens were read."""
        said = job.said
        try:
            if isinstance(said, Read):
                told: Any = self.model.start(said.source, said.rows)
                job.has_read = False
                size = 1 if said.source is None else said.source.content.shape[-1]
            elif isinstance(said, Compute):
                told, size = said.compute(), PIECE
            else:
                piece, *job.pieces = job.pieces
                told, size = fed(self.model, said._replace(tokens=piece)), piece.numel()
                job.has_read = True
                if job.pieces:
                    job.said = said._replace(state=told[1])
                    return size
        except Exception as error:
            self._end(number, job, Ended(error))
            return 1
        self._go_on(number, job, told)
        return size

    def _step(self) -> None:
        """One token for every row that is in a batch."""
        kinds: dict[Any, dict[int, Feed]] = {}
        for number, job in self.running.items():
            if isinstance(job.said, Feed) and not job.pieces:
                seat = job.said.state
                kind = seat.kind if isinstance(seat, Seat) else (self.sizes.wide(job.said.beams), shape_of(seat))
                kinds.setdefault(kind, {})[number] = job.said
        self._batches = {kind: self._batches.get(kind) or Joined(kind, self.sizes) for kind in kinds}
        for kind, feeds in kinds.items():
            try:
                told = self._batches[kind].step(self.model, feeds)
            except Exception as error:  # nobody knows whose: all of them end, others go on
                del self._batches[kind]
                for number in feeds:
                    self._end(number, self.running[number], Ended(error))
                continue
            self.steps += 1
            for number, answer in told.items():
                self._go_on(number, self.running[number], answer)
