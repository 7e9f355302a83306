"""A run that is served: its engine, and the way from a request's search to whoever waits for what it says."""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.errors import UserError
from regard.serve.engine import Asking, Draining, Ended, Engine, Full, Job
from regard.serve.metrics import Metrics
from regard.serve.wire import Declined

if TYPE_CHECKING:
    from starlette.requests import Request

    from regard.runs import Run


@dataclass(frozen=True)
class Limits:
    """What one request may want."""

    rows: int = 32
    """Rows that are computed together."""
    queue: int = 256
    """Requests that may wait."""
    longest: int = 4096
    """Tokens of a prompt or a source, and tokens to write."""
    body: int = 8 << 20
    """Bytes of a body."""
    number: int = 16
    """Answers to one prompt, and alternatives of one translation."""
    together: int = 256
    """Prompts or texts in one request."""
    seconds: float = 300.0
    """From its beginning to the end of its answer."""


@dataclass
class Served:
    """A run under a name; `languages` are those that a translator reads and writes."""

    name: str
    run: "Run"
    limits: Limits
    metrics: Metrics
    languages: tuple[str, str] | None = None
    made: int = field(default_factory=lambda: int(time.time()))
    mail: list[tuple[Callable[[Any], None], Any]] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def label(self) -> tuple[tuple[str, str]]:
        """What its figures are known by."""
        return (("model", self.name),)

    @cached_property
    def fingerprint(self) -> str:
        """Names the weights: another one, other answers."""
        with self.run.folder.weights.open("rb") as file:
            return f"regard-{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.run.answering, self.limits.rows, self.limits.queue, self._flush)

    def _flush(self) -> None:
        """What was said in one step goes to the loop in one piece. In the engine's thread."""
        if self.mail and self.loop is not None:
            mail, self.mail = self.mail, []
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                self.loop.call_soon_threadsafe(_delivered, mail)

    async def said(self, asking: Asking, rows: int = 1) -> AsyncGenerator[Any]:
        """What a search says. Whoever stops listening ends it."""
        self.loop = asyncio.get_running_loop()
        box: asyncio.Queue[Any] = asyncio.Queue()
        job = Job(asking, lambda event: self.mail.append((box.put_nowait, event)), rows)
        job.deadline = time.monotonic() + self.limits.seconds
        try:
            self.engine.submit(job)
        except Full as full:
            asking.close()
            raise _later(429, "too many requests wait; try again later", full.seconds) from None
        except Draining:
            asking.close()
            raise _later(503, "the server is about to end; try again later", 5) from None
        ended = False
        try:
            while True:
                event = await box.get()
                if isinstance(event, Ended):
                    ended = True
                    self._check(event)
                    self.metrics.took("request_queue_time_seconds", max(0.0, job.began - job.waited), self.name)
                    return
                yield event
        finally:
            if not ended:
                self.engine.cancel(job)
                self.metrics.count("requests_gone_total", self.label)

    def _check(self, ended: Ended) -> None:
        if ended.late:
            raise Declined(504, f"the answer took more than {self.limits.seconds:g} seconds; ask for less")
        if isinstance(ended.error, UserError):
            raise Declined(400, str(ended.error))
        if ended.error is not None:
            raise ended.error


def served_as(request: "Request", name: str, command: str) -> Served:
    """The run of that name, if it knows that."""
    served: Served | None = request.app.state.served.get(name)
    if served is None:
        raise Declined(404, f"the model '{name}' does not exist", "model", "model_not_found")
    if command not in served.run.task.commands:
        raise Declined(400, f"'{name}' is a {served.run.task.title}, and cannot {command}", "model")
    return served


def _later(status: int, text: str, seconds: float) -> Declined:
    refused = Declined(status, text, code="overloaded")
    refused.headers["retry-after"] = str(max(1, round(seconds)))
    return refused


def _delivered(mail: Iterable[tuple[Callable[[Any], None], Any]]) -> None:
    for put, event in mail:
        put(event)
