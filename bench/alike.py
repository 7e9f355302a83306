"""Many clients at once are answered as one at a time: the same bytes, and every request.

Each run is asked some things, one after the other; then so many clients ask them again and again, in an order of their
own, and compare. Ends by itself; only 127.0.0.1 is ever asked. What is random has a seed, what changes with every
answer (its id, its time) is cut off.

    python -m bench.alike 8000 --runs lm=write smol=write fr=translate --clients 64 --count 100000
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

HOST, PATIENCE = "127.0.0.1", 300.0
CHANGES = ("id", "created")
WORDS = ["the", "tide", "comes", "in", "one", "two", "three", "four", "day", "7"]

Counts = Counter[tuple[str, str]]


class Wish(NamedTuple):
    """One request to a run."""

    run: str
    path: str
    body: dict[str, Any]


def wishes(run: str, kind: str, number: int, longest: int) -> list[Wish]:
    """Things to ask: prompts of all lengths; the best token and random ones, streams, probabilities, beams."""
    chance, found = random.Random(run), list[Wish]()
    for seed in range(number):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))
        wish = {"model": run, "prompt": text, "max_tokens": chance.randint(1, longest), "seed": seed}
        ways: list[dict[str, Any]] = [{"temperature": 0}, {"temperature": 1.2}, {"stream": True}, {"logprobs": 2}]
        if kind == "write":
            found.append(Wish(run, "/v1/completions", wish | ways[seed % len(ways)]))
        else:
            source, _, target = kind.partition(":")
            wish = {"q": text, "source": source, "target": target, "beam": 1 + seed % 5}
            found.append(Wish(run, "/translate", wish))
    return found


class Client:
    """One connection, kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, wish: Wish) -> tuple[int, bytes]:
        """The status and what was answered."""
        body = json.dumps(wish.body).encode()
        head = f"POST {wish.path} HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
        async with asyncio.timeout(PATIENCE):
            if self._streams is None:
                self._streams = await asyncio.open_connection(HOST, self.port)
            reader, writer = self._streams
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            told = (await reader.readuntil(b"\r\n\r\n")).lower()
            return int(told.split(None, 2)[1]), await _body(reader, told)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if b"chunked" not in head:
        return await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
    found = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        found += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return found


def lasting(answer: bytes) -> str:
    """What of an answer is the same whenever it is given."""
    pieces = [answer] if answer.startswith(b"{") else [one[6:] for one in answer.split(b"\n\n") if b"{" in one]
    shown = [json.loads(piece) for piece in pieces]
    return json.dumps([{name: value for name, value in one.items() if name not in CHANGES} for one in shown])


async def compared(port: int, asked: Sequence[Wish], clients: int, count: int, seconds: float) -> Counts:
    """How many of so many requests were answered as they had been before."""
    alone, wanted = Client(port), list[str]()
    for wish in asked:
        status, answer = await alone.ask(wish)
        assert status == 200, answer
        wanted.append(lasting(answer))
    alone.close()
    left, counts, chance, end = iter(range(count)), Counts(), random.Random(0), time.monotonic() + seconds

    async def one() -> None:
        client = Client(port)
        for _ in left:
            if time.monotonic() > end:
                break
            place = chance.randrange(len(asked))
            try:
                status, answer = await client.ask(asked[place])
                same = status == 200 and lasting(answer) == wanted[place]
                name = "the same bytes" if same else "other bytes" if status == 200 else f"status {status}"
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
                name = "lost"
                client.close()
            counts[asked[place].run, name] += 1
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return counts


def main() -> None:
    wants = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wants.add_argument("port", type=int)
    wants.add_argument("--runs", nargs="+", required=True, metavar="NAME=KIND", help="write, or from:to")
    wants.add_argument("--clients", type=int, default=64)
    wants.add_argument("--each", type=int, default=32, help="different things that each run is asked")
    wants.add_argument("--longest", type=int, default=24, help="tokens of an answer at most")
    wants.add_argument("--count", type=int, default=2000)
    wants.add_argument("--seconds", type=float, default=3600.0, help="how long at most")
    given = wants.parse_args()
    asked = [
        wish
        for name, _, kind in (run.partition("=") for run in given.runs)
        for wish in wishes(name, kind, given.each, given.longest)
    ]
    began = time.monotonic()
    counts = asyncio.run(compared(given.port, asked, given.clients, given.count, given.seconds))
    for (run, name), number in sorted(counts.items()):
        print(f"| {run} | {name} | {number:,} |", flush=True)
    print(f"{sum(counts.values()):,} by {given.clients} clients in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
