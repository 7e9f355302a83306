"""What the page's server answers: records, text as it is written, gradients, searches and other measures."""

import base64
import io
import json
import re
import threading
from typing import Any

import asking
import numpy as np
import pages
import pytest
import tiny
import torch
from asking import ask, request
from PIL import Image
from safetensors.torch import load

from regard.config.looking import Effort
from regard.look.find.labelled import labelled
from regard.look.trace import trace
from regard.page import finding
from regard.text import START

runs, server = asking.runs, pages.server


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


# Records


def test_runs_say_what_they_are(server, runs):
    found = json.loads(request(server, "GET", "/api/runs")[2])
    assert [one["task"]["name"] for one in found] == ["language model", "language model", "translator", "captioner"]
    written = (tiny.ROOT / "regard/page/static/ask.js").read_text()
    (fields,) = re.findall(r"@typedef \{\{(name: string, path: .*?)\}\} Run", written, re.DOTALL)
    assert {*re.findall(r"(\w+): ", fields)} == found[0].keys(), "what the page reads, and no more"
    assert found[0]["examples"][0]
    assert found[2]["examples"][0]


def test_a_record_holds_what_passed(server, runs, monkeypatch):
    text = "day 7: the tide"
    status, content = ask(server, "/api/record", run=1, text=text)
    tokens = torch.tensor([[START, *runs[1].tokenizer.encode(text)]])
    path = "layer.blocks.0.self_attention.weights"
    with torch.no_grad(), trace(runs[1].model, path) as seen:
        runs[1].model(tokens, runs[1].model.start())
    assert status == 200
    assert (load(content)[f"seen.{path}"] == seen[path][0]).all()
    monkeypatch.setattr("regard.page.answers.EXACT", 0)  # more weights than are sent as they are
    coded = load(ask(server, "/api/record", run=1, text=text)[1])[f"seen.{path}"]
    assert (coded == (seen[path][0].sqrt() * 255).round().to(torch.uint8)).all()


def test_what_is_switched_off_changes_the_record_and_nothing_else(server):
    head = "layer.blocks.0.self_attention[1]"
    before = ask(server, "/api/record", run=1, text="day 7")[1]
    off = ask(server, "/api/record", run=1, text="day 7", off=[head])[1]
    held = ask(server, "/api/record", run=0, text="day 7", held=[["layer.layers.0.cells[3]", 0.5]])[1]
    assert ask(server, "/api/record", run=1, text="day 7")[1] == before
    assert not torch.equal(load(before)["top.probabilities"], load(off)["top.probabilities"])
    assert (load(held)["seen.layer.layers.0.cells"][:, 3] == 0.5).all()


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


def test_a_picture_can_be_ones_own(server):
    file = io.BytesIO()
    Image.fromarray(np.full((30, 20, 3), 200, np.uint8)).save(file, "PNG")
    status, content = ask(server, "/api/record", run=3, picture=base64.b64encode(file.getvalue()).decode())
    assert status == 200
    assert (load(content)["picture"] == 200).all()
    assert request(server, "GET", "/api/scene?number=3")[2].startswith(b"\x89PNG")
    assert request(server, "GET", "/api/scene?number=../x")[0] == 422


# Writing


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
    chosen = runs[0].tokenizer.encode("zz")
    *made, _ = lines(ask(server, "/api/write", text="day 7", answer=chosen, length=3)[1])
    written = lines(ask(server, "/api/write", text="day 7zz", length=3)[1])[:-1]
    assert [one["token"] for one in made] == [one["token"] for one in written]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"run": 2, "text": "one two"},
            "only a text that goes on is written token by token; ask for a record of this translator",
        ),
        ({"run": 3}, "only a text that goes on is written token by token; ask for a record of this captioner"),
        ({"text": "day", "beam": 4}, "one hypothesis is written token by token, found beam 4; ask for a record"),
    ],
)
def test_what_is_known_only_at_its_end_is_not_written_twice(server, asked, said):
    assert lines(ask(server, "/api/write", **asked)[1]) == [{"error": said}]


def test_a_mistake_on_the_way_is_the_last_line(server):
    status, content = ask(server, "/api/write", run=9)
    assert status == 200  # it was too late to say so otherwise
    assert lines(content) == [{"error": "there are runs 0 to 3, found 9"}]


# Measures


def test_gradients_come_a_line_for_each_place(server):
    found = lines(ask(server, "/api/gradients", run=0, text="day 7: the tide")[1])
    assert {one["path"] for one in found} == {"embedding.vectors", "layer.layers.0.hidden", "layer.layers.1.hidden"}
    assert sum(one["last"] for one in found) == 1
    assert all(value >= 0 for one in found for value in one["values"])


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


# Searches


def test_a_search_says_how_far_it_is_and_then_what_it_found(server, runs, monkeypatch):
    text = "".join(f'say "{n} {n * n}" and {n}.\n' for n in range(160))
    monkeypatch.setattr(finding, "_readings", lambda run: [labelled(run.tokenizer, [text])])
    monkeypatch.setattr(finding, "EFFORT", Effort(number=2, shifts=20, controls=2))
    found = lines(ask(server, "/api/find", run=1, property="quotes")[1])
    *progress, first, second = found
    assert all("progress" in one for one in progress)
    assert len(progress) > 2
    assert first["searched"] == second["searched"] > 2
    assert first["low"] <= first["score"] <= first["high"]
    assert "".join(piece for piece, _, _ in first["evidence"]) in text
    assert lines(ask(server, "/api/find", run=1, property="quotes")[1]) == [first, second]  # it is remembered


def test_a_search_that_cannot_be_is_refused(server):
    assert lines(ask(server, "/api/find", run=1, property="quote")[1]) == [
        {"error": "property 'quote' does not exist; did you mean 'quotes'?"}
    ]
    (found,) = lines(ask(server, "/api/find", run=0, property="quotes")[1])
    assert "tokens, 2000 are wanted; use regard find --data" in found["error"]


def test_whoever_leaves_a_search_ends_it(runs, monkeypatch):
    monkeypatch.setattr(finding, "_readings", lambda run: [labelled(run.tokenizer, ['"a" b\n' * 600])])
    found = finding.search(runs[1], "quotes")
    next(found)
    assert "search" in {thread.name for thread in threading.enumerate()}
    found.close()
    assert "search" not in {thread.name for thread in threading.enumerate()}
