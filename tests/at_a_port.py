"""A real server at a free port, and the plainest way to ask it."""

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

from regard.serve.app import application
from regard.serve.metrics import Metrics
from regard.serve.served import Limits, Served
from regard.serve.start import listening, server_for


@contextmanager
def serving(runs, key=None, sends=None, **limits):
    """A server of these runs; its address, its application, and how to end it."""
    bounds, metrics = Limits(**limits), Metrics()
    served = [
        Served(name, run, bounds, metrics, ("en", "fr") if "translate" in run.task.commands else None)
        for name, run in runs.items()
    ]
    app, at = application(served, bounds, metrics, key, ["http://good.example"]), listening("127.0.0.1", 0)
    if sends:
        at.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sends)  # bytes that the system takes from the server at most
    server = server_for(app, served, 30.0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    port = at.getsockname()[1]
    try:
        yield SimpleNamespace(
            port=port, app=app, url=f"http://127.0.0.1:{port}", served=app.state.served, server=server
        )
    finally:
        server.handle_exit(0, None)
        thread.join(60)
        for one in served:
            one.engine.close()


def ask(there, path, body=None, method=None, **headers):
    """Status, headers and what was answered."""
    connection = http.client.HTTPConnection("127.0.0.1", there.port, timeout=120)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    sent = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method or ("GET" if body is None else "POST"), path, data, sent)
    answer = connection.getresponse()
    found = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), found


def told(there, path, body=None, **headers):
    status, _, found = ask(there, path, body, **headers)
    assert status == 200, found
    return json.loads(found)


def wait_until(true):
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
