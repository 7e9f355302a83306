"""How the page is opened: by `regard look`, by `regard.show`, and in a notebook."""

import http.client
import json
import signal
import subprocess
import sys
import types

import asking
import pytest
import tiny

import regard
from regard.cli import main

runs = asking.runs


def test_the_command_serves_the_page_until_it_is_stopped(runs):
    words = tiny.command("look", runs[0].folder.path, "day 7", "--also", runs[1].folder.path, "--no-open")
    with subprocess.Popen(words, env=tiny.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("the page is at http://127.0.0.1:")
            assert line.strip().endswith("/#text=day%207")
            connection = http.client.HTTPConnection(
                "127.0.0.1", int(line.split(":")[2].split("/")[0]), timeout=tiny.PATIENCE
            )
            connection.request("GET", "/api/runs")
            assert len(json.loads(connection.getresponse().read())) == 2
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(tiny.PATIENCE) == 0
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
    connection = http.client.HTTPConnection(host, timeout=tiny.PATIENCE)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    assert rest == "#text=day%207"


def test_in_a_notebook_show_is_a_frame(runs, monkeypatch):
    display = types.SimpleNamespace(IFrame=lambda address, width, height: ("frame", address, width))
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=None), display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    kind, address, width = regard.show(runs[0])
    assert (kind, width) == ("frame", "100%")
    assert address.startswith("http://127.0.0.1:")
