"""Fuzzed requests at a server of this machine: bodies, headers, paths, encodings, ids, half requests; counts by kind.

Several connections, on each some requests in one piece; the last may be broken in its framing. Wanted: no answer of 500
or more, no connection that neither answers nor ends. Ends by itself; only 127.0.0.1 is ever asked.

    python -m bench.fuzz_server 8000 --count 1000000 --seconds 600
"""

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable

HOST, PATIENCE, TOGETHER = "127.0.0.1", 60.0, 24
PATHS = ("/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/translate", "/detect", "/classify", "/tag")
PATHS += ("/tokenize", "/detokenize", "/caption", "/v1/models", "/languages", "/metrics", "/health", "/spec", "/")
FIELDS = ("model", "prompt", "messages", "input", "q", "source", "target", "texts", "tokens", "n", "max_tokens", "stop")
FIELDS += ("logprobs", "echo", "seed", "temperature", "top_p", "logit_bias", "stream", "format", "beam", "alternatives")
MODELS = ("transformer-lm-run", "lstm-run", "transformer-seq2seq-run", "classifier-run", "", "nobody")
ODD = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**64,
    -(2**70),
    1e308,
    -0.0,
    "",
    "a",
    "\ud800",
    "\0",
    "é" * 50,
    [],
    {},
    [[]],
)
ODD += ([1, "a"], [[1], "a"], {"a": {"b": []}}, ["x"] * 300, "9" * 400, [None], "en", "fr", "auto", "html")
STATUS = re.compile(rb"HTTP/1\.1 (\d\d\d) ")


def framed(
    method: str, path: bytes, body: bytes = b"", headers: bytes = b"content-type: application/json\r\n"
) -> bytes:
    """A request whose ends can be found."""
    return (
        b"%s %s HTTP/1.1\r\nhost: localhost\r\n" % (method.encode(), path)
        + b"%scontent-length: %d\r\n\r\n" % (headers, len(body))
        + body
    )


def _wish(chance: random.Random) -> dict[str, object]:
    wish: dict[str, object] = {"model": chance.choice(MODELS), "prompt": "day", "max_tokens": chance.randint(0, 2)}
    wish = wish if chance.random() < 0.6 else {"q": "one", "source": "en", "target": "fr", "beam": 1}
    for _ in range(chance.randint(1, 3)):
        wish[chance.choice(FIELDS)] = chance.choice(ODD)
    return wish


def bodies(chance: random.Random) -> bytes:
    """JSON with odd values, some of it damaged."""
    body = bytearray(json.dumps(_wish(chance)).encode())
    for _ in range(chance.choice((0, 0, 1, 4))):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return framed("POST", chance.choice(PATHS).encode(), bytes(body))


def ids(chance: random.Random) -> bytes:
    """Tokens that there may be, or not."""
    tokens = [chance.choice((0, 1, 2, 5, 50, 51, 7777, -1, 2**31, 2**63)) for _ in range(chance.randint(0, 9))]
    wish = {"model": chance.choice(MODELS), "prompt": chance.choice((tokens, [tokens], [tokens, [3]])), "max_tokens": 1}
    if chance.random() < 0.3:
        wish = {"model": wish["model"], "tokens": tokens}
    return framed("POST", chance.choice((b"/v1/completions", b"/detokenize", b"/tokenize")), json.dumps(wish).encode())


def headers(chance: random.Random) -> bytes:
    """Names and values of all kinds that framing allows."""
    names = (b"host", b"origin", b"authorization", b"content-type", b"accept", b"expect", b"upgrade", b"x-a", b"cookie")
    value = bytes(chance.choice(range(33, 256)) for _ in range(chance.randint(0, 60)))
    lines = b"".join(b"%s: %s\r\n" % (chance.choice(names), value.strip()) for _ in range(chance.randint(1, 5)))
    return framed(chance.choice(("GET", "POST", "PUT", "OPTIONS", "HEAD")), chance.choice(PATHS).encode(), b"{}", lines)


def paths(chance: random.Random) -> bytes:
    """Paths with dots, percents and queries."""
    pieces = (
        b"..",
        b"%2e%2e",
        b"static",
        b"v1",
        b"models",
        b"%00",
        b"%ff",
        b"?a=b",
        b"//",
        b";",
        b"app.py",
        b"*",
        b"#",
    )
    path = b"/" + b"/".join(chance.choices(pieces, k=chance.randint(0, 6)))
    return framed(chance.choice(("GET", "POST", "DELETE")), path[:2000])


def encodings(chance: random.Random) -> bytes:
    """Forms, charsets and JSON in other encodings."""
    text = "q=" + chance.choice(("one", "%ff", "%", "a&q=b", "&" * 200, "é")) + "&source=en&target=fr"
    kinds = (b"application/x-www-form-urlencoded", b"application/json; charset=utf-16", b"multipart/form-data", b"a/b")
    code = chance.choice(("utf-8", "utf-16", "utf-32", "latin-1"))
    body = (text if chance.random() < 0.6 else '{"q": "é"}').encode(code)
    return framed(
        "POST", chance.choice((b"/translate", b"/detect")), body, b"content-type: %s\r\n" % chance.choice(kinds)
    )


def halves(chance: random.Random) -> bytes:
    """No end, or framing that is none: always the last of its connection."""
    whole = bodies(chance)
    return chance.choice(
        (
            whole[: chance.randrange(1, len(whole))],
            chance.randbytes(chance.randint(1, 300)),
            b"POST /translate HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /" + b"a" * 70_000,
        )
    )


KINDS: tuple[Callable[[random.Random], bytes], ...] = (bodies, ids, headers, paths, encodings)


async def connection(port: int, chance: random.Random, counts: Counter[tuple[str, str]]) -> None:
    """One connection: some requests at once, then one that is whole and the last, or half of one."""
    drawn = [chance.choice(KINDS) for _ in range(TOGETHER)]
    sent = b"".join(kind(chance) for kind in drawn)
    half = chance.random() < 0.3
    last = halves(chance) if half else framed("GET", b"/health", b"", b"connection: close\r\n")
    for kind in drawn:
        counts["sent", kind.__name__] += 1
    counts["sent", "halves" if half else "health"] += 1
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(sent)
                answered = 0
                while answered < TOGETHER and (piece := await reader.read(1 << 16)):
                    answered += _noted(piece, counts)
                writer.write(last)
                if half:
                    writer.write_eof()
                while piece := await reader.read(1 << 16):
                    answered += _noted(piece, counts)
            finally:
                writer.transport.abort()
    except TimeoutError:
        counts["ended", "hung"] += 1
    except OSError as error:
        counts["ended", type(error).__name__] += 1


def _noted(piece: bytes, counts: Counter[tuple[str, str]]) -> int:
    found = STATUS.findall(piece)
    for status in found:
        counts["answered", status.decode()] += 1
    return len(found)


async def fuzzed(port: int, count: int, seconds: float, at_once: int = 16, seed: int = 0) -> Counter[tuple[str, str]]:
    """So many requests at most, for so many seconds at most."""
    counts: Counter[tuple[str, str]] = Counter()
    end, left = time.monotonic() + seconds, iter(range(-(-count // (TOGETHER + 1))))

    async def one(place: int) -> None:
        chance = random.Random(seed * 1000 + place)
        for _ in left:
            if time.monotonic() > end:
                return
            await connection(port, chance, counts)

    await asyncio.gather(*(one(place) for place in range(at_once)))
    return counts


def main() -> None:
    wants = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wants.add_argument("port", type=int)
    wants.add_argument("--count", type=int, default=1_000_000)
    wants.add_argument("--seconds", type=float, default=600.0)
    wants.add_argument("--seed", type=int, default=0)
    given = wants.parse_args()
    counts = asyncio.run(fuzzed(given.port, given.count, given.seconds, seed=given.seed))
    for (what, name), number in sorted(counts.items()):
        print(f"| {what} | {name} | {number:,} |")


if __name__ == "__main__":
    main()
