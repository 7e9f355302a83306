"""Requests and answers of HTTP: bodies read within their limits, errors in one form, clients that go away noticed."""

import asyncio
import json
import sys
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from regard.errors import UserError
from regard.serve.wire import Declined, decoded

GRACE, PACE = 30.0, 16 << 10  # a body may take so many seconds, and one more for each so many bytes
T = TypeVar("T")
Answer = Callable[[Request], Awaitable[Response]]
KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class Json(Response):
    """An answer in JSON; in ASCII, since a client may have sent half a character that is told back."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class Gone(Exception):
    """The client went away."""


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request; one that is too large or comes too slowly is refused."""
    try:
        if int(request.headers.get("content-length", 0)) > most:
            raise Declined(413, f"a body may have {most:,} bytes at most")
    except ValueError:
        raise Declined(400, "content-length must be a number") from None
    found, stream, began = bytearray(), request.stream(), time.monotonic()
    try:
        while True:
            left = began + GRACE + len(found) / PACE - time.monotonic()
            found += await asyncio.wait_for(anext(stream), max(0.0, left))
            if len(found) > most:
                raise Declined(413, f"a body may have {most:,} bytes at most")
    except StopAsyncIteration:
        return bytes(found)
    except TimeoutError:
        raise Declined(408, "the body came too slowly") from None
    except ClientDisconnect:
        raise Gone from None


async def json_of(request: Request) -> Any:
    return decoded(await body_of(request, request.app.state.limits.body))


async def until_gone(request: Request, work: Awaitable[T]) -> T:
    """The result of some work, which ends when nobody waits for it."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def as_openai(error: Declined) -> Response:
    kind = "server_error" if error.status >= 500 else KINDS.get(error.status, "invalid_request_error")
    told = {"message": str(error), "type": kind, "param": error.param, "code": error.code}
    return Json({"error": told}, error.status, headers=error.headers)


def as_plain(error: Declined) -> Response:
    return Json({"error": str(error)}, error.status, headers=error.headers)


def guarded(answer: Answer, as_error: Callable[[Declined], Response]) -> Answer:
    """The same route, whose refusals are answers."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except Gone:
            return Response(status_code=499)
        except Exception as error:
            declined = _declined(error, request.url.path)
            request.app.state.metrics.count("requests_refused_total", (("status", str(declined.status)),))
            return as_error(declined)

    return answered


def log(line: str) -> None:
    """One line for whoever runs the server. Where it cannot be written, on a full disk, answers go on without."""
    with suppress(OSError, ValueError):
        print(f"regard: {line}", file=sys.stderr, flush=True)


def _declined(error: Exception, path: str) -> Declined:
    """What a client is told; of a mistake of ours, the log is told where, and never what was asked."""
    if isinstance(error, Declined):
        return error
    if isinstance(error, UserError):
        return Declined(400, str(error))
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    log(f"{type(error).__name__} at {where} while answering {path!r}")
    return Declined(500, "a mistake of the server's")


async def events(first: Any, chunks: AsyncGenerator[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Server-sent events; a mistake in mid-stream is one too."""
    try:
        yield _event(first)
        async for chunk in chunks:
            yield _event(chunk)
        yield b"data: [DONE]\n\n"
    except Exception as wrong:
        error = _declined(wrong, "a stream")
        yield _event({"error": {"message": str(error), "type": "server_error", "param": None, "code": error.code}})
    finally:
        await chunks.aclose()


def _event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


async def streamed(request: Request, chunks: AsyncGenerator[dict[str, Any]]) -> Response:
    """A stream of events that begins once there is a first one: what is refused before has its own status."""
    try:
        first = await until_gone(request, anext(chunks))
    except BaseException:
        await chunks.aclose()
        raise
    return StreamingResponse(
        events(first, chunks), media_type="text/event-stream", headers={"cache-control": "no-cache"}
    )
