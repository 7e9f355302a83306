"""The page in a real browser, without a network: every view for every family, by pointer and by keyboard, and saved."""

import os
import shutil
from collections.abc import Iterator
from urllib.parse import quote

import pages
import pytest
import torch

from regard.look.trace import trace
from regard.page.server import Server
from regard.text import START

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests want playwright: pip install playwright"
)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if BROWSER is None and os.environ.get("REGARD_BROWSER") == "required":
    pytest.fail("REGARD_BROWSER=required, but there is no chromium on the path", pytrace=False)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="the browser tests want chromium, and there is none on the path"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
VIEWS = ("ribbon", "map", "heads", "finder", "memory", "decode", "workbench", "compare")
ALONE = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
FAMILIES = list(pages.FAMILIES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return pages.make_runs(tmp_path_factory.mktemp("runs"), FAMILIES)


@pytest.fixture(scope="module")
def server(runs) -> Iterator[Server]:
    with pages.serving(runs) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=ALONE)
        yield browser
        browser.close()


class Tab:
    """A page in the browser that can reach its own server only, and what went wrong on it."""

    def __init__(self, browser, server: Server | None, **wishes) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True, **wishes)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.strangers: list[str] = []
        self.context.route("**/*", self._gate)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)

    def _gate(self, route) -> None:
        address = route.request.url
        own = self.server.address if self.server else "file://"
        if address.startswith((own, "data:", "blob:")):
            route.continue_()
        else:
            self.strangers.append(address)
            route.abort()

    def open(self, family: str = "", **selection: object) -> None:
        chosen = (
            {"run": FAMILIES.index(family), "text": pages.text_for(family), "length": 6, **selection} if family else {}
        )
        self.page.goto("about:blank")
        self.page.goto(
            self.server.address + "#" + "&".join(f"{key}={quote(str(value))}" for key, value in chosen.items())
        )
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector("#stage[aria-busy=false]", timeout=20_000)

    def until(self, true: str) -> None:
        """Waits for a condition. Playwright's own way evaluates text in the page, which the page's policy forbids."""
        for _ in range(400):
            if self.page.evaluate(true):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never came true: {true}")

    def settled(self) -> None:
        """Waits for what a view computes after it is drawn."""
        self.until("!/Computing|Reading/.test(document.querySelector('#figure').innerText)")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@pytest.fixture
def tab(browser, server) -> Iterator[Tab]:
    tab = Tab(browser, server)
    yield tab
    tab.context.close()
    assert tab.strangers == [], "the page asked somebody else"
    assert tab.wrong == []


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


NOT_HERE = {
    ("rnn", "map"): "No attention, no map",
    ("rnn", "heads"): "has no heads, since it never looks back: here are its cells",
    ("lstm", "map"): "No attention, no map",
    ("classifier", "finder"): "Only a language model can be searched",
    ("classifier", "decode"): "A classifier decodes nothing",
}


@pytest.mark.parametrize(("family", "view"), NOT_HERE)
def test_a_view_that_does_not_apply_says_why(tab, family, view):
    tab.open(family, view=view)
    assert NOT_HERE[family, view] in tab.text("#figure")


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
    tab.page.wait_for_timeout(100)
    assert tab.page.evaluate("window.seen.size") > 3


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


def test_a_walk_by_keyboard_alone(tab):
    tab.open("transformer-lm", length=0)
    press = tab.page.keyboard.press
    for number, view in enumerate(VIEWS, 1):
        press(str(number))
        tab.page.wait_for_selector(f"#view-{view}[aria-current=page]")
    press("2")
    press("ArrowRight")  # from the mean to the first head
    assert "head=0" in tab.page.url
    tab.page.focus("#grip")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        press(key)
    assert "from=2" in tab.page.url
    assert "to=1" in tab.page.url
    assert tab.page.evaluate("document.activeElement.id") == "grip"  # one goes on from where one was
    press("1")
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


def saved(tab, kind: str) -> str:
    """The file that a button hands over. A busy browser swallows a click now and then, and a person clicks again."""
    for last in (False, False, True):
        try:
            with tab.page.expect_download() as waiting:
                tab.page.click(f"#save-{kind}")
            return str(waiting.value.path())
        except sync_api.TimeoutError:
            if last:
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


def test_what_is_wrong_is_drawn(tab):
    tab.open("rnn-attention", off="nothing[0]")
    assert tab.text(".state.wrong").startswith("That did not work")
    assert "unit 'nothing' does not exist" in tab.text(".state.wrong")
    tab.wrong = [one for one in tab.wrong if "422" not in one]  # the browser's own note of it


def test_nothing_yet_is_drawn_too(tab):
    tab.open()
    assert "Nothing to look at yet" in tab.text("#figure")
    tab.page.locator(".examples button").first.click()
    tab.ready()
    tab.page.wait_for_selector("#save-svg")


def test_a_small_screen_needs_no_scrolling_sideways(tab):
    tab.page.set_viewport_size({"width": 375, "height": 700})
    tab.open("transformer-seq2seq")
    for view in VIEWS:
        tab.page.click(f"#view-{view}")
        tab.settled()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 375, view
