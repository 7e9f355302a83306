"""The page's server: answers its own page and nobody else, and says in one line what is wrong."""

import base64
import http.client
import io
import json
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pages
import pytest
import tiny
import torch
from PIL import Image
from safetensors.torch import load

import regard
from regard.cli import main
from regard.errors import UserError
from regard.look.find import Effort
from regard.look.trace import trace
from regard.page import finding
from regard.page.answers import Answers
from regard.page.asked import LONGEST, question
from regard.page.files import bundle, names, standalone
from regard.page.server import LARGEST, Server
from regard.text import START

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return pages.make_runs(tmp_path_factory.mktemp("runs"), ["lstm", "transformer-lm", "rnn-attention", "captioner"])


@pytest.fixture(scope="module")
def server(runs) -> Iterator[Server]:
    with pages.serving(runs) as server:
        yield server


def request(server: Server, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    """Status, headers and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
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


def test_the_page_and_its_files_are_there(server):
    status, headers, content = request(server, "GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"/static/main.js" in content
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


def test_runs_say_what_they_are(server, runs):
    found = json.loads(request(server, "GET", "/api/runs")[2])
    assert [one["kind"] for one in found] == ["language model", "language model", "translator", "captioner"]
    assert found[1]["heads"] == {"layer.blocks.0.self_attention": 2}
    assert found[0]["cells"]["layer.layers.0.cells"] == 12
    assert found[0]["examples"][0]
    assert found[2]["examples"][0]


def test_a_record_holds_what_passed(server, runs):
    text = "day 7: the tide"
    status, content = ask(server, "/api/record", run=1, text=text)
    tokens = torch.tensor([[START, *runs[1].tokenizer.encode(text)]])
    path = "layer.blocks.0.self_attention.weights"
    with torch.no_grad(), trace(runs[1].model, path) as seen:
        runs[1].model(tokens, runs[1].model.start())
    coded = load(content)[f"seen.{path}"]
    assert status == 200
    assert (coded == (seen[path][0].sqrt() * 255).round().to(torch.uint8)).all()


def test_what_is_switched_off_changes_the_record_and_nothing_else(server):
    head = "layer.blocks.0.self_attention[1]"
    before = ask(server, "/api/record", run=1, text="day 7")[1]
    off = ask(server, "/api/record", run=1, text="day 7", off=[head])[1]
    held = ask(server, "/api/record", run=0, text="day 7", held=[["layer.layers.0.cells[3]", 0.5]])[1]
    assert ask(server, "/api/record", run=1, text="day 7")[1] == before
    assert not torch.equal(load(before)["top.probabilities"], load(off)["top.probabilities"])
    assert (load(held)["seen.layer.layers.0.cells"][:, 3] == 0.5).all()


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_text_is_written_token_by_token(server, runs):
    *made, last = lines(ask(server, "/api/write", text="day 7: ", length=12)[1])
    assert last["done"]
    assert "".join(one["text"] for one in [*made, last]) == "".join(
        runs[0].write("day 7: ", length=12, temperature=1e-6)  # as good as the most probable
    )
    for one in made:
        ladder = [p for _, _, p in one["top"]]
        assert ladder == sorted(ladder, reverse=True)
        assert one["top"][0][0] == one["token"]


def test_a_draw_is_the_same_for_the_same_seed(server):
    def drawn(seed: int) -> list[int]:
        found = ask(server, "/api/write", text="day", length=20, temperature=1.5, seed=seed)[1]
        return [one["token"] for one in lines(found) if "token" in one]

    assert drawn(1) == drawn(1) != drawn(2)


def test_writing_can_go_on_from_a_chosen_token(server, runs):
    (chosen,) = runs[2].tokenizer.encode("four")
    found = lines(ask(server, "/api/write", run=2, text="one two", answer=[chosen], length=3)[1])
    assert "token" in found[0]


@pytest.mark.parametrize(("run", "text", "begun"), [(0, "day 7", "zz"), (2, "one two", "four four")])
def test_a_record_can_begin_with_chosen_tokens(server, runs, run, text, begun):
    tokens = runs[run].tokenizer.encode(begun)
    _, content = ask(server, "/api/record", run=run, text=text, answer=tokens, length=0 if run else 3)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    record = json.loads(header["__metadata__"]["regard.record"])
    written = [token["id"] for token in record["sequences"]["written"]["tokens"]]
    first = 1 + (0 if run else len(runs[run].tokenizer.encode(text)))
    assert written[first : first + len(tokens)] == tokens
    assert len(written) > first + len(tokens)
    tree = record["tree"]
    assert not tree or {node["token"] for node in tree if node["fate"] != "pruned"} & set(
        written[first + len(tokens) :]
    )


def test_a_mistake_on_the_way_is_the_last_line(server):
    status, content = ask(server, "/api/write", run=9)
    assert status == 200  # it was too late to say so otherwise
    assert lines(content) == [{"error": "there are runs 0 to 3, found 9"}]


def test_gradients_come_a_line_for_each_place(server):
    found = lines(ask(server, "/api/gradients", run=0, text="day 7: the tide")[1])
    assert {one["path"] for one in found} == {"embedding.vectors", "layer.layers.0.hidden", "layer.layers.1.hidden"}
    assert sum(one["last"] for one in found) == 1
    assert all(value >= 0 for one in found for value in one["values"])


def test_a_search_says_how_far_it_is_and_then_what_it_found(server, runs, monkeypatch):
    text = "".join(f'say "{n} {n * n}" and {n}.\n' for n in range(160))
    monkeypatch.setattr(finding, "_tokens", lambda run: run.tokenizer.encode(text))
    monkeypatch.setattr(finding, "EFFORT", Effort(top=2, shifts=20, controls=2))
    found = lines(ask(server, "/api/find", run=1, property="quotes")[1])
    *progress, first, second = found
    assert all("progress" in one for one in progress)
    assert len(progress) > 2
    assert first["searched"] == second["searched"] > 2
    assert first["low"] <= first["score"] <= first["high"]
    assert "".join(piece for piece, _, _ in first["evidence"]) in text
    assert finding.properties_of(runs[2]) == []  # a translator reads no long text


def test_a_search_that_cannot_be_is_refused(server):
    assert lines(ask(server, "/api/find", run=1, property="quote")[1]) == [
        {"error": "property 'quote' does not exist; did you mean 'quotes'?"}
    ]
    (found,) = lines(ask(server, "/api/find", run=1, property="quotes")[1])
    assert "tokens, 2000 are wanted; use regard find --data" in found["error"]


def test_whoever_leaves_a_search_ends_it(runs, monkeypatch):
    monkeypatch.setattr(finding, "_tokens", lambda run: run.tokenizer.encode('"a" b\n' * 600))
    found = finding.search(runs[1], "quotes")
    next(found)
    assert "search" in {thread.name for thread in threading.enumerate()}
    found.close()
    assert "search" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("run", "text", "path", "wanted"),
    [
        (1, "day 7", "layer.blocks.0.self_attention", {"norms", "rollout", "gradient", "off"}),
        (2, "one two", "decoder.layer.attention", {"norms", "gradient", "off"}),
        (3, "", "decoder.layer.attention", {"norms"}),
    ],
)
def test_other_measures_have_the_shape_of_the_map(server, run, text, path, wanted):
    question = {"run": run, "text": text, "beam": 1}
    weights = load(ask(server, "/api/record", **question)[1])[f"seen.{path}.weights"]
    found = json.loads(ask(server, "/api/attribution", **question, head=f"{path}[0]")[1])
    assert found.keys() == wanted
    for name, heads in found.items():
        shape = [len(heads), len(heads[0]), len(heads[0][0])]
        last = run == 1 and name in (
            "gradient",
            "off",
        )  # nothing was said behind the last token of a text that is only read
        wide = weights.shape[2] - (last and name != "off")
        assert shape == [weights.shape[0] if name == "norms" else 1, weights.shape[1] - last, wide], name


def test_the_command_serves_the_page_until_it_is_stopped(runs):
    words = tiny.command("look", runs[0].folder.path, "day 7", "--also", runs[1].folder.path, "--no-open")
    with subprocess.Popen(words, env=tiny.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("the page is at http://127.0.0.1:")
            assert line.strip().endswith("/#text=day%207")
            connection = http.client.HTTPConnection("127.0.0.1", int(line.split(":")[2].split("/")[0]), timeout=30)
            connection.request("GET", "/api/runs")
            assert len(json.loads(connection.getresponse().read())) == 2
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(30) == 0
            finally:
                process.kill()  # leaving the block waits for it


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "99999"], "--port wants a number from 0 to 65535, found 99999"),
        (["--also", "nowhere"], "nowhere is not a run (it has no config.toml)"),
    ],
)
def test_a_command_that_cannot_be_says_why(runs, capsys, words, said):
    assert main(["look", str(runs[0].folder.path), *words]) == 1
    assert capsys.readouterr().err.startswith(f"regard: {said}")


def test_a_captioner_chooses_its_picture_on_the_page(runs, capsys):
    assert main(["look", str(runs[3].folder.path), "dog.jpg"]) == 1
    assert "lets you choose a picture there; leave it out here, or add --view map" in capsys.readouterr().err


def test_show_opens_a_browser_and_goes_on(runs, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    address = regard.show(runs[0], runs[1], text="day 7")
    assert opened == [address]
    host, _, rest = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    assert rest == "#text=day%207"


def test_in_a_notebook_show_is_a_frame(runs, monkeypatch):
    display = types.SimpleNamespace(IFrame=lambda address, width, height: ("frame", address, width))
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    kind, address, width = regard.show(runs[0])
    assert (kind, width) == ("frame", "100%")
    assert address.startswith("http://127.0.0.1:")


def test_a_picture_can_be_ones_own(server):
    file = io.BytesIO()
    Image.fromarray(np.full((30, 20, 3), 200, np.uint8)).save(file, "PNG")
    status, content = ask(server, "/api/record", run=3, picture=base64.b64encode(file.getvalue()).decode())
    assert status == 200
    assert (load(content)["picture"] == 200).all()
    assert request(server, "GET", "/api/scene?number=3")[2].startswith(b"\x89PNG")
    assert request(server, "GET", "/api/scene?number=../x")[0] == 422


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

    with pages.serving(runs) as server:
        server.answers = Slow(runs)
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.request("POST", "/api/write", b"{}", JSON)
        answer = connection.getresponse()
        assert answer.read(10)
        answer.close()
        connection.close()
        assert ended.wait(10)
    assert len(made) < 10_000


def test_a_mistake_of_ours_is_called_one(runs, capsys):
    class Broken(Answers):
        def record(self, asked):
            raise ZeroDivisionError("oh")

    with pages.serving(runs) as server:
        server.answers = Broken(runs)
        status, content = ask(server, "/api/record", text="a")
    assert status == 500
    assert error_of(content).startswith("this is a mistake in regard, not yours (ZeroDivisionError: oh)")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_one_file_holds_the_page():
    page = standalone()
    assert "/static/" not in page.split("<script")[0]
    assert "import {" not in bundle("main.js")
    assert "export " not in bundle("main.js").replace("exports", "")
    assert "connect-src" not in page  # so default-src 'none' forbids every request
    assert "default-src 'none'" in page


def test_a_question_as_usual():
    assert question({}) == question({"run": 0, "text": ""})
