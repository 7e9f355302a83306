"""The page in motion, for the README: the notes' sentence through the model, and where it looked for each word.

python docs/page/moving.py runs/demo
"""

import io
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from shots import ALONE, settle

from regard.data.corpora.phrases import notes_sentences
from regard.page.answers import Answers
from regard.page.server import Server
from regard.runs import load_run

FILE = Path(__file__).with_name("moving.gif")
NOTES = notes_sentences("french")[-1]
SIZE = {"width": 1200, "height": 1110}
WIDTH = 900  # of the picture, in pixels
COLOURS = 64
MODEL, WORD, END = 700, 650, 2500  # milliseconds that a step of the model, a word of the map and the last picture stay

Frame = tuple[Image.Image, int]


def main(path: str) -> None:
    server = Server(Answers([load_run(path)]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ALONE)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        words = len(NOTES.target_words)
        frames = [shown(page, server.address, MODEL, view="model", step=step) for step in range(3, words, 4)]
        frames += [shown(page, server.address, WORD, view="map", **{"from": row}) for row in range(words)]
        frames.append(shown(page, server.address, END, view="decode"))
        browser.close()
    write(frames)


def shown(page: Page, address: str, milliseconds: int, **selection: object) -> Frame:
    """What stands on the page when this is selected, and for how long it is to be seen."""
    chosen = {"run": 0, "text": NOTES.source, **selection}
    page.goto(f"{address}#" + "&".join(f"{key}={quote(str(value))}" for key, value in chosen.items()))
    settle(page)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    height = WIDTH * picture.height // picture.width
    return picture.resize((WIDTH, height), Image.Resampling.LANCZOS), milliseconds


def write(frames: list[Frame]) -> None:
    """All pictures share one palette, so that what stays the same is stored once."""
    pictures, times = zip(*frames, strict=True)
    strip = Image.new("RGB", (WIDTH, sum(picture.height for picture in pictures)))
    for number, picture in enumerate(pictures):
        strip.paste(picture, (0, number * picture.height))
    palette = strip.quantize(COLOURS, kmeans=1)
    first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    first.save(FILE, save_all=True, append_images=others, duration=times, loop=0, optimize=True)
    print(f"{FILE.name}: {len(pictures)} pictures, {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
