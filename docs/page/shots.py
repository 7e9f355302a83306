"""Screenshots of every view, light and dark, into this folder; it wants playwright and a chromium on the path.

python docs/page/shots.py translator=runs/demo lstm=runs/source transformer=runs/python captioner=runs/scenes \
    seq2seq=runs/fr classifier=runs/questions tagger=runs/tags transducer=runs/sounds
"""

import io
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from regard.data.corpora.phrases import notes_sentences
from regard.page.answers import Answers
from regard.page.server import Server
from regard.runs import load_run

HERE = Path(__file__).parent
ALONE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
LARGEST = 190_000  # bytes of a file, above which its colours are counted
ENGLISH = notes_sentences("french")[-1].source
PYTHON = 'def read(path):\n    """Return the text."""\n    with open(path) as file:\n        return'
SHOTS: dict[str, tuple[str, dict[str, object]]] = {
    "model": ("translator", {"view": "model", "text": ENGLISH, "step": 4}),
    "model-lstm": ("lstm", {"view": "model", "text": PYTHON, "length": 8, "step": 12}),
    "model-transformer": ("transformer", {"view": "model", "text": PYTHON, "length": 8, "step": 9}),
    "model-backwards": ("lstm", {"view": "model", "text": PYTHON, "length": 8, "direction": "back"}),
    "model-seq2seq": ("seq2seq", {"view": "model", "text": ENGLISH, "step": 3}),
    "model-captioner": ("captioner", {"view": "model", "picture": "scene:10", "step": 2}),
    "model-classifier": ("classifier", {"view": "model", "text": "Who was the first man on the moon ?"}),
    "model-tagger": ("tagger", {"view": "model", "text": "the small boat lies on the sand"}),
    "model-transducer": ("transducer", {"view": "model", "text": "S O U R C E", "step": 2}),
    "ribbon": ("lstm", {"view": "ribbon", "text": PYTHON, "length": 24, "unit": 12, "cells": "layer.layers.0.cells"}),
    "ribbon-attention": ("translator", {"view": "ribbon", "text": ENGLISH, "from": 3}),
    "ribbon-picture": ("captioner", {"view": "ribbon", "picture": "scene:10", "from": 2}),
    "map": ("translator", {"view": "map", "text": ENGLISH, "from": 3, "to": 3}),
    "map-picture": ("captioner", {"view": "map", "picture": "scene:10", "from": 2}),
    "map-long": (
        "transformer",
        {"view": "map", "text": PYTHON, "length": 180, "layer": "layer.blocks.1.self_attention", "head": 5},
    ),
    "heads": ("transformer", {"view": "heads", "text": PYTHON, "length": 12}),
    "heads-cells": (
        "lstm", {"view": "heads", "text": PYTHON, "length": 24, "cells": "layer.layers.0.hidden", "sort": "spread"}
    ),
    "finder": ("lstm", {"view": "finder", "property": "quotes"}),
    "memory": ("lstm", {"view": "memory", "text": PYTHON, "length": 24, "against": "all"}),
    "decode": ("translator", {"view": "decode", "text": ENGLISH}),
    "workbench": ("translator", {"view": "workbench", "text": ENGLISH, "bench": "small,1,1,1,1.0.2.3.4,"}),
    "workbench-run": ("transformer", {"view": "workbench", "text": PYTHON, "length": 0, "bench": "own", "head": 3}),
    "compare": (
        "transformer",
        {"view": "compare", "text": PYTHON, "length": 16, "off": "layer.blocks.0.self_attention[2]", "head": 2},
    ),
    "small-screen": ("translator", {"view": "map", "text": ENGLISH, "from": 3}),
}  # fmt: skip


def main(words: list[str]) -> None:
    named = dict(word.split("=", 1) for word in words if "=" in word)
    only = {word for word in words if "=" not in word}
    runs = list(named)
    server = Server(Answers([load_run(path) for path in named.values()]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ALONE)
        for name, (family, selection) in SHOTS.items():
            if family not in named or (only and name not in only):
                continue
            small = name.startswith("small")
            size = {"width": 390, "height": 844} if small else {"width": 1360, "height": 900}
            page = browser.new_page(viewport=size, color_scheme="light", device_scale_factor=2 if small else 1)
            chosen = {"run": runs.index(family), **selection}
            page.goto(f"{server.address}#" + "&".join(f"{key}={quote(str(value))}" for key, value in chosen.items()))
            for scheme in ("light", "dark"):
                settle(page)
                save(page.screenshot(full_page=not small, clip=None if small else cut(page)), f"{name}-{scheme}.png")
                page.keyboard.press("d")
            page.close()
        browser.close()


def save(content: bytes, name: str) -> None:
    """As it is, or with fewer colours where it would be large."""
    file, picture = HERE / name, Image.open(io.BytesIO(content)).convert("RGB")
    picture.save(file, optimize=True)
    if file.stat().st_size > LARGEST:
        picture.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{name}: {file.stat().st_size / 1000:.0f} kB", flush=True)


def settle(page: Page) -> None:
    """Waits for the view and for what it computes after it is drawn."""
    page.wait_for_selector("#stage[aria-busy=false]", timeout=60_000)
    for _ in range(1200):
        waiting = "/Computing|Reading|\\d+ of \\d+$/.test(document.querySelector('#figure').innerText.trim())"
        if not page.evaluate(waiting):
            break
        page.wait_for_timeout(200)
    page.wait_for_timeout(200)


def cut(page: Page) -> dict[str, float]:
    """The page down to its end, or as far as a reader will look."""
    height = page.evaluate("document.documentElement.scrollHeight")
    return {"x": 0, "y": 0, "width": 1360, "height": min(1500, max(700, height))}


if __name__ == "__main__":
    main(sys.argv[1:])
