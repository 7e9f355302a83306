"""The page to try what is served, in a real browser."""

import pages
import pytest
import tabs
from at_a_port import serving

pytestmark = tabs.MARKS
browser = tabs.browser
NAMES = {"lm": "transformer-lm", "tr": "transformer-seq2seq", "classes": "classifier"}


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    made = pages.make_runs(tmp_path_factory.mktemp("tried"), list(NAMES.values()))
    with serving(dict(zip(NAMES, made, strict=True))) as server:
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_write_translate_and_classify(there, browser, scheme):
    """Each kind of run answers, nothing goes wrong on the page, and it asks nobody but its own server."""
    context = browser.new_context(color_scheme=scheme)
    page, wrong, asked = context.new_page(), [], set()
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.add(request.url.removeprefix(there.url)[:1]))
    page.goto(there.url)
    page.wait_for_selector("#run option", state="attached")
    page.fill("#text", "day 7: the")
    page.fill("#length", "12")
    page.click("#go")
    page.wait_for_selector("#figures:has-text('12 made')")
    assert page.inner_text("#answer").startswith("day 7: the")
    page.select_option("#run", "tr")
    page.fill("#text", "one two three")
    page.click("#go")
    page.wait_for_selector("#map table", state="attached")
    assert page.is_hidden("#length")
    for place, inside in (("#answer", ""), ("#others", "<li>"), ("#map", "<table><tbody><tr><th>")):
        page.eval_on_selector(place, f"one => {{ one.innerHTML = '{inside}' + 'x'.repeat(900) }}")  # on a phone
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.select_option("#run", "classes")
    page.click("#go")
    page.wait_for_selector("#others li")
    page.select_option("#run", "lm")
    page.fill("#length", "5000")
    page.eval_on_selector("#ask", "form => form.noValidate = true")
    page.click("#go")
    page.wait_for_selector("#wrong:not([hidden])")
    assert "max_tokens" in page.inner_text("#wrong")
    context.close()
    assert [one for one in wrong if "400" not in one] == []
    assert asked == {"/"}
