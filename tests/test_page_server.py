"""The page's server: answers its own page and nobody else, and says in one line what is wrong."""

import http.client
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import asking
import pages
import pytest
import tiny
from asking import JSON, ask, error_of, request

from regard.errors import UserError
from regard.page.answers import Answers
from regard.page.asked import LONGEST, question
from regard.page.files import bundle, names, standalone
from regard.page.server import LARGEST, Server

runs, server = asking.runs, pages.server


# Its own page and nobody else


def test_the_page_and_its_files_are_there(server):
    status, headers, content = request(server, "GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"/static/page.js" in content
    for name in names():
        assert request(server, "GET", f"/static/{name}")[0] == 200


def test_a_policy_forbids_everything_that_is_not_the_page_itself(server):
    policy = request(server, "GET", "/")[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy


def test_no_file_of_the_page_names_another_machine():
    for name in names():
        text = (pages.Path(__file__).parent.parent / "regard/page/static" / name).read_text()
        addresses = {word for word in text.replace("'", " ").replace('"', " ").split() if word.startswith("http")}
        assert {address for address in addresses if "w3.org" not in address} == set(), name  # a namespace is no address


def test_one_file_holds_the_page():
    page = standalone()
    assert "/static/" not in page.split("<script")[0]
    assert re.findall("^(?:import|export) .*", bundle("page.js"), re.MULTILINE) == []
    assert "connect-src" not in page  # so default-src 'none' forbids every request
    assert "default-src 'none'" in page


@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/main.js"])
def test_another_name_for_this_machine_is_refused(server, path):
    status, _, content = request(server, "GET", path, headers={"Host": "evil.example:80"})
    assert status == 403
    assert error_of(content) == f"this page answers to {server.address} only, found host 'evil.example:80'"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_another_page_may_not_ask(server, origin):
    body = json.dumps({"text": "day"}).encode()
    status, _, content = request(server, "POST", "/api/record", body, JSON | {"Origin": origin})
    assert status == 403
    assert error_of(content) == f"only the page itself may ask, found a request from '{origin}'"


def test_the_page_itself_may_ask_under_either_of_its_names(server):
    body = json.dumps({"text": "day"}).encode()
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.server_port}"
        headers = JSON | {"Host": host, "Origin": f"http://{host}"}
        assert request(server, "POST", "/api/record", body, headers)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/static/nothing.js",
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/../../etc/passwd",
        "/static/views/../../server.py",
        "/server.py",
    ],
)
def test_nothing_but_the_pages_files_is_served(server, path):
    status, _, content = request(server, "GET", path)
    assert status == 404
    assert error_of(content).startswith("there is nothing at '")


# What is wrong


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"{", JSON, 400, "a question is a JSON object, found something else"),
        (b"\xff\xfe", JSON, 400, "a question is a JSON object, found something else"),
        (b"[" * 100_000, JSON, 400, "a question is a JSON object, found a tower of brackets"),
        (b"[]", JSON, 422, "a question is an object with fields, found list"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "a question is application/json, by its Content-Type"),
        (b'{"texts": "a"}', JSON, 422, "no field 'texts' in a question; did you mean 'text'?"),
        (b'{"text": 3}', JSON, 422, "text must be a text, found 3"),
        (b'{"run": 9}', JSON, 422, "there are runs 0 to 3, found 9"),
        (b'{"run": -1}', JSON, 422, "run must be a whole number from 0 up, found -1"),
        (b'{"text": "a", "length": 5000}', JSON, 422, "at most 512 tokens are written here, found 5000"),
        (b'{"text": "a", "beam": 99}', JSON, 422, "beam must be at most 16 here, found 99"),
        (b'{"text": "a", "answer": [1.5]}', JSON, 422, "answer must be tokens by their number, found [1.5]"),
        (b'{"text": "a", "answer": [99999]}', JSON, 422, "token 99999 is not in the vocabulary"),
        (b'{"text": "a", "off": ["x"]}', JSON, 422, "a unit is written path[number], found 'x'"),
        (b'{"text": "a", "off": [7]}', JSON, 422, "off must be names of heads, path[number]"),
        (b'{"text": "a", "held": [["layer.layers.0.cells[99]", 0]]}', JSON, 422, "layer.layers.0.cells has units 0 to"),
        (b'{"text": "a", "held": [["x", "y"]]}', JSON, 422, "held must be pairs of a cell's name and a number"),
        (b'{"text": "a", "temperature": -1}', JSON, 422, "temperature must be a number from 0 up, found -1"),
        (b'{"run": 3, "picture": "scene:99"}', JSON, 422, "scenes have numbers from 0 to 11, found '99'"),
        (b'{"run": 3, "picture": "%%"}', JSON, 422, "a picture is 'scene:NUMBER' or a file in base 64, found neither"),
        (b'{"run": 3, "picture": "AAAA"}', JSON, 422, "this is no picture that can be read"),
        (b'{"run": 2, "text": " "}', JSON, 422, "there is no text to look at, found an empty one"),
    ],
)
def test_what_is_wrong_is_said(server, body, headers, status, said):
    found, _, content = request(server, "POST", "/api/record", body, headers)
    assert (found, error_of(content)[: len(said)]) == (status, said)


def test_a_question_as_usual():
    assert question({}) == question({"run": 0, "text": ""})


def test_a_flood_is_turned_away_before_it_is_read(server):
    headers = JSON | {"Content-Length": str(LARGEST + 1)}
    status, _, content = request(server, "POST", "/api/record", b"", headers)
    assert status == 413
    assert error_of(content) == f"a question has at most {LARGEST:,} bytes, found {LARGEST + 1:,}"
    assert request(server, "POST", "/api/record", b"", JSON | {"Transfer-Encoding": "chunked"})[0] == 411


def test_a_text_has_an_end(server):
    status, content = ask(server, "/api/record", text="x" * (LONGEST + 1))
    assert status == 422
    assert error_of(content) == "a text has at most 4,000 characters here, found 4,001; shorten it"


def test_a_port_that_is_taken_is_said(server):
    with pytest.raises(UserError, match=f"port {server.server_port} is taken; choose another with --port"):
        Server(Answers([]), server.server_port)


def test_a_mistake_of_ours_is_called_one(runs, capsys):
    class Broken(Answers):
        def record(self, asked):
            raise ZeroDivisionError("oh")

    with pages.serving_of(Answers(runs)) as server:
        server.answers = Broken(runs)
        status, content = ask(server, "/api/record", text="a")
    assert status == 500
    assert error_of(content).startswith("this is a mistake in regard, not yours (ZeroDivisionError: oh)")
    assert "ZeroDivisionError" in capsys.readouterr().err


# Many clients


def test_ten_clients_at_once_get_their_own_answers(server):
    """Half of them with a head switched off: what one client changes, no other sees."""
    head = ["layer.blocks.0.self_attention[0]"]
    asked = [{"run": 1, "text": f"day {n}", "off": head if n % 2 else []} for n in range(10)]
    alone = [ask(server, "/api/record", **one)[1] for one in asked]
    with ThreadPoolExecutor(10) as clients:
        together = list(clients.map(lambda one: ask(server, "/api/record", **one)[1], asked))
    assert together == alone


def test_a_client_that_goes_away_ends_its_work(runs):
    made, ended = [], threading.Event()

    class Slow(Answers):
        def write(self, asked):
            try:
                for number in range(10_000):
                    made.append(number)
                    yield {"token": number}
                    time.sleep(0.002)
            finally:
                ended.set()

    with pages.serving_of(Answers(runs)) as server:
        server.answers = Slow(runs)
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=tiny.PATIENCE)
        connection.request("POST", "/api/write", b"{}", JSON)
        answer = connection.getresponse()
        assert answer.read(10)
        answer.close()
        connection.close()
        assert ended.wait(tiny.PATIENCE)
    assert len(made) < 10_000
