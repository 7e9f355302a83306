"""What may go wrong around a server: clients that go or dawdle, full disks, clocks that jump, folders that vanish."""

import http.client
import io
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pages
import pytest
from at_a_port import ask, serving, told, wait_until
from prometheus_client.parser import text_string_to_metric_families
from tiny import ROOT

from regard.cli import main
from regard.runs import load_run
from regard.serve import answering, engine, start

ENDLESS = {"max_tokens": 4000, "logit_bias": {"2": -100}, "temperature": 0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    families = ["lstm", "transformer-seq2seq"]
    return dict(zip(("lstm", "tr"), pages.make_runs(tmp_path_factory.mktemp("served"), families), strict=True))


def asking(there, **body):
    """A client that has asked, and not yet been answered."""
    connection = http.client.HTTPConnection("127.0.0.1", there.port, timeout=60)
    body = json.dumps({"model": "lstm", "prompt": "day"} | body)
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json"})
    return connection


def plain(there, timeout=60):
    return socket.create_connection(("127.0.0.1", there.port), timeout=timeout)


@pytest.mark.parametrize("stream", [True, False])
def test_who_goes_while_waiting_leaves_the_queue(runs, stream):
    with serving({"lstm": runs["lstm"]}, rows=1, queue=2) as there:
        engine = there.served["lstm"].engine
        first = asking(there, **ENDLESS, stream=True)
        wait_until(lambda: engine.running)
        clients = [asking(there, stream=stream) for _ in range(2)]
        wait_until(lambda: len(engine.waiting) == 2)
        clients[1].close()  # behind another: not the head of the queue
        wait_until(lambda: len(engine.waiting) == 1)
        clients[0].close()
        wait_until(lambda: not engine.waiting)
        assert len(engine.running) == 1
        first.close()
        wait_until(lambda: not engine.running)


@pytest.mark.parametrize("stream", [True, False])
def test_who_goes_while_its_prompt_is_read(runs, stream, monkeypatch):
    """Before it has been read to its end, and before there is anything to send."""
    slow = engine.fed
    monkeypatch.setattr(engine, "PIECE", 8)
    monkeypatch.setattr(engine, "fed", lambda model, feed: (time.sleep(0.02), slow(model, feed))[1])
    with serving({"lstm": runs["lstm"]}) as there:
        running = there.served["lstm"].engine.running
        client = asking(there, prompt="a" * 4000, stream=stream)
        wait_until(lambda: any(job.pieces for job in list(running.values())))
        (job,) = running.values()
        client.close()
        wait_until(lambda: not running)
        assert job.pieces


def test_who_goes_while_it_is_answered_is_counted(runs):
    with serving({"lstm": runs["lstm"]}) as there:
        client = asking(there, **ENDLESS, stream=True)
        assert client.getresponse().readline()
        client.close()
        wait_until(lambda: not there.served["lstm"].engine.running)
        assert 'regard_requests_gone_total{model="lstm"} 1\n' in ask(there, "/metrics")[2].decode()


def test_who_does_not_take_the_answer_is_cut_off(runs, monkeypatch):
    monkeypatch.setattr(start, "TAKING", 0.3)
    with serving({"lstm": runs["lstm"]}, sends=4096) as there, plain(there) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        body = json.dumps({"model": "lstm", "prompt": "day", "stream": True, "logprobs": 20} | ENDLESS)
        client.sendall(
            f"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        )
        engine = there.served["lstm"].engine
        wait_until(lambda: engine.running)
        wait_until(lambda: not engine.running)
        assert "regard_requests_gone_total" in ask(there, "/metrics")[2].decode()
        assert not there.server.server_state.connections or ask(there, "/health")[0] == 200


def test_who_sends_a_body_too_slowly_is_told(runs, monkeypatch):
    """Also if there is always a little more."""
    monkeypatch.setattr(answering, "GRACE", 0.5)
    with serving({"lstm": runs["lstm"]}) as there, plain(there) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000\r\n\r\n")
        client.settimeout(0.1)
        found = b""
        for _ in range(600):
            try:
                client.sendall(b" ")
                found += client.recv(4096)
                break
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("before", [b"", b"GET /he", b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea"])
def test_who_sends_a_head_too_slowly_is_cut_off(runs, monkeypatch, before):
    """The first of a connection, and a later one."""
    monkeypatch.setattr(start, "HEADERS", 0.5)
    with serving({"lstm": runs["lstm"]}) as there, plain(there) as client:
        client.sendall(before)
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass
        wait_until(lambda: not there.server.server_state.connections)


def test_a_run_that_is_written_over_and_vanishes_goes_on(runs, tmp_path):
    """What is served is what was loaded, until the server is begun anew; a file is no longer looked at, nor mapped."""
    for name, run in runs.items():
        shutil.copytree(run.folder.path, tmp_path / name)
    loaded = {name: load_run(tmp_path / name) for name in runs}
    wishes = [
        ("/v1/completions", {"model": "lstm", "prompt": "day", "max_tokens": 20, "seed": 3, "logprobs": 2}),
        ("/translate", {"q": "one two", "source": "en", "target": "fr", "alignments": True}),
        ("/tokenize", {"model": "lstm", "prompt": "day"}),
    ]
    with serving(runs) as there:
        wanted = [told(there, *wish) for wish in wishes]
    with serving(loaded) as there:
        for run in loaded.values():
            size = run.folder.weights.stat().st_size
            with run.folder.weights.open("r+b") as file:
                file.write(bytes(size))
        found = [told(there, *wish) for wish in wishes]
        for name in runs:
            shutil.rmtree(tmp_path / name)
        found += [told(there, *wish) for wish in wishes]
    for one in (*wanted, *found):
        for changing in ("id", "created"):
            one.pop(changing, None)
    assert found == wanted * 2


def test_a_log_that_cannot_be_written_costs_no_answer(runs, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    full = io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True)
    with serving({"lstm": runs["lstm"]}) as there:
        monkeypatch.setattr(sys, "stderr", full)
        with monkeypatch.context() as broken:
            broken.setattr(type(there.served["lstm"]), "said", lambda *_: 1 / 0)
            assert ask(there, "/v1/completions", {"model": "lstm", "prompt": "day"})[0] == 500
        assert ask(there, "/v1/completions", {"model": "lstm", "prompt": "day"})[0] == 200
        monkeypatch.undo()
    with suppress(OSError):  # what it could not write, it tries once more
        full.close()


def test_a_clock_that_jumps_is_not_noticed(runs, monkeypatch):
    """Deadlines, figures and pauses are by the clock that does not."""
    with serving({"lstm": runs["lstm"]}) as there:
        wish = {"model": "lstm", "prompt": "day", "max_tokens": 50, "temperature": 0}
        wanted = told(there, "/v1/completions", wish)["choices"]
        jumps = itertools.cycle([0.0, 4e9, 1e9, 1.7e9])
        monkeypatch.setattr(time, "time", lambda: next(jumps))
        assert [told(there, "/v1/completions", wish)["choices"] for _ in range(5)] == [wanted] * 5
        figures = ask(there, "/metrics")[2].decode()
        monkeypatch.undo()
    sums = [
        one.value
        for each in text_string_to_metric_families(figures)
        for one in each.samples
        if one.name.endswith("_sum")
    ]
    assert all(0 <= value < 600 for value in sums)


# ---- a process that is told to end, or is killed


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def begun(run, port):
    """`regard serve`, once it answers; killed in the end if it lives."""
    serve = [sys.executable, "-m", "regard", "serve", f"lstm={run.folder.path}", "--port", str(port)]
    with subprocess.Popen(serve, cwd=ROOT, stderr=subprocess.PIPE) as process:
        try:
            assert b"answers for lstm" in process.stderr.readline()
            yield process
        finally:
            process.kill()


def streaming_from(port):
    """A client that was told the first of what it asked for."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"model": "lstm", "prompt": "day", "stream": True} | ENDLESS | {"max_tokens": 150})
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json", "connection": "close"})
    answer = connection.getresponse()
    assert answer.readline().startswith(b"data: ")
    return answer


WHOLE = b"data: [DONE]\n\n"


def test_told_to_end_it_finishes_what_it_began_and_says_nothing_else(runs):
    port = free_port()
    with begun(runs["lstm"], port) as process:
        answers = [streaming_from(port) for _ in range(8)]
        process.send_signal(signal.SIGTERM)
        assert all(answer.read().endswith(WHOLE) for answer in answers)
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_killed_it_never_looks_whole_and_is_begun_anew_at_the_same_port(runs):
    port = free_port()
    with begun(runs["lstm"], port) as process, streaming_from(port) as answer:
        process.kill()
        with suppress(http.client.IncompleteRead, ConnectionResetError):
            assert not answer.read().endswith(WHOLE)
    with begun(runs["lstm"], port):
        assert streaming_from(port).read().endswith(WHOLE)


# ---- several processes at one port


def children(process):
    """Its workers that live; one that has just died, and waits to be noticed, has no words any more."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(one) for one in found if b"spawn_main" in _words(one)]


def _words(number):
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


def workers_told(port):
    """Which workers have figures, by the one that happens to answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException):  # nobody listens yet, or whoever took it died
        return {}
    finally:
        connection.close()
    samples = [one for each in text_string_to_metric_families(text) for one in each.samples]
    return {one.labels["worker"]: one.value for one in samples if one.name == "regard_resident_memory_bytes"}


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="wants /proc to find the workers")
def test_a_worker_that_is_killed_is_begun_anew(runs):
    port = free_port()
    words = ["serve", f"lstm={runs['lstm'].folder.path}", "--port", str(port), "--workers", "2"]
    above = subprocess.Popen([sys.executable, "-m", "regard", *words], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(workers_told(port)) == 2)
        victim = children(above)[0]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(children(above)) == 2 and victim not in children(above))
        wait_until(lambda: len(workers_told(port)) == 2)
        above.send_signal(signal.SIGTERM)
        assert above.wait(60) == 0
    finally:
        above.kill()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port))


def test_a_run_that_cannot_be_opened_ends_all_workers(runs, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(runs["lstm"].folder.path, broken)
    (broken / "model.safetensors").write_bytes(b"no weights")
    words = ["serve", str(broken), "--port", "0", "--workers", "2"]
    found = subprocess.run([sys.executable, "-m", "regard", *words], cwd=ROOT, capture_output=True, timeout=300)
    assert found.returncode == 1
    assert b"regard: " in found.stderr
    assert b"Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("languages", "said"),
    [
        (["en:fr"], "b is a translator and has no languages; give --languages once for each, in their order"),
        (["en:fr", "fr:en", "en:de"], "--languages en:de has no translator; give one for each, in their order"),
    ],
)
def test_every_translator_has_its_languages(runs, languages, said, capsys):
    words = ["serve", f"a={runs['tr'].folder.path}", f"b={runs['tr'].folder.path}", "--port", "0"]
    assert main([*words, *(word for pair in languages for word in ("--languages", pair))]) == 1
    assert capsys.readouterr().err == f"regard: {said}\n"
