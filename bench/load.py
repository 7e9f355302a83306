"""Open-loop load on a server of this machine: requests come at times of their own, whether or not others were answered.

A closed loop asks a slow server for less; here it would be seen to fall behind. Ends by itself: after so many requests,
or after so many seconds. Only 127.0.0.1 is ever asked.

    python -m bench.load 8000 --rate 20 --seconds 3600 --save hour      # hour.csv, hour.png
"""

import argparse
import asyncio
import csv
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
PATIENCE = 120.0  # seconds for one answer
WATCHED = ("resident_memory_bytes", "num_requests_running", "num_requests_waiting", "generation_tokens_total")


@dataclass(frozen=True)
class Wish:
    """One request; `leaves`: goes away after so many pieces of its answer."""

    path: str
    body: dict[str, Any]
    leaves: int | None = None

    def sent(self) -> bytes:
        body = json.dumps(self.body).encode()
        return (
            f"POST {self.path} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        ).encode() + body


@dataclass(slots=True)
class Outcome:
    """What came of one: a status, 0 where the answer did not come whole; late: not within `PATIENCE`; and seconds."""

    path: str
    status: int = 0
    left: bool = False
    late: bool = False
    first: float = 0.0
    last: float = 0.0
    pieces: int = 0

    @property
    def name(self) -> str:
        return "left on purpose" if self.left else "too late" if self.late else str(self.status or "lost")


async def asked(port: int, wish: Wish, began: float) -> Outcome:
    """One request on a connection of its own; times count from when it was due."""
    outcome = Outcome(wish.path)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(wish.sent())
                await _answer(reader, wish, outcome, began)
            finally:
                writer.transport.abort() if outcome.left else writer.close()
    except TimeoutError:
        outcome.late = True
    except (OSError, asyncio.IncompleteReadError, ValueError):
        outcome.status = 0
    outcome.last = time.monotonic() - began
    return outcome


async def _answer(reader: asyncio.StreamReader, wish: Wish, outcome: Outcome, began: float) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status, stream = int(head.split(None, 2)[1]), b"text/event-stream" in head
    found = b""
    while piece := await reader.read(1 << 16):
        outcome.first = outcome.first or time.monotonic() - began
        outcome.pieces += piece.count(b"data: {")
        found = found[-64:] + piece if stream else found + piece
        if wish.leaves is not None and outcome.pieces >= wish.leaves:
            outcome.left = True
            return
    whole = b"data: [DONE]" in found if stream else len(found) == _length(head)
    outcome.status = status if whole else 0


def _length(head: bytes) -> int:
    return int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


async def offered(port: int, wishes: Iterator[Wish], rate: float, count: int, seconds: float) -> list[Outcome]:
    """So many requests a second, at random times; no more than `count`, for no longer than `seconds`."""
    chance, tasks, due = random.Random(0), [], time.monotonic()
    end = due + seconds
    for _, wish in zip(range(count), wishes, strict=False):
        due += chance.expovariate(rate)
        if due > end:
            break
        await asyncio.sleep(due - time.monotonic())
        tasks.append(asyncio.ensure_future(asked(port, wish, due)))
    return list(await asyncio.gather(*tasks))


async def watched(port: int, every: float, rows: list[dict[str, float]], tell: Callable[[str], None] = print) -> None:
    """What /metrics says, every so many seconds, until it is cancelled."""
    began = time.monotonic()
    while True:
        with suppress(OSError, ValueError):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(f"GET /metrics HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n".encode())
            text = (await reader.read()).decode()
            writer.close()
            rows.append({"seconds": round(time.monotonic() - began, 1)} | {name: _sum(text, name) for name in WATCHED})
            tell(json.dumps(rows[-1]))
        await asyncio.sleep(every)


def _sum(text: str, name: str) -> float:
    lines = (line for line in text.splitlines() if line.startswith(f"regard_{name}"))
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def mixed(seed: int = 0) -> Iterator[Wish]:
    """What people ask, for ever: writing, translating, classes, mistakes, and some who go away."""
    chance = random.Random(seed)
    while True:
        words = " ".join(chance.choices(["one", "two", "three", "four", "day", "tide"], k=chance.randint(1, 40)))
        length, model = chance.randint(1, 40), chance.choice(["transformer-lm-run", "lstm-run"])
        write = {"model": model, "prompt": words, "max_tokens": length, "seed": chance.randint(0, 9)}
        stream = write | {"stream": True}
        yield chance.choices(
            [
                Wish("/v1/completions", stream),
                Wish("/v1/completions", write),
                Wish("/v1/completions", write | {"n": 3, "logprobs": 3, "echo": True}),
                Wish("/v1/completions", stream | {"max_tokens": 200}, leaves=3),
                Wish("/translate", {"q": words, "source": "en", "target": "fr", "beam": 1 + length % 5}),
                Wish("/classify", {"model": "classifier-run", "texts": [words]}),
                Wish("/tokenize", {"model": model, "prompt": words}),
                Wish("/v1/completions", write | {"temperature": -1}),
            ],
            [30, 30, 5, 5, 10, 10, 5, 5],
        )[0]


def told(outcomes: list[Outcome]) -> str:
    """How many came to what."""
    counts = Counter((one.path, one.name) for one in outcomes)
    return "\n".join(f"| {path} | {name} | {number:,} |" for (path, name), number in sorted(counts.items()))


def drawn(rows: list[dict[str, float]], picture: Path) -> None:
    """Memory and figures over time."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(9, 7), layout="constrained")
    minutes = [row["seconds"] / 60 for row in rows]
    axes[0].plot(minutes, [row["resident_memory_bytes"] / 2**20 for row in rows])
    axes[0].set(ylabel="memory, MB", ylim=(0, None))
    axes[1].plot(minutes, [row["num_requests_running"] for row in rows], label="running")
    axes[1].plot(minutes, [row["num_requests_waiting"] for row in rows], label="waiting")
    axes[1].legend()
    axes[1].set(ylabel="requests")
    axes[2].plot(minutes, [row["generation_tokens_total"] for row in rows])
    axes[2].set(ylabel="tokens made", xlabel="minutes")
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)


def saved(rows: list[dict[str, float]], name: Path) -> None:
    with name.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["seconds", *WATCHED])
        writer.writeheader()
        writer.writerows(rows)
    drawn(rows, name.with_suffix(".png"))


async def run(port: int, rate: float, count: int, seconds: float, every: float) -> tuple[list[Outcome], list[Any]]:
    """All of it, and what was seen meanwhile."""
    rows: list[dict[str, float]] = []
    watching = asyncio.ensure_future(watched(port, every, rows))
    try:
        return await offered(port, mixed(), rate, count, seconds), rows
    finally:
        watching.cancel()


def main() -> None:
    wants = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wants.add_argument("port", type=int)
    wants.add_argument("--rate", type=float, default=20.0, help="requests a second")
    wants.add_argument("--count", type=int, default=100_000, help="requests at most")
    wants.add_argument("--seconds", type=float, default=60.0, help="how long at most")
    wants.add_argument("--every", type=float, default=10.0, help="seconds between two looks at /metrics")
    wants.add_argument("--save", type=Path, help="NAME.csv and NAME.png")
    given = wants.parse_args()
    outcomes, rows = asyncio.run(run(given.port, given.rate, given.count, given.seconds, given.every))
    print(told(outcomes))
    if given.save:
        saved(rows, given.save)


if __name__ == "__main__":
    main()
