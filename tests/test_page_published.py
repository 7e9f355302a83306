"""A published page, opened from the disk without a network: it says what Python says, with the same rounded weights."""

import pages
import pytest
import tabs
import torch
from tabs import FAMILIES, VIEWS, Tab

from regard.cli import main
from regard.errors import UserError
from regard.look.coding import load_record
from regard.page import publish as publishing
from regard.page.answers import Answers
from regard.page.asked import question
from regard.page.files import bundle
from regard.page.publish import publish
from regard.page.rounded import bits_for, restored, rounded
from regard.runs import load_run

pytestmark = tabs.MARKS
runs, browser = tabs.runs, tabs.browser
NEAR = 1e-4
OFF, HELD = "layer.blocks.0.self_attention[1]", ("layer.layers.0.cells[2]", 0.5)
ASKED: dict[str, tuple[str, dict]] = {  # of which run, and what is asked
    "greedy": ("rnn", {"length": 6, "beam": 1}),
    "sampled": ("transformer-lm", {"length": 6, "beam": 1, "temperature": 1.3, "seed": 3}),
    "past-the-window": ("transformer-lm", {"length": 60, "beam": 1}),
    "by-beam": ("transformer-lm", {"length": 5, "beam": 3}),
    "head-off": ("transformer-lm", {"length": 4, "beam": 1, "off": (OFF,)}),
    "cell-held": ("lstm", {"length": 4, "beam": 1, "held": (HELD,)}),
    "translated": ("rnn-attention", {"beam": 4}),
    "begun": ("transformer-seq2seq", {"beam": 4, "answer": (5, 5)}),
    "captioned": ("captioner", {"picture": "scene:1", "beam": 4}),
    "classified": ("classifier", {"beam": 1}),
}


@pytest.fixture(scope="module")
def site(runs, tmp_path_factory):
    """The page about all of these runs; from then on they have the weights that the page has."""
    folder = tmp_path_factory.mktemp("published") / "site"
    publish(runs, folder)
    for run in runs:
        run.model.load_state_dict(restored(rounded(run.model, bits_for(run.model))), strict=False)
    return folder


class Disk(Tab):
    """A page from the disk, with the network off."""

    def __init__(self, browser, folder, **wishes) -> None:
        super().__init__(browser, None, **wishes)
        self.context.set_offline(True)
        self.address = (folder / "index.html").as_uri()

    def show(self, selection: dict) -> None:
        self.page.goto("about:blank")
        self.page.goto(self.address + "#" + "&".join(f"{key}={value}" for key, value in selection.items()))
        self.ready()


@pytest.fixture
def disk(browser, site):
    disk = Disk(browser, site)
    yield disk
    disk.context.close()
    assert disk.strangers == [], "the page asked somebody else"
    assert disk.wrong == []


HERE = """
const { Here } = module_here_here_js;
globalThis.here = new Here(JSON.parse(document.getElementById('published').textContent));
globalThis.ask = async (path, asked) => {
  const every = [];
  if (path === '/api/record') return [...new Uint8Array(await here.record(asked))];
  if (path === '/api/attribution') return here.plain(path, asked);
  for await (const line of here.lines(path, asked)) every.push(line);
  return every;
};
"""


@pytest.fixture(scope="module")
def ask(browser, site):
    """What the models in the page answer, asked without the page's views; one page for all questions."""
    disk = Disk(browser, site)
    disk.show({})
    disk.page.add_script_tag(content=bundle("here/here.js") + HERE)
    yield lambda path, asked: disk.page.evaluate("([path, asked]) => ask(path, asked)", [path, asked])
    disk.context.close()


PATHS = ("/api/record", "/api/write")


def recorded(answer, write, asked: dict, path):
    """The record of a question, asked as the page asks: what goes on is written first, and then recorded."""
    rest = {key: value for key, value in asked.items() if key not in ("temperature", "seed")}
    if asked.get("length") and asked["beam"] == 1:
        made = [line["token"] for line in write(asked) if "token" in line]
        rest = {**rest, "length": 0, "answer": made}
    path.write_bytes(bytes(answer(rest)))
    return load_record(path)


@pytest.mark.parametrize("case", ASKED)
def test_a_published_page_says_what_python_says(ask, runs, tmp_path, case):
    family, wishes = ASKED[case]
    asked = {"run": FAMILIES.index(family), "text": pages.text_for(family), **wishes}
    python = Answers(runs)
    here = recorded(*(lambda one, path=path: ask(path, one) for path in PATHS), asked, tmp_path / "here.trace")
    there = recorded(
        lambda one: python.record(question(one)), lambda one: python.write(question(one)), asked, tmp_path / "a.trace"
    )
    for name in ("kind", "sequences", "calls", "names"):
        assert getattr(here, name) == getattr(there, name), name
    assert (here.picture is None) == (there.picture is None)
    assert here.picture is None or torch.equal(here.picture, there.picture)
    assert_near(here.top.said, there.top.said)
    assert_near(here.top.probabilities, there.top.probabilities)
    possible = there.top.probabilities > 0  # of what cannot be the order is anybody's
    assert torch.equal(here.top.tokens[possible], there.top.tokens[possible])
    for node, other in zip(here.tree, there.tree, strict=True):
        assert (node.parent, node.token, node.fate) == (other.parent, other.token, other.fate)
        assert (node.log, node.total) == pytest.approx((other.log, other.total), abs=NEAR)
    assert here.seen.keys() == there.seen.keys()
    for path, seen in there.seen.items():
        assert {**vars(here.seen[path]), "values": None} == {**vars(seen), "values": None}, path
        assert_near(here.seen[path].values, seen.values)


def test_a_text_that_goes_on_comes_as_python_sends_it(ask, runs):
    asked = {"run": FAMILIES.index("lstm"), "text": pages.text_for("lstm"), "length": 12, "temperature": 2.0, "seed": 1}
    here, there = ask("/api/write", asked), list(Answers(runs).write(question(asked)))
    assert [(line.get("label"), line["text"]) for line in here] == [(line.get("label"), line["text"]) for line in there]
    for line, other in zip(here[:-1], there[:-1], strict=True):
        assert line["probability"] == pytest.approx(other["probability"], abs=NEAR)
        assert [one[:2] for one in line["top"]] == [one[:2] for one in other["top"]]


@pytest.mark.parametrize(
    ("family", "head"),
    [("transformer-lm", "self"), ("transformer-seq2seq", "cross"), ("transformer-seq2seq", "encoder"),
     ("rnn-attention", "decoder.layer.attention[0]")],
)  # fmt: skip
def test_measures_are_those_of_python(ask, runs, family, head):
    """Value norms, rollout, and what a token that is left out changes; gradients are left out."""
    asked = {"run": FAMILIES.index(family), "text": pages.text_for(family), "beam": 1, "head": head}
    here, there = ask("/api/attribution", asked), Answers(runs).attribution(question(asked))
    assert here.keys() == there.keys() - {"gradient"}
    for name, heads in here.items():
        wanted = torch.tensor(there[name])
        found = torch.tensor(heads)[:, : wanted.shape[1], : wanted.shape[2]]
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=2e-4, msg=name)


def assert_near(here, there) -> None:
    torch.testing.assert_close(here, there, rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_view_opens_on_a_published_page(disk, family):
    disk.show({"run": FAMILIES.index(family), "text": pages.text_for(family), "length": 6})
    for view in VIEWS:
        disk.page.click(f"#view-{view}")
        disk.page.wait_for_selector(f"#view-{view}[aria-current=page]")
        disk.settled()
        shown = disk.text("#figure")
        assert len(shown) > 20, f"{view} is empty"
        assert "broke" not in shown
        assert "did not work" not in shown
        if view == "memory":
            assert "Gradients are computed by Python" in shown
        if view == "finder":
            assert "regard publish --find PROPERTY" in shown


def test_typing_is_answered_at_once_and_is_not_disturbed(disk):
    disk.show({"run": FAMILIES.index("transformer-seq2seq"), "view": "map"})
    disk.page.fill("#text", "")
    disk.page.locator("#text").press_sequentially("one two th", delay=5)
    disk.until("document.querySelector('#figure').innerText.includes('one')")
    disk.page.keyboard.type("ree")
    disk.until("location.hash.includes('one+two+three') || location.hash.includes('one%20two%20three')")
    disk.ready()
    assert disk.page.input_value("#text") == "one two three"
    assert disk.page.evaluate("document.activeElement.id") == "text"


def test_a_page_that_was_saved_from_it_holds_what_was_shown(disk, browser, tmp_path):
    disk.show({"run": FAMILIES.index("rnn-attention"), "text": "one two", "view": "map"})
    with disk.page.expect_download() as waiting:
        disk.page.click("#save-html")
    waiting.value.save_as(tmp_path / "saved.html")
    said = disk.text(".answer")
    saved = Tab(browser, None)
    saved.page.goto((tmp_path / "saved.html").as_uri())
    saved.ready()
    assert saved.text(".answer") == said
    assert saved.page.locator("#text").get_attribute("readonly") is not None
    saved.context.close()
    assert saved.wrong == []


def test_a_browser_without_what_it_needs_says_so(browser, site):
    old = Disk(browser, site)
    old.page.add_init_script("delete globalThis.DecompressionStream")
    old.page.goto(old.address)
    old.page.wait_for_selector("text=This page wants a newer browser")
    old.context.close()
    without = Disk(browser, site, java_script_enabled=False)
    without.page.goto(without.address)
    assert "switched off here" in without.page.inner_text("noscript, body")
    without.context.close()


def test_a_file_that_is_missing_is_said(browser, site, tmp_path):
    (tmp_path / "index.html").write_bytes((site / "index.html").read_bytes())
    alone = Disk(browser, tmp_path)
    alone.show({"text": "a"})
    assert "runs/rnn-run.js is not beside this page, and has rnn-run; copy the whole folder" in alone.text("#figure")
    alone.context.close()


def test_searches_that_were_done_are_published(runs, site, browser, monkeypatch, tmp_path):
    found = [{"progress": "reading"}, {"unit": "layer.layers.0.hidden[1]"}]
    monkeypatch.setattr(publishing.Answers, "find", lambda self, asked: iter(found))
    about = Answers(runs[:1]).runs()[0]
    monkeypatch.setattr(publishing.Answers, "runs", lambda self: [{**about, "properties": [("quotes", "in quotes")]}])
    publish(runs[:1], tmp_path / "site", find=("quotes",))
    text = (tmp_path / "site/runs/rnn-run.js").read_text()
    assert '"found": {"quotes": [{"unit": "layer.layers.0.hidden[1]"}]}' in text
    assert '"properties": [["quotes", "in quotes"]]' in text


# What cannot be published


def test_what_a_page_cannot_compute_is_refused_by_name(runs, tmp_path, monkeypatch):
    run = runs[FAMILIES.index("lstm")]
    monkeypatch.setattr(publishing, "LARGEST", 10)
    with pytest.raises(UserError, match=r"lstm-run has [\d,]+ parameters, a page computes at most 10; publish"):
        publish([run], tmp_path / "site")
    monkeypatch.undo()
    monkeypatch.setattr(publishing, "known_in", lambda name, table: set())
    with pytest.raises(UserError, match=r"lstm-run has parts that a page does not know \(Decoder, Dropout, "):
        publish([run], tmp_path / "site")
    classes = publishing.classes_in(publishing.described(run.model))
    monkeypatch.setattr(publishing, "known_in", lambda name, table: classes)
    with pytest.raises(UserError, match=r"has tokens that were learnt elsewhere \(characters\), which a page can"):
        publish([run], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_what_is_published_is_what_was_trained(runs, tmp_path):
    """However its weights are kept for answering here: in 8 bits, or transposed as those of larger models are."""
    path = runs[0].folder.path
    for name, run in (("plain", load_run(path)), ("int8", load_run(path, precision="int8"))):
        publish([run], tmp_path / name)
    plain, int8 = ((tmp_path / name / "runs/rnn-run.js").read_bytes() for name in ("plain", "int8"))
    assert plain == int8


def test_an_ensemble_is_refused(runs, tmp_path):
    path = runs[0].folder.path
    with pytest.raises(
        UserError, match=r"is an ensemble, and a page computes one model; publish its runs side by side"
    ):
        publish([load_run(path, ensemble=[path])], tmp_path / "site")


def test_the_command(runs, tmp_path, capsys):
    folder = str(runs[0].folder.path)
    assert main(["publish", folder, "--to", str(tmp_path / "site"), "--bits", "8"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{tmp_path / 'site/runs/rnn-run.js'}: 1,899 parameters in 8 bits, 0.01 MB")
    assert said[1].startswith(f"open {tmp_path / 'site/index.html'} by a double click")
    assert str(runs[0].folder.path) not in (tmp_path / "site/runs/rnn-run.js").read_text()
    for words, wrong in (
        ([folder], "publish wants a folder to make, found none; add --to site"),
        ([folder, "--to", str(tmp_path / "site")], f"{tmp_path / 'site'} is there already; name another place, or"),
        ([folder, "--to", str(tmp_path / "b"), "--find", "nothing"], "property 'nothing' does not exist"),
    ):
        assert main(["publish", *words]) == 1
        assert wrong in capsys.readouterr().err
