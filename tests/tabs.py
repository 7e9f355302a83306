"""A real browser without a network; a test file takes the fixtures it wants by name, and the marks."""

import os
import shutil
from collections.abc import Iterator
from urllib.parse import quote

import pages
import pytest
import tiny

from regard.page.server import Server

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests want playwright: pip install playwright"
)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if BROWSER is None and os.environ.get("REGARD_BROWSER") == "required":
    pytest.fail("REGARD_BROWSER=required, but there is no chromium on the path", pytrace=False)
MARKS = [
    pytest.mark.skipif(BROWSER is None, reason="the browser tests want chromium, and there is none on the path"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
VIEWS = ("model", "ribbon", "map", "heads", "finder", "memory", "decode", "workbench", "compare")
ALONE = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
FAMILIES = list(pages.FAMILIES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return pages.make_runs(tmp_path_factory.mktemp("runs"), FAMILIES)


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
        self.page.set_default_timeout(1000 * tiny.PATIENCE)
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
        self.page.wait_for_selector("#stage[aria-busy=false]")

    def until(self, true: str) -> None:
        """Waits for a condition. Playwright's own way evaluates text in the page, which the page's policy forbids."""
        for _ in range(20 * tiny.PATIENCE):
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
