"""How long the page takes from a record to paint, and to follow a pointer: for 64 and 512 tokens and 48 heads.

python -m bench.page            wants playwright and a chromium on the path
"""

import shutil
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from playwright.sync_api import sync_playwright

from regard.layers.tap import WRITTEN
from regard.look.coding import to_bytes
from regard.look.record import Call, Record, Seen, Sequence, Token, Top
from regard.page.about import about
from regard.page.answers import Answers
from regard.page.asked import Question
from regard.page.server import Server
from regard.tasks import TEXT

LENGTHS, LAYERS, HEADS = (64, 512), 6, 8
ALONE = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def made(length: int) -> Record:
    """A record of attention that looks like attention: random, causal, summing to 1."""
    tokens = tuple(Token(4 + i % 26, chr(97 + i % 26), bytes([97 + i % 26]), i) for i in range(length))
    torch.manual_seed(0)
    seen = {}
    for layer in range(LAYERS):
        scores = 3 * torch.randn(HEADS, length, length)
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
        path = f"layer.blocks.{layer}.self_attention.weights"
        seen[path] = Seen(scores.softmax(-1), ("H", "T", "S"), "weights", WRITTEN, WRITTEN)
    top = Top(torch.zeros(length, 8, dtype=torch.int32), torch.full((length, 8), 0.125), torch.zeros(length - 1))
    calls = (Call(length, 0, 1000),)
    return Record("language model", {WRITTEN: Sequence(tokens)}, seen, top, {0: "a"}, calls)


class Backpointers(Answers):
    """Answers with a record that was made before, so that only the page is measured."""

    def __init__(self, length: int) -> None:
        super().__init__([])
        self.content = to_bytes(made(length))

    def runs(self) -> list[dict[str, object]]:
        return [
            {"name": "bench", "path": "bench", **about(TEXT), "parameters": 1, "tokens": "characters",
             "vocabulary": 30, "longest": 4000, "scenes": 0, "heads": {}, "cells": {}, "examples": [],
             "properties": []}
        ]  # fmt: skip

    def record(self, asked: Question) -> bytes:
        return self.content


@contextmanager
def serving(answers: Answers) -> Iterator[Server]:
    server = Server(answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


PAINT = """async (view) => {
    const { Record } = await import('/static/record.js');
    const asked = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' };
    const buffer = await (await fetch('/api/record', asked)).arrayBuffer();
    const { map } = await import('/static/views/map.js');
    const { heads } = await import('/static/views/heads.js');
    const { read } = await import('/static/selection.js');
    const [run] = await (await fetch('/api/runs')).json();
    const stage = document.querySelector('#figure');
    stage.replaceChildren();
    const begin = performance.now();
    const selection = read('#head=0');
    const record = new Record(buffer, run.special, { run: 0 });
    const look = { record, selection, choose() {}, question() {}, runs: [run], run };
    (view === 'map' ? map : heads).draw(stage, look);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - begin;
}"""
HOVER = """async () => {
    const grip = document.querySelector('#grip');
    const box = grip.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 60; i++) {
        const begin = performance.now();
        const [x, y] = [i / 60, ((i * 7) % 60) / 60];
        const where = { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true };
        grip.dispatchEvent(new PointerEvent('pointermove', where));
        document.body.getBoundingClientRect();
        times.push(performance.now() - begin);
        await new Promise(requestAnimationFrame);
    }
    return times;
}"""


def main(lengths: tuple[int, ...] = LENGTHS, times: int = 5) -> None:
    print(f"{'tokens':>7} {'record':>9} {'map':>9} {'48 heads':>9} {'hover: median':>14} {'worst':>7}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ALONE)
        for length in lengths:
            answers = Backpointers(length)
            with serving(answers) as server:
                page = browser.new_page(viewport={"width": 1360, "height": 900})
                page.goto(f"{server.address}#view=workbench&text=a&length=0")
                page.wait_for_selector("#stage[aria-busy=false]")
                heads = statistics.median(page.evaluate(PAINT, "heads") for _ in range(times))
                paint = statistics.median(page.evaluate(PAINT, "map") for _ in range(times))
                hover = page.evaluate(HOVER)
                size = len(answers.content) / 1e6
                print(
                    f"{length:>7} {size:>6.1f} MB {paint:>6.0f} ms {heads:>6.0f} ms "
                    f"{statistics.median(hover):>11.1f} ms {max(hover):>4.1f} ms"
                )
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
