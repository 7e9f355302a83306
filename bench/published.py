"""What a published page weighs and how quick it is: each run's file, first paint, the first answer, tokens a second.

python -m bench.published SITE      what `regard publish` made; wants playwright and a chromium on the path

Opened from the disk with the network off. The first answer, drawn, and tokens are counted in time of the processor, one
thread, whatever else runs; paint by the clock.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from regard.page.files import bundle

ALONE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
HERE = """
globalThis.here = new module_here_here_js.Here(JSON.parse(document.getElementById('published').textContent));
globalThis.stepped = async (run, steps) => {
  const { model, reader, about } = await here.run(run);
  const text = about.examples[0] || 'a';
  let state = model.start(about.task.continues ? null : [...reader.encode(text), 2]);
  for (let i = 0; i < steps; i++) [, state] = model.forward([i ? 4 + (i % 3) : 1], state);
};
"""


def main(site: str, tokens: int = 200) -> None:
    index = Path(site) / "index.html"
    print(f"{'run':<20} {'parameters':>12} {'file':>9} {'paint':>9} {'answer':>9} {'tokens/s':>9}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ALONE)
        page = browser.new_page()
        page.goto(index.as_uri())
        runs = json.loads(page.inner_text("#published") or page.text_content("#published") or "")["runs"]
        for number, run in enumerate(runs):
            print(row(browser.new_page(), index, number, run, tokens))
        browser.close()


def row(page: Page, index: Path, number: int, run: dict[str, Any], tokens: int) -> str:
    """One run, on a page of its own."""
    page.context.set_offline(True)
    page.goto(f"{index.as_uri()}#run={number}")
    page.wait_for_selector("#stage[aria-busy=false]")
    measured = page.context.new_cdp_session(page)
    measured.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy(measured)
    page.reload()
    page.wait_for_selector("#stage[aria-busy=false]")
    answer = 1000 * (busy(measured) - before)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.add_script_tag(content=bundle("here/here.js") + HERE)
    page.evaluate("number => stepped(number, 9)", number)  # the model is open, and its code is compiled
    before = busy(measured)
    page.evaluate("([number, tokens]) => stepped(number, tokens)", [number, tokens])
    speed = f"{tokens / (busy(measured) - before):,.0f}"
    size = (index.parent / run["file"]).stat().st_size / 1e6
    page.close()
    return f"{run['name']:<20} {run['parameters']:>12,} {size:>6.2f} MB {paint:>6.0f} ms {answer:>6.0f} ms {speed:>9}"


def busy(session: Any) -> float:
    """Seconds of the processor that the page has taken."""
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


if __name__ == "__main__":
    main(*sys.argv[1:])
