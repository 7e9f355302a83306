"""The server as a process: listens, cuts off who is too slow, drains when it is asked to end."""

import asyncio
import logging
import signal
import socket
from collections.abc import Sequence
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import UserError
from regard.serve.answering import log
from regard.serve.served import Served

HEADERS = 20.0  # seconds that the head of a request may take
TAKING = 30.0  # seconds that a client may leave an answer untaken


class Hurried(H11Protocol):
    """Cuts off whoever sends the head of a request too slowly, or does not take an answer.

    A kept connection that is idle is uvicorn's to close. What an answer was computed for is told that nobody waits.
    """

    _head: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head = self.loop.call_later(HEADERS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_head()  # of the next one, if it came with the one that was answered

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking = self._taking or self.loop.call_later(TAKING, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_taking()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_taking()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        begun = self.conn.their_state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))
        if not begun or self.transport.is_closing():
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(HEADERS, self.transport.abort)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _forget_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None


class Drained(uvicorn.Server):
    """On SIGTERM or Ctrl-C: takes nothing new, finishes what runs, ends. A second Ctrl-C ends it at once."""

    def __init__(self, config: uvicorn.Config, served: Sequence[Served], seconds: float) -> None:
        super().__init__(config)
        self.served, self.seconds = served, seconds
        self._drain: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self._drain is None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin)
        elif sig == signal.SIGINT:
            self.should_exit = self.force_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def _begin(self) -> None:
        assert isinstance(self.config.app, Starlette)
        self.config.app.state.draining = True
        self._drain = asyncio.ensure_future(self._close())

    async def _close(self) -> None:
        """The engines end first, so that whoever waits is told; then the connections."""
        await asyncio.gather(*(asyncio.to_thread(one.engine.close, self.seconds) for one in self.served))
        self.should_exit = True


def listening(host: str, port: int) -> socket.socket:
    """A socket at that address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        raise UserError(f"{host}:{port} cannot be listened at ({error.strerror}); choose another --port") from None
    return found


def server_for(app: Starlette, served: Sequence[Served], seconds: float) -> Drained:
    """A server that is ready to answer."""
    for one in served:
        _ = one.engine, one.fingerprint  # now, not at the first request
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it would tell of every client that left in mid-stream
    config = uvicorn.Config(
        app,
        http=Hurried,
        ws="none",
        lifespan="off",
        log_level="error",  # what clients do wrong is counted, not told: whoever likes would fill the disk
        access_log=False,
        proxy_headers=False,  # nobody asks where a request came from
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=64 << 10,
        backlog=2048,
    )
    return Drained(config, served, seconds)


def serve(server: Drained, at: socket.socket) -> None:
    """Answers until it is asked to end."""
    host, port = at.getsockname()[:2]
    shown, names = f"[{host}]" if ":" in host else host, ", ".join(one.name for one in server.served)
    log(f"http://{shown}:{port}/ answers for {names}")
    server.run(sockets=[at])
