"""Streams from several servers of one model: tokens a second and time to the first one, at each number of streams.

Of translators (`--translate en:fr`), which have no streams, a translation counts as one, and comes all at once.

Streams begin at random times, S of them within `--over` seconds, whether or not others have been answered; the servers
take turns. Each is asked for the same number of tokens, and kept from ending earlier. With `--hold`, each stream that
ends is followed by the next, for so many seconds. Only 127.0.0.1 is ever asked.

    python -m bench.peer_servers llama.cpp out/gguf/model.gguf --port 8001 &
    regard serve stories=runs/stories --rows 200 --port 8000 &
    python -m bench.streams regard=8000 llama.cpp=8001 --model stories --streams 1 8 32 128 200
"""

import argparse
import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HOST, PATIENCE = "127.0.0.1", 240.0
GOES_ON: dict[str, dict[str, Any]] = {"llama.cpp": {"ignore_eos": True, "cache_prompt": False}}
GOES_ON_ELSE: dict[str, Any] = {"logit_bias": {"2": -100}}  # our stop
TEXTS = ["Once upon a time", "One day, a little girl named", "The sun was", "Tom and his dog", "In the big forest"]


@dataclass
class Seen:
    """What was seen of some streams; times in seconds."""

    firsts: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    whole: int = 0
    lost: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def told(self) -> str:
        first, gap = (f"{_at(times, 0.5):.0f} | {_at(times, 0.99):.0f}" for times in (self.firsts, self.gaps))
        return f"{self.tokens / max(self.seconds, 1e-9):,.0f} | {first} | {gap} | {self.lost}"


def _at(times: Sequence[float], share: float) -> float:
    """Milliseconds within which that share of them are."""
    return 1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


async def stream(port: int, body: Mapping[str, Any], due: float, seen: Seen) -> None:
    """One answer to its end; its first token counts from when it was due."""
    sent = json.dumps(body).encode()
    path, ends, piece = (
        ("/translate", b'{"translatedText"', b"{") if "q" in body else ("/v1/completions", b"data: [DONE]", b"data: {")
    )
    head = f"POST {path} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    pieces, last, ended = 0, due, False
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent)
                async for line in reader:
                    ended = ended or line.startswith(ends)
                    if line.startswith(piece):
                        now = time.monotonic()
                        (seen.gaps if pieces else seen.firsts).append(now - last)
                        pieces, last = pieces + 1, now
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        ended = False
    seen.whole, seen.lost = seen.whole + ended, seen.lost + (not ended)
    seen.tokens += body.get("max_tokens", 1) if ended else 0


async def begun(port: int, bodies: Sequence[Mapping[str, Any]], over: float, hold: float) -> Seen:
    """All of them, each at a random time within `over` seconds; going on for `hold` seconds."""
    seen, chance, began = Seen(), random.Random(0), time.monotonic()

    async def one(place: int, due: float) -> None:
        await asyncio.sleep(due - time.monotonic())
        await stream(port, bodies[place], due, seen)
        while time.monotonic() < began + hold:
            await stream(port, bodies[place], time.monotonic(), seen)

    await asyncio.gather(*(one(place, began + chance.random() * over) for place in range(len(bodies))))
    seen.seconds = time.monotonic() - began
    return seen


def bodies(server: str, model: str, number: int, tokens: int) -> list[dict[str, Any]]:
    """What each stream asks: the best tokens behind a short text."""
    wish = {"model": model, "max_tokens": tokens, "temperature": 0, "stream": True}
    wish |= GOES_ON.get(server, GOES_ON_ELSE)
    return [wish | {"prompt": f"{TEXTS[place % len(TEXTS)]} {place}"} for place in range(number)]


def translations(languages: str, number: int) -> list[dict[str, Any]]:
    """Sentences of all lengths, by a beam of 5."""
    source, _, target = languages.partition(":")
    chance = random.Random(1)
    words = " ".join(TEXTS).split()
    texts = (" ".join(chance.choices(words, k=chance.randint(3, 20))) for _ in range(number))
    return [{"q": text, "source": source, "target": target} for text in texts]


def main() -> None:
    wants = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wants.add_argument("servers", nargs="+", metavar="[NAME=]PORT")
    wants.add_argument("--model", default="")
    wants.add_argument("--translate", metavar="FROM:TO")
    wants.add_argument("--streams", type=int, nargs="+", default=[1, 8, 32, 128, 200])
    wants.add_argument("--tokens", type=int, default=64)
    wants.add_argument("--over", type=float, default=1.0, help="seconds within which all begin")
    wants.add_argument("--hold", type=float, default=0.0, help="seconds for which so many are kept going")
    wants.add_argument("--rounds", type=int, default=1)
    given = wants.parse_args()
    servers = [(name or "regard", port) for name, _, port in (one.rpartition("=") for one in given.servers)]
    print(
        "| streams | server | tokens/s | first token, ms: p50 | p99 | between two: p50 | p99 | lost |\n"
        + "|--" * 8
        + "|"
    )
    for number in given.streams:
        for _ in range(given.rounds):
            for name, port in servers:
                asked = bodies(name, given.model, number, given.tokens)
                if given.translate:
                    asked = translations(given.translate, number)
                found = asyncio.run(begun(int(port), asked, given.over if number > 1 else 0.0, given.hold))
                print(f"| {number} | {name} | {found.told()} |", flush=True)


if __name__ == "__main__":
    main()
