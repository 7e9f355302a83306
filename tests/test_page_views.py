"""What the page shows in a real browser: every view for every family, and the numbers that the model had."""

import pages
import pytest
import tabs
import torch
from tabs import FAMILIES, VIEWS

from regard.look.trace import trace
from regard.text import START

pytestmark = tabs.MARKS
runs, server, browser, tab = tabs.runs, pages.server, tabs.browser, tabs.tab
NOT_HERE = {
    ("rnn", "map"): "No attention, no map",
    ("rnn", "heads"): "has no heads, since it never looks back: here are its cells",
    ("lstm", "map"): "No attention, no map",
    ("classifier", "finder"): "This run kept too little held-out text to search in",
    ("classifier", "decode"): "A classifier decodes nothing: it reads the whole text and says one class at once",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_view_opens_for_every_family(tab, family):
    tab.open(family)
    for view in VIEWS:
        tab.page.click(f"#view-{view}")
        tab.page.wait_for_selector(f"#view-{view}[aria-current=page]")
        tab.settled()
        shown = tab.text("#figure")
        assert len(shown) > 20, f"{view} is empty"
        assert "broke" not in shown
        assert "did not work" not in shown
        assert "not yours" not in shown


@pytest.mark.parametrize(("family", "view"), NOT_HERE)
def test_a_view_that_does_not_apply_says_why(tab, family, view):
    tab.open(family, view=view)
    assert NOT_HERE[family, view] in tab.text("#figure")


def test_what_is_wrong_is_drawn(tab):
    tab.open("rnn-attention", off="nothing[0]")
    assert tab.text(".state.wrong").startswith("That did not work")
    assert "unit 'nothing' does not exist" in tab.text(".state.wrong")
    tab.wrong = [one for one in tab.wrong if "422" not in one]  # the browser's own note of it


def test_it_opens_with_the_model_on_a_held_out_example(tab, runs):
    tab.open()
    assert tab.page.locator("#view-model[aria-current=page]").count() == 1
    assert tab.page.input_value("#text").strip()
    assert tab.page.locator("svg.model image").count() >= 3  # two layers and the embedding, with their numbers


@pytest.mark.parametrize("text", ["", "  "])
def test_without_a_text_there_are_examples_to_take(tab, text):
    tab.open("rnn-attention", view="map", text="one two")
    tab.page.fill("#text", text)
    tab.page.press("#text", "Enter")
    tab.until("document.querySelector('#figure').innerText.includes('Nothing to look at yet')")
    tab.page.locator(".examples button").first.click()
    tab.page.wait_for_selector("#grip")


def test_a_small_screen_needs_no_scrolling_sideways(tab):
    tab.page.set_viewport_size({"width": 375, "height": 700})
    tab.open("transformer-seq2seq")
    for view in VIEWS:
        tab.page.click(f"#view-{view}")
        tab.settled()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 375, view


# Maps


def weights_of(run, text: str) -> torch.Tensor:
    """A language model's first attention, as it passes."""
    path = "layer.blocks.0.self_attention.weights"
    with torch.no_grad(), trace(run.model, path) as seen:
        run.model(torch.tensor([[START, *run.tokenizer.encode(text)]]), run.model.start())
    return seen[path][0]


def test_the_pixels_of_a_map_are_the_weights(tab, runs):
    """Each pixel's colour is that of the scale at the weight which the model had."""
    family = "transformer-lm"
    text = pages.text_for(family)
    tab.open(family, view="map", length=0, head=1, scale="linear")
    found = tab.page.evaluate(
        """async () => {
            const { weightColour } = await import('/static/colour.js');
            const canvas = document.querySelector('.heat').raw;
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            const scale = Array.from({ length: 256 }, (_, i) => weightColour((i / 255) ** 2));
            return { size: [canvas.height, canvas.width], pixels: [...data], scale };
        }"""
    )
    weights = weights_of(runs[FAMILIES.index(family)], text)[1]
    assert found["size"] == list(weights.shape)
    pixels = torch.tensor(found["pixels"]).view(*weights.shape, 4)[..., :3]
    wanted = torch.tensor(found["scale"])[(weights.sqrt() * 255).round().long()]
    assert (pixels == wanted).all()


def test_masked_cells_are_hatched_and_called_masked(tab):
    tab.open("transformer-lm", view="map", length=0)
    box = tab.page.locator("#grip").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 3)
    assert tab.text("#tip").startswith("masked")
    tab.page.mouse.move(box["x"] + 3, box["y"] + 3)
    assert tab.text("#tip").startswith("1.000")
    colours = tab.page.evaluate(
        """() => {
            const canvas = document.querySelector('.heat canvas');
            const cell = canvas.width / 16;
            const part = canvas.getContext('2d').getImageData(canvas.width - 3 * cell, 0, 3 * cell, 2 * cell).data;
            return new Set(Array.from({ length: part.length / 4 }, (_, i) => part.slice(4 * i, 4 * i + 3).join())).size;
        }"""
    )
    assert colours > 1  # lines on paper, no flat zero


def test_every_map_says_what_it_is_not(tab):
    tab.open("rnn-attention", replaced="three two")
    for view in ("map", "heads", "ribbon", "compare"):
        tab.page.click(f"#view-{view}")
        tab.page.wait_for_selector(".honest")
        assert tab.text(".honest") == "where it looked, not why it answered"


def test_axes_and_readings_are_named(tab):
    tab.open("rnn-attention", view="map")
    axes = tab.page.locator("svg text.axis").all_text_contents()
    assert axes == ["from ↓", "to →"]
    assert "as predicted" in tab.text(".controls")
    assert "one after the token fed" in tab.text(".aside")
    tab.page.click("text=as fed")
    assert tab.page.locator(".heat svg text").first.text_content() == "<start>"


# The workbench


def test_outputs_permute_until_positions_are_on(tab):
    tab.open("rnn-attention", view="workbench")
    tab.page.click("#right-0")
    tab.until("document.querySelector('#verdict').innerText.startsWith('f(s(x)) = s(f(x))')")
    tab.page.click("text=positions")
    tab.until("document.querySelector('#verdict').innerText.startsWith('f(s(x)) ≠ s(f(x))')")


def test_the_strip_grows_by_a_column_a_step(tab):
    tab.open("rnn-attention", view="workbench")
    kept = []
    for step in (1, 2, 3):
        tab.page.locator("#step").evaluate(
            "(slide, n) => { slide.value = n; slide.dispatchEvent(new Event('input')); }", step
        )
        cells = tab.page.locator("#strip table >> nth=0").locator("tbody tr >> nth=0").locator("td").all_inner_texts()
        kept.append(sum(bool(cell.strip()) for cell in cells))
    assert kept == [1, 2, 3]


def test_the_workbench_shows_the_runs_own_numbers(tab, runs):
    family = "transformer-lm"
    tab.open(family, view="workbench", bench="own", length=0, head=0)
    tab.page.wait_for_selector("text=a = softmax")
    shown = (
        tab.page.locator("table.matrix:has(caption:has-text('softmax')) tbody tr >> nth=2")
        .locator("td")
        .all_inner_texts()
    )
    weights = weights_of(runs[FAMILIES.index(family)], pages.text_for(family))[0, 2, :3].tolist()
    assert [float(cell) for cell in shown[:3]] == pytest.approx(weights, abs=0.01)
    assert "−∞" in tab.text("table.matrix:has(caption:has-text('scaled')) tbody tr >> nth=0")
