"""Who may ask: keys, hosts and origins."""

import base64
import binascii
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.answering import Json

OPEN = ("/health",)
OWN_KEY = ("/translate", "/detect")  # LibreTranslate's clients have it in the body, which is read later
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass
class Guard:
    """Stands before all routes."""

    app: ASGIApp
    key: bytes | None
    origins: Sequence[str] = ()
    """Pages of others that may ask."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get(b"origin")
        cors = {"access-control-allow-origin": origin, "vary": "origin"} if origin in self.origins and origin else {}

        async def with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in cors.items() if value]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        refused = self._refusal(scope, headers, origin)
        if cors and scope["method"] == "OPTIONS":
            refused = Json({}, headers={"access-control-allow-headers": "authorization, content-type"})
        await (refused or self.app)(scope, receive, with_cors if cors else send)

    def _refusal(self, scope: Scope, headers: dict[bytes, str], origin: str | None) -> Json | None:
        host = headers.get(b"host", "")
        if origin and origin not in self.origins and origin.partition("://")[2] != host:
            return _told(403, "this page may not ask here; name it with --allow-origin")
        if self.key is None:
            return (
                None if _name(host) in LOOPBACK else _told(403, "without a key only this machine may ask, by its name")
            )
        scope["authorised"] = hmac.compare_digest(_given(headers.get(b"authorization", "")), self.key)
        if scope["authorised"] or scope["path"] in OPEN or scope["path"] in OWN_KEY:
            return None
        return _told(401, "a key is wanted: Authorization: Bearer …")


def _name(host: str) -> str | None:
    """A host without its port."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _given(header: str) -> bytes:
    kind, _, value = header.partition(" ")
    if kind.lower() == "basic":  # as browsers ask for it: any name, the key as password
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return value.strip().encode(errors="replace") if kind.lower() == "bearer" else b""


def _told(status: int, text: str) -> Json:
    error = {"message": text, "type": "authentication_error", "param": None, "code": "invalid_api_key"}
    headers = {"www-authenticate": 'Basic realm="regard"'} if status == 401 else {}
    return Json({"error": error}, status, headers=headers)
