"""Breaks files of other programs at random: whatever they hold, they are imported or refused in one line.

`python tests/fuzz_hub.py 100000 SEED` tries so many. A file that is neither read nor refused, takes longer than
`LONGEST`, or wants `MOST` bytes more than the whole files did, is kept, counted and told of.
"""

import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from test_hub_encoders import saved, sentence_transformer
from test_hub_families import CLASSIFIERS, save, save_classifier
from test_hub_gguf import write_llama
from test_hub_llama2c import write as write_llama2c
from test_hub_marian import SETTINGS, as_bin, put
from test_hub_marian import arrays as marian_arrays
from test_hub_torch import LETTERS, Cells, nanogpt
from torch import nn

from regard.errors import UserError
from regard.hub.families import open_package
from regard.hub.importing import weights_of
from regard.hub.reading import read_package

NUMBERS = (0, 1, 0x7F, 0x80, 0xFF)
LONGEST = 10  # seconds
MOST = 1 << 28  # bytes: the largest of these files has three million


def sources(folder: Path) -> dict[str, list[Path]]:
    """A small file or folder of each format, and the files of it that are broken."""
    found = {}
    for name in ("llama", "gpt2", "qwen2", "gpt-neox", *CLASSIFIERS):
        (save_classifier if name in CLASSIFIERS else save)(name, folder / name)
        found[name] = [path for path in sorted((folder / name).iterdir()) if path.is_file()]
    for name, pieces in (("bytes", False), ("pieces", True)):
        write_llama(folder / f"{name}.gguf", "llama", pieces, "Q4_1")
        found[f"{name}.gguf"] = [folder / f"{name}.gguf"]
    (folder / "llama2c").mkdir()
    write_llama2c(folder / "llama2c", True)
    found["llama2c/model.bin"] = [folder / "llama2c/model.bin", folder / "llama2c/tokenizer.bin"]
    shapes = {
        "emb": (29, 256),
        "w_ih": (768, 256),
        "w_hh": (768, 256),
        "b_ih": 768,
        "b_hh": 768,
        "w": (74, 256),
        "b": 74,
    }
    names = [*(f"{side}_{part}" for side in ("enc", "dec") for part in list(shapes)[:5]), "fc_w", "fc_b"]
    arrays = {name: np.zeros(shapes[name.split("_", 1)[1]], np.float32) for name in names}
    arrays["dec_emb"] = np.zeros((74, 256), np.float32)
    np.savez(folder / "g2p.npz", **arrays)
    found["g2p.npz"] = [folder / "g2p.npz"]
    nanogpt(folder / "nanogpt")
    write_sentence_transformer(folder / "reader")
    put(folder / "marian", as_bin(marian_arrays(), SETTINGS, eight_bits=True))
    put(folder / "marian-npz", b"", ".npz")
    text = np.frombuffer(SETTINGS.encode() + b"\0", np.int8)
    np.savez(folder / "marian-npz/model.npz", **marian_arrays(), **{"special:model.yml": text})
    (folder / "cells").mkdir()
    torch.save(Cells(nn.LSTM, 5, 2).state_dict(), folder / "cells/model.pt")
    (folder / "cells/vocab.txt").write_text("\n".join(["<unk>", "<eos>", *LETTERS[2:]]), encoding="utf-8")
    for name in ("nanogpt", "reader", "marian", "marian-npz", "cells"):
        found[name] = sorted(path for path in (folder / name).rglob("*") if path.is_file())
    return found


def write_sentence_transformer(folder: Path) -> None:
    """An encoder on its own, with the files that say what one vector is made by."""
    saved("bert", "BertModel", folder)
    sentence_transformer(folder, {"pooling_mode_mean_tokens": True}, "Normalize")


def broken(data: bytes, choose: random.Random) -> bytes:
    """The file with some of its bytes others, gone, or there twice; mostly at its beginning, where lengths stand."""
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 8))):
        if not changed:
            break
        near = choose.random() < 0.7
        at = choose.randrange(min(len(changed), 2000) if near else len(changed))
        what = choose.random()
        if what < 0.5:
            changed[at] = choose.choice((*NUMBERS, choose.randrange(256)))
        elif what < 0.7:
            changed[at : at + 8] = choose.choice(
                (b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x01" * 4)
            )
        elif what < 0.85:
            del changed[at : at + choose.randrange(1, 64)]
        elif what < 0.95:
            changed[at:at] = changed[at : at + choose.randrange(1, 64)]
        else:
            del changed[at:]
    return bytes(changed)


def other_value(data: bytes, choose: random.Random) -> bytes:
    """A table in which one value is another."""
    table = json.loads(data)
    if not isinstance(table, dict):
        return json.dumps(
            choose.choice((None, 1, {}, [], [1], [{"type": 1}], [{"type": "x", "path": "../.."}]))
        ).encode()
    key = choose.choice(sorted(table)) if table else "model_type"
    table[key] = choose.choice((None, -1, 0, 1, 3, 10**9, 10**30, 1.5, "", "x", [], {}, True, [[1]], {"a": 1}, "silu"))
    return json.dumps(table).encode()


def attempt(source: Path) -> str:
    """What becomes of a source: read, or refused; anything else is a mistake of ours and rises."""
    try:
        package = read_package(source)
        weights_of(package, open_package(package))
        return "read"
    except UserError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"


def fuzz(number: int, seed: int, folder: Path, limited: bool = False) -> Counter[str]:
    """Breaks each format in turn, so many times in all."""
    choose, seen = random.Random(seed), Counter[str]()
    formats = sources(folder)
    for name in formats:
        assert attempt(folder / name) == "read", name
    signal.signal(signal.SIGALRM, too_long)
    if limited:
        limit_memory()
    for turn in range(number):
        name = choose.choice(sorted(formats))
        path = choose.choice(formats[name])
        whole = path.read_bytes()
        change = other_value if path.suffix == ".json" and choose.random() < 0.5 else broken
        path.write_bytes(change(whole, choose))
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        try:
            seen[f"{name}: {attempt(folder / name)}"] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            seen[f"{name}: {type(error).__name__}"] += 1
            kept = Path(tempfile.gettempdir()) / f"fuzzed-{seed}-{turn}-{path.name}"
            kept.write_bytes(path.read_bytes())
            where = f"turn {turn} of seed {seed}: {name}, {path.name}; kept as {kept}"
            print(where, *traceback.format_exception(error), sep="\n", file=sys.stderr, flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            path.write_bytes(whole)
        seen["above a second"] += time.monotonic() - began > 1
    return seen


def too_long(signal_number: int, frame: object) -> None:
    raise TimeoutError(f"{LONGEST} seconds were not enough")


def limit_memory() -> None:
    """No more than so much above what is taken now."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST, taken + MOST))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for line, count in sorted(fuzz(int(sys.argv[1]), int(sys.argv[2]), Path(place), True).items()):
            print(f"{count:8} {line}")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")
