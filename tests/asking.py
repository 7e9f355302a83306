"""Questions to the page's server about four small runs; a test file takes the fixtures it wants by name."""

import http.client
import json
from typing import Any

import pages
import pytest
import tiny

from regard.page.server import Server

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return pages.make_runs(tmp_path_factory.mktemp("runs"), ["lstm", "transformer-lm", "rnn-attention", "captioner"])


def request(server: Server, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    """Status, headers and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=tiny.PATIENCE)
    connection.request(method, path, body or None, headers or {})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def ask(server: Server, path: str, **asked: Any) -> Any:
    status, _, content = request(server, "POST", path, json.dumps(asked).encode(), JSON)
    return status, content


def error_of(content: bytes) -> str:
    (found,) = json.loads(content).values()
    assert "\n" not in found
    return found
