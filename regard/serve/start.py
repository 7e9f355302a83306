"""The server as a process: listens, drains when it is asked to end."""

import asyncio
import socket
import sys
from collections.abc import Sequence
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import UserError
from regard.serve.served import Served

HEADERS = 20.0  # seconds that a connection may take for its first request


class Hurried(H11Protocol):
    """Closes a connection whose request does not come: nobody holds one for nothing."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(HEADERS, self._nothing_came)

    def _nothing_came(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class Drained(uvicorn.Server):
    """On SIGTERM or Ctrl-C: takes nothing new, finishes what runs, ends."""

    def __init__(self, config: uvicorn.Config, served: Sequence[Served], seconds: float) -> None:
        super().__init__(config)
        self.served, self.seconds = served, seconds
        self._drain: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self._drain is None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin)
        else:
            self.should_exit = self.force_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def _begin(self) -> None:
        self.config.app.state.draining = True  # type: ignore[union-attr]
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
    config = uvicorn.Config(
        app,
        http=Hurried,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=64 << 10,
        backlog=2048,
    )
    return Drained(config, served, seconds)


def serve(app: Starlette, served: Sequence[Served], at: socket.socket, seconds: float) -> None:
    """Answers until it is asked to end."""
    server, (host, port) = server_for(app, served, seconds), at.getsockname()[:2]
    shown, names = f"[{host}]" if ":" in host else host, ", ".join(one.name for one in served)
    print(f"regard: http://{shown}:{port}/ answers for {names}", file=sys.stderr, flush=True)
    server.run(sockets=[at])
