"""One truth: page, command line, saved files and Python show the same tokens, log p and weights of one answer."""

import csv
import math

import asking
import pages
import pytest
import tabs
import torch
from tabs import FAMILIES
from test_page_use import saved

from regard.cli import main
from regard.config.looking import Recording
from regard.look.attribution import token_effects
from regard.look.coding import load_record
from regard.look.gradients import memory

pytestmark = tabs.MARKS
runs, server, browser, tab = tabs.runs, pages.server, tabs.browser, tabs.tab
ANSWERS = {  # how an answer comes about, for whom
    "most-probable": ("rnn-attention", {"beam": 1}),
    "beam": ("transformer-seq2seq", {"beam": 4}),
    "forced": ("rnn-attention", {"beam": 4, "answer": "5,5"}),
    "captioned": ("captioner", {}),
    "read": ("transformer-lm", {"length": 0}),
    "written": ("lstm", {"length": 6}),
    "sampled": ("transformer-lm", {"length": 6, "temperature": 1.3, "seed": 3}),
    "by-beam": ("transformer-lm", {"length": 6, "beam": 3}),
    "classified": ("classifier", {}),
    "edited": ("transformer-lm", {"length": 4, "off": "layer.blocks.0.self_attention[1]"}),
}


def rows_of(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("case", ANSWERS)
def test_the_page_its_files_the_command_line_and_python_agree(tab, runs, tmp_path, case, capsys):
    family, selection = ANSWERS[case]
    run = runs[FAMILIES.index(family)]
    tab.open(family, view="decode", **selection)
    trace = tmp_path / "a.trace"
    with open(saved(tab, "trace"), "rb") as file:
        trace.write_bytes(file.read())
    record = load_record(trace)
    # What is said: the page's line, its record, and Python's record of the same tokens.
    given = record.calls[0].computed
    said = tuple(token.id for token in record.written.tokens[given:])
    if record.labelled:
        assert tab.text(".answer b").split()[0] == record.written.words[-1]
    else:
        answer = b"".join(token.piece for token in record.written.tokens[given:]).decode()
        shown = tab.page.evaluate("document.querySelector('.answer').textContent")
        assert shown.endswith(answer.lstrip("\n"))
    if case != "edited":  # with a head off it is another model's
        read = record.picture if record.picture is not None else pages.text_for(family)
        again = run.record(read, Recording(beam=1, said=said, top=8))
        assert torch.equal(again.written.ids, record.written.ids)
        torch.testing.assert_close(again.top.said, record.top.said)
        for path, seen in again.seen.items():
            torch.testing.assert_close(record.seen[path].values, seen.values, msg=path)
    # The ladder's file has the record's probabilities.
    table = rows_of(saved(tab, "csv"))
    first = [float(row["probability"]) for row in table if row.get("step", row.get("position")) == "0"]
    assert first == pytest.approx(record.top.probabilities[0].tolist(), rel=1e-4)
    # The map's file, and the command line's map of the same record.
    if not any(seen.attention for seen in record.seen.values()) or record.picture is not None:
        return
    tab.page.click("#view-map")
    cells = rows_of(saved(tab, "csv"))
    assert main(["look", str(trace), "--view", "map", "--save", str(tmp_path / "map.csv")]) == 0
    with open(tmp_path / "map.csv", newline="", encoding="utf-8") as file:
        names, *lines = list(csv.reader(file))
    typed = [value for line in lines for value in line[1:]]
    weights = [row["weight"] for row in cells]
    assert [value == "" for value in weights] == [value == "" for value in typed]  # masked
    numbers = [float(value) for value in weights if value]
    assert numbers == pytest.approx([float(value) for value in typed if value], abs=1e-5)
    assert [row["to"] for row in cells[: len(names) - 1]] == names[1:]
    capsys.readouterr()


@pytest.mark.parametrize("case", ["beam", "sampled", "forced"])
def test_what_is_asked_about_an_answer_is_about_its_tokens(tab, runs, case):
    """The measures of the map, gradients and the workbench: each request carries the tokens, and so is no other's."""
    family, selection = ANSWERS[case]
    run = runs[FAMILIES.index(family)]
    asked: list[dict] = []
    tab.page.on("request", lambda one: asked.append(one.post_data_json) if one.method == "POST" else None)
    tab.open(family, view="map", measure="off", **selection)
    tab.page.wait_for_selector("text=none of these is the reason")
    effects = rows_of(saved(tab, "csv"))
    tab.page.click("#view-memory")
    tab.settled()
    tab.page.click("#view-workbench")
    tab.page.click("text=this run")
    tab.page.wait_for_selector("#worked")
    said = {tuple(one["said"]) for one in asked if "said" in one}
    assert len(said) == 1
    assert sum("said" in one for one in asked) == 3
    (tokens,) = said
    record = run.record(pages.text_for(family), Recording(beam=1, said=tokens))
    found = token_effects(run.model, record)
    wanted = {(t, i): found[t, i].item() for t in range(found.shape[0]) for i in range(found.shape[1])}
    shown = {(int(row["from place"]), int(row["to place"])): row["switched off"] for row in effects}
    for place, value in shown.items():
        if value and place in wanted:
            assert float(value) == pytest.approx(wanted[place], abs=2e-3, rel=2e-3)
    curves = {one["path"]: one["values"] for one in gradients(tab, record, tokens, family)}
    for path, values in memory(run.model, record).items():
        assert curves[path] == pytest.approx(values.tolist(), rel=1e-3, abs=1e-9)


def gradients(tab, record, tokens, family) -> list[dict]:
    """What the server says of these tokens."""
    question = {"run": FAMILIES.index(family), "text": pages.text_for(family), "beam": 1, "said": list(tokens)}
    content = asking.ask(tab.server, "/api/gradients", **question)[1]
    return [asking.json.loads(line) for line in content.splitlines()]


def test_two_runs_judge_the_same_text_in_bits_a_byte(tab, runs):
    tab.open("rnn-attention", view="compare", beam=1, answer="5,4", other=FAMILIES.index("transformer-seq2seq"))
    tab.page.wait_for_selector("table.judged")
    shown = [row.locator("td").all_inner_texts() for row in tab.page.locator("table.judged tr").all()[1:]]
    judges = [runs[FAMILIES.index(name)] for name in ("rnn-attention", "transformer-seq2seq")]
    text = pages.text_for("rnn-attention")
    begun = Recording(beam=1, begin=(5, 4)), Recording(beam=1)
    words = [run.record(text, wishes).written.text for run, wishes in zip(judges, begun, strict=True)]
    assert words[0]
    for i, run in enumerate(judges):
        for j, wording in enumerate(words):
            if not wording:  # it stopped at once
                assert shown[i][j] == "–"
                continue
            record = run.record(text, Recording(answer=wording))
            bits = -float(record.top.said.sum()) / math.log(2) / len(wording.encode())
            assert float(shown[i][j]) == pytest.approx(bits, rel=0.01)
