"""The page's server: a few files and a small interface, for this machine only.

GET  /                  the page; /static/NAME its files; /standalone.html the page as one file that wants only records
GET  /api/runs          what there is to look at: [{"name", "task", …}]
GET  /api/stories       walks over the page, in steps
GET  /api/scene?number  a built-in picture as PNG
POST /api/record        a question → a record, the bytes of a safetensors file
POST /api/write         how a text goes on → lines of JSON: {"text": "…"} for each token as it is made, then {"done": …}
POST /api/gradients     a question → lines of JSON
POST /api/attribution   a question → JSON
POST /api/find          a question → lines of JSON: progress, then the table

A question is a JSON object with the fields of `asked.Question`. What is wrong is said in one line, {"error": "…"}, with
a 4xx code. Each request works in its own thread; whoever goes away while lines are made ends the work.
"""

import json
import select
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from regard.errors import UserError
from regard.page.asked import question
from regard.page.files import read_static, standalone

if TYPE_CHECKING:
    from regard.page.answers import Answers

LARGEST = 8 * 2**20
"""Bytes of a request: a picture fits, a flood does not."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"
)
"""Nothing may be loaded from or sent to anywhere else; only pages of this machine, such as a notebook, may frame it."""
JSON, LINES, RECORD = "application/json", "application/x-ndjson", "application/octet-stream"


class Refused(Exception):
    """A request that gets a 4xx code and one line."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server(ThreadingHTTPServer):
    """Answers about runs, on the loopback interface; `port` 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answers: "Answers", port: int = 0) -> None:
        self.answers = answers
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError:
            raise UserError(f"port {port} is taken; choose another with --port, or 0 for any free one") from None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error, and whatever else went wrong has been said."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server
    timeout = 60  # seconds that a connection may stay silent

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody wants to read a line for each request."""

    def _answered(self, answer: Callable[[], None]) -> None:
        try:
            self._check_caller()
            answer()
        except Refused as error:
            self._send(error.status, JSON, _line({"error": str(error)}), close=True)
        except UserError as error:
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, JSON, _line({"error": str(error)}))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # a mistake of ours: the page says so, the terminal says where
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, JSON, _line(_broken(error)), close=True)

    def _check_caller(self) -> None:
        """Only this machine's own page: another name for this address, or another page's script, is turned away."""
        own = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in own:
            raise Refused(HTTPStatus.FORBIDDEN, f"this page answers to {self.server.address} only, found host '{host}'")
        if origin is not None and origin not in {f"http://{name}" for name in own}:
            raise Refused(HTTPStatus.FORBIDDEN, f"only the page itself may ask, found a request from '{origin}'")

    def _get(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/api/runs":
            return self._send(HTTPStatus.OK, JSON, _line(self.server.answers.runs()))
        if parts.path == "/api/stories":
            return self._send(HTTPStatus.OK, JSON, _line(self.server.answers.stories()))
        if parts.path == "/api/scene":
            number = parse_qs(parts.query).get("number", ["0"])[0]
            return self._send(HTTPStatus.OK, "image/png", self.server.answers.scene(number))
        if parts.path == "/standalone.html":
            return self._send(HTTPStatus.OK, "text/html; charset=utf-8", standalone().encode())
        found = read_static(parts.path)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at '{parts.path[:80]}'")
        kind, content = found
        return self._send(HTTPStatus.OK, kind, content)

    def _post(self) -> None:
        answers = self.server.answers
        whole: dict[str, Callable[[Any], tuple[str, bytes]]] = {
            "/api/record": lambda asked: (RECORD, answers.record(asked)),
            "/api/attribution": lambda asked: (JSON, _line(answers.attribution(asked))),
        }
        streams: dict[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
            "/api/write": answers.write,
            "/api/gradients": answers.gradients,
            "/api/find": answers.find,
        }
        path = urlsplit(self.path).path
        if path not in whole and path not in streams:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing to ask at '{path[:80]}'")
        asked = question(self._body())
        if path in streams:
            return self._stream(streams[path](asked))
        return self._send(HTTPStatus.OK, *whole[path](asked))

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a question wants its length in Content-Length")
        if int(length) > LARGEST:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question has at most {LARGEST:,} bytes, found {int(length):,}"
            )
        if self.headers.get_content_type() != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a question is {JSON}, by its Content-Type")
        try:
            return json.loads(self.rfile.read(int(length)))
        except ValueError as error:  # also what is not UTF-8
            raise Refused(
                HTTPStatus.BAD_REQUEST, f"a question is a JSON object, found something else ({error})"
            ) from None
        except RecursionError:
            raise Refused(HTTPStatus.BAD_REQUEST, "a question is a JSON object, found a tower of brackets") from None

    def _send(self, status: HTTPStatus, kind: str, content: bytes, *, close: bool = False) -> None:
        self._head(status, kind, {"Content-Length": str(len(content))} | ({"Connection": "close"} if close else {}))
        with suppress(ConnectionError):
            self.wfile.write(content)

    def _stream(self, lines: Iterator[dict[str, Any]]) -> None:
        """Line by line in chunks. A mistake that shows on the way is the last line."""
        self._head(HTTPStatus.OK, LINES, {"Transfer-Encoding": "chunked"})
        try:
            for line in _until_wrong(lines):
                content = _line(line)
                self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
                self.wfile.flush()
                if self._left():
                    break
            else:
                self.wfile.write(b"0\r\n\r\n")
                return
            self.close_connection = True
        finally:
            if hasattr(lines, "close"):
                lines.close()

    def _left(self) -> bool:
        """Whether the other side has hung up: it is readable, and there is nothing to read."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _head(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        fixed = {
            "Content-Type": kind,
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        for name, value in (fixed | more).items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        return "regard"


def _line(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _until_wrong(lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        yield from lines
    except UserError as error:
        yield {"error": str(error)}
    except Exception as error:
        yield _broken(error)


def _broken(error: Exception) -> dict[str, Any]:
    traceback.print_exception(error)
    return {"error": f"this is a mistake in regard, not yours ({type(error).__name__}: {error}); the terminal has more"}
