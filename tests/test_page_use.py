"""The page in a real browser, in use: what is changed, compared, walked by keyboard, and taken along."""

import shutil

import pages
import pytest
import tabs
import tiny
from tabs import FAMILIES, VIEWS, Tab, sync_api

pytestmark = tabs.MARKS
runs, server, browser, tab = tabs.runs, pages.server, tabs.browser, tabs.tab


# Changing and comparing


def test_text_appears_token_by_token(tab):
    tab.open("lstm", length=200)
    tab.page.evaluate(
        """() => {
            window.seen = new Set();
            const note = () => window.seen.add(document.querySelector('.answer').innerText);
            new MutationObserver(note).observe(document.querySelector('.composer'), { childList: true, subtree: true });
        }"""
    )
    tab.page.fill("#text", "day 9")
    tab.page.press("#text", "Enter")
    tab.until("location.hash.includes('day+9')")
    tab.ready()
    tab.until("window.seen.size > 3")


def test_an_alternative_can_be_taken(tab):
    tab.open("rnn-attention", view="decode")
    before = tab.text(".answer")
    rung = tab.page.locator(".rung").first
    chosen = rung.locator("button:not(.took):not([disabled])").first
    word = chosen.locator("b").inner_text()
    chosen.click()
    tab.page.wait_for_selector(".chip")
    tab.ready()
    tab.until(f"document.querySelector('.answer').innerText.includes({word!r})")
    assert tab.text(".answer") != before
    assert tab.page.locator(".rung").first.locator("h4").inner_text().endswith(word)


def test_a_head_switched_off_changes_the_answer(tab):
    tab.open("transformer-lm", view="compare", length=0)
    tab.page.click("[id='off-layer.blocks.0.self_attention-0']")
    tab.page.wait_for_selector("text=How probable it found it")
    first, second = tab.page.locator("table.numbers tr:has(td.n)").all_inner_texts()[-2:]
    assert first.split()[-1] != second.split()[-1]
    assert "off" in tab.text(".chip")


def test_a_cell_can_be_held(tab):
    tab.open("lstm", view="compare", length=0)
    tab.page.fill("#value", "0.5")
    tab.page.click("#hold")
    tab.page.wait_for_selector("text=How probable it found it")
    tab.page.click("#view-ribbon")
    tab.page.wait_for_selector(".ribbon .t")
    tab.page.hover(".ribbon .t >> nth=2")
    assert tab.text("#tip").startswith("0.500")


def test_two_runs_side_by_side(tab):
    tab.open("rnn-attention", view="compare", other=FAMILIES.index("transformer-seq2seq"))
    tab.page.wait_for_selector("#grip-1")
    assert "rnn-attention-run" in tab.text("#figure")
    assert "transformer-seq2seq-run" in tab.text("#figure")


# One answer


@pytest.mark.parametrize(
    ("family", "beam", "writings", "verb"),
    [
        ("rnn-attention", 4, 0, "translates"),
        ("rnn-attention", 1, 0, "translates"),
        ("captioner", 4, 0, "says"),
        ("transformer-lm", 1, 1, "goes on"),
        ("transformer-lm", 4, 0, "goes on"),
    ],
)
def test_there_is_one_answer(tab, family, beam, writings, verb):
    """What streams is recorded, and whatever else is computed comes with its record: nothing is shown and replaced."""
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    tab.page.add_init_script(
        """window.seen = new Set();
        new MutationObserver(() => {
            const place = document.querySelector('.answer');
            if (place) window.seen.add(place.textContent);
        }).observe(document, { childList: true, subtree: true });"""
    )
    tab.open(family, view="map", beam=beam)
    tab.until("window.seen.has(document.querySelector('.answer').textContent)")
    answer = tab.page.evaluate("document.querySelector('.answer').textContent").removeprefix(verb)
    seen = {one.removeprefix(verb) for one in tab.page.evaluate("[...window.seen]")}
    assert all(answer.startswith(one) for one in seen)
    assert asked.count("record") == 1
    assert asked.count("write") == writings


def test_other_measures_and_the_workbench_are_of_the_same_answer(tab):
    tab.open("rnn-attention", view="map", beam=4)
    rows = tab.page.locator(".heat svg text[text-anchor=end]").all_text_contents()
    tab.page.select_option("#measure", "norms")
    tab.page.wait_for_selector("text=none of these is the reason")
    assert tab.page.locator(".heat svg text[text-anchor=end]").all_text_contents() == rows
    tab.page.click("#view-workbench")
    tab.page.click("text=this run")
    tab.page.wait_for_selector("table.matrix:has(caption:has-text('softmax'))")
    shown = tab.page.locator("table.matrix:has(caption:has-text('softmax')) tbody th").all_inner_texts()
    assert shown[: len(rows)] == rows[:8]


# Walking


def test_from_a_cell_among_heads_to_its_ribbon_with_predictions(tab):
    tab.open("transformer-lm", view="heads", length=0)
    tab.page.click("text=cells")
    tab.page.click("#cell-3")
    tab.page.wait_for_selector("#view-ribbon[aria-current=page]")
    tab.page.wait_for_selector(".ribbon.grid .p")
    assert tab.page.input_value("#unit") == "3"
    assert tab.page.locator("label:has-text('top 5 beneath') input").is_checked()


@pytest.mark.parametrize(
    ("family", "before", "now"),
    [
        ("transformer-lm", {"view": "heads", "grid": "cells"}, "#cell-0"),
        ("lstm", {"view": "ribbon", "grid": "false"}, ".ribbon.flow"),
        ("lstm", {"view": "memory", "map": "layer.layers.0"}, "#gates option[value='layer.layers.0'][selected]"),
        (
            "transformer-seq2seq",
            {"view": "map", "map": "encoder.layer.blocks.0.self_attention"},
            "#layer option[value='encoder.layer.blocks.0.self_attention'][selected]",
        ),
    ],
)
def test_an_address_from_before_brings_its_view_back(tab, family, before, now):
    tab.open(family, **before)
    tab.page.wait_for_selector(now, state="attached")


def test_a_walk_by_keyboard_alone(tab):
    tab.open("transformer-lm", length=0)
    press = tab.page.keyboard.press
    for number, view in enumerate(VIEWS, 1):
        press(str(number))
        tab.page.wait_for_selector(f"#view-{view}[aria-current=page]")
    press("3")
    press("ArrowRight")  # from the mean to the first head
    assert "head=0" in tab.page.url
    tab.page.focus("#grip")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        press(key)
    assert "from=2" in tab.page.url
    assert "to=1" in tab.page.url
    assert tab.page.evaluate("document.activeElement.id") == "grip"  # one goes on from where one was
    press("2")
    unit = tab.page.input_value("#unit") if tab.page.locator("#unit").count() else "0"
    press("ArrowDown")
    assert tab.page.input_value("#unit") == str(int(unit) + 1)
    press("/")
    assert tab.page.evaluate("document.activeElement.id") == "text"
    tab.page.keyboard.type(" goes")
    press("Enter")
    tab.until("location.hash.includes('goes')")
    press("Escape")
    press("d")
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    press("?")
    assert tab.page.locator("dialog[open]").count() == 1
    press("Escape")
    press("Tab")
    assert tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_address_brings_a_view_back(tab, browser, server):
    tab.open("rnn-attention", view="map")
    box = tab.page.locator("#grip").bounding_box()
    tab.page.mouse.click(box["x"] + 5, box["y"] + 5)
    address, shown = tab.page.url, tab.text(".aside")
    assert "from=0" in address
    other = Tab(browser, server)
    other.page.goto(address)
    other.ready()
    assert other.text(".aside") == shown
    other.context.close()


# Taking along


def saved(tab, kind: str) -> str:
    """The file that a button hands over. A busy browser swallows a click now and then, and a person clicks again."""
    for patience in (5, 10, 20, 40, tiny.PATIENCE):  # seconds; the first is plenty for a click that was heard
        try:
            with tab.page.expect_download(timeout=1000 * patience) as waiting:
                tab.page.click(f"#save-{kind}")
            return str(waiting.value.path())
        except sync_api.TimeoutError:
            if patience == tiny.PATIENCE:
                raise
    raise AssertionError


def test_every_view_can_be_taken_along(tab):
    tab.open("transformer-lm", length=0)
    for view in VIEWS:
        if view == "finder":  # nothing to save before a search
            continue
        tab.page.click(f"#view-{view}")
        tab.settled()
        with open(saved(tab, "svg"), encoding="utf-8") as file:
            drawing = file.read()
        assert drawing.startswith("<svg"), view
        assert drawing.count("<text") > 5, view
        with open(saved(tab, "png"), "rb") as file:
            assert file.read(8) == b"\x89PNG\r\n\x1a\n"
        with open(saved(tab, "csv"), newline="", encoding="utf-8") as file:
            rows = file.read().split("\r\n")
        assert len(rows) > 3, view
        assert rows[0].count(",") >= 2


@pytest.mark.parametrize(("family", "view"), [("rnn-attention", "map"), ("lstm", "memory"), ("captioner", "ribbon")])
def test_a_saved_page_opens_from_the_disk_and_shows_the_same(tab, browser, tmp_path, family, view):
    tab.open(family, view=view)
    tab.settled()
    shown, answer = tab.text("#figure"), tab.text(".answer")
    file = tmp_path / "saved.html"
    shutil.copy(saved(tab, "html"), file)
    pixels = "document.querySelector('.heat')?.raw.toDataURL() ?? document.querySelector('canvas')?.toDataURL()"
    drawn = tab.page.evaluate(pixels)
    alone = Tab(browser, None, offline=True)
    alone.page.goto(file.as_uri())
    alone.ready()
    alone.settled()
    assert alone.text("#figure") == shown
    assert alone.text(".answer") == answer
    assert alone.page.evaluate(pixels) == drawn
    assert alone.strangers == []
    assert alone.wrong == []
    alone.context.close()
