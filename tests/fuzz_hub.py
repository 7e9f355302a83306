"""Breaks files of other programs at random: whatever they hold, they are imported or refused in one line.

`python tests/fuzz_hub.py 100000 SEED` tries so many. A file that is neither read nor refused, takes longer than
`LONGEST`, or wants more than `MOST` bytes and `TIMES` its own size, is kept, counted and told of.
"""

import json
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zoo
from handing_out import disturbed
from safetensors.torch import load_file
from test_hub_encoders import READERS, TAGGERS, saved, sentence_transformer
from test_hub_families import CLASSIFIERS, LANGUAGE_MODELS, TRANSLATORS, save, save_classifier, save_translator
from test_hub_gguf import write_gpt2, write_llama
from test_hub_llama2c import write as write_llama2c
from test_hub_marian import SETTINGS, WORDS, as_bin, put
from test_hub_marian import arrays as marian_arrays
from test_hub_opus import ENGLISH, FRENCH, as_spm, by_hand, save_opus
from test_hub_torch import LETTERS, Cells, nanogpt
from torch import nn

from regard.errors import UserError
from regard.hub import importing
from regard.hub.families import open_package
from regard.hub.importing import shapes_of, weights_of
from regard.hub.out import export
from regard.hub.package import in_one_line
from regard.hub.reading import read_package

NUMBERS = (0, 1, 0x7F, 0x80, 0xFF)
VALUES = (None, -1, 0, 1, 3, 1000, 10**9, 10**30, 1.5, "", "x", [], {}, True, [[1]], {"a": 1}, "silu", "../x")
LONGEST = 5  # seconds of processor time
MOST, TIMES = 1 << 26, 20  # bytes that anything may take; and how often its size a file may


def sources(folder: Path) -> dict[str, list[Path]]:
    """A small file or folder of each format and family, and the files of it that are broken."""
    for name, write in writers().items():
        write(folder / name)
    found = {name: [path for path in sorted((folder / name).rglob("*")) if path.is_file()] for name in writers()}
    return {name: paths for name, paths in found.items() if paths}


def writers() -> dict[str, Callable[[Path], object]]:
    """What writes each: a family that has its tests is here by itself."""
    every: dict[str, Callable[[Path], object]] = {}
    for name in LANGUAGE_MODELS:
        every[name] = lambda folder, name=name: save(name, folder)
    for name in CLASSIFIERS:
        every[name] = lambda folder, name=name: save_classifier(name, folder)
    for name in TRANSLATORS:
        every[name] = lambda folder, name=name: save_translator(name, folder)
    for name, (kind, *_) in READERS.items():
        every[f"{name}-alone"] = lambda folder, name=name, kind=kind: saved(name, kind, folder)
    for name, kind in TAGGERS.items():
        every[f"{name}-tagger"] = lambda folder, name=name, kind=kind: saved(name, kind, folder)
    return every | {
        "opus": lambda folder: save_opus(folder, (by_hand(ENGLISH), by_hand(FRENCH))),
        "pickled": pickled,
        "in-pieces": in_pieces,
        "sentence-transformer": sentences,
        "gguf-bytes": lambda folder: in_a_folder(folder, lambda path: write_llama(path, "llama", False, "Q4_1")),
        "gguf-pieces": lambda folder: in_a_folder(folder, lambda path: write_llama(path, "llama", True, "Q8_0")),
        "gguf-qwen2": lambda folder: in_a_folder(folder, lambda path: write_llama(path, "qwen2", False, "F16")),
        "gguf-gpt2": lambda folder: in_a_folder(folder, write_gpt2),
        "gguf-neox": written_as_gguf,
        "llama2c": llama2c,
        "marian-bin": lambda folder: put(folder, as_bin(marian_arrays(), SETTINGS, eight_bits=True)),
        "marian-npz": marian_npz,
        "marian-pieces": marian_pieces,
        "g2p": g2p,
        "nanogpt": nanogpt,
        "cells": cells,
    }


def in_a_folder(folder: Path, write: Callable[[Path], object]) -> None:
    folder.mkdir()
    write(folder / "model.gguf")


def written_as_gguf(folder: Path) -> None:
    export(disturbed(folder.with_name("neox-run"), zoo.MODELS["lm-transformer-rotary"]), "gguf", folder)
    for path in folder.iterdir():
        if path.suffix != ".gguf":
            path.unlink()


def pickled(folder: Path) -> None:
    """As folders were before safetensors."""
    save("gpt2", folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def in_pieces(folder: Path) -> None:
    """Weights in several files, with an index."""
    save("llama", folder).save_pretrained(folder, max_shard_size="40KB")
    (folder / "model.safetensors").unlink()


def sentences(folder: Path) -> None:
    """An encoder on its own, with the files that say what one vector is made by."""
    saved("bert", "BertModel", folder)
    sentence_transformer(folder, {"pooling_mode_mean_tokens": True}, "Normalize")


def llama2c(folder: Path) -> None:
    folder.mkdir()
    write_llama2c(folder, True)


def marian_npz(folder: Path) -> None:
    put(folder, b"", ".npz")
    text = np.frombuffer(SETTINGS.encode() + b"\0", np.int8)
    np.savez(folder / "model.npz", **marian_arrays(), **{"special:model.yml": text})


def marian_pieces(folder: Path) -> None:
    """With a SentencePiece model, as Firefox has it."""
    put(folder, as_bin(marian_arrays(), SETTINGS))
    (folder / "tokenizer.json").unlink()
    pieces = [(word, -float(place), 2 if word == "<unk>" else 1) for place, word in enumerate(WORDS)]
    (folder / "vocab.spm").write_bytes(as_spm(pieces))


def g2p(folder: Path) -> None:
    folder.mkdir()
    cell = {"w_ih": (768, 256), "w_hh": (768, 256), "b_ih": 768, "b_hh": 768}
    shapes = {f"{side}_{part}": shape for side in ("enc", "dec") for part, shape in cell.items()}
    shapes |= {"enc_emb": (29, 256), "dec_emb": (74, 256), "fc_w": (74, 256), "fc_b": 74}
    np.savez(folder / "g2p.npz", **{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


def cells(folder: Path) -> None:
    folder.mkdir()
    torch.save(Cells(nn.LSTM, 5, 2).state_dict(), folder / "model.pt")
    (folder / "vocab.txt").write_text("\n".join(["<unk>", "<eos>", *LETTERS[2:]]), encoding="utf-8")


def place_of(folder: Path) -> Path:
    """What is named to be imported: a folder, or the file in it where a folder says nothing."""
    names = {"llama2c": "model.bin", "g2p": "g2p.npz"}
    return folder / names.get(folder.name, "")


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
    """A table in which one value is another, or is gone, wherever it stands."""
    return json.dumps(_other(json.loads(data), choose)).encode()


def _other(value: Any, choose: random.Random) -> Any:
    if not isinstance(value, dict | list) or not value or choose.random() < 0.05:
        return choose.choice(VALUES)
    keys = sorted(value) if isinstance(value, dict) else range(len(value))
    key = choose.choice(keys)
    if choose.random() < 0.1:
        del value[key]
    elif choose.random() < 0.5:
        value[key] = choose.choice(VALUES)
    else:
        value[key] = _other(value[key], choose)
    return value


def other_header(data: bytes, choose: random.Random) -> bytes:
    """The same of the head of a .safetensors file, with its length put right."""
    (length,) = struct.unpack("<Q", data[:8])
    header = other_value(data[8 : 8 + length], choose)
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


STRUCTURED = {".json": other_value, ".safetensors": other_header}


def attempt(source: Path) -> str:
    """What becomes of a source: read, or refused; anything else is a mistake of ours and rises."""
    try:
        with in_one_line():
            package = read_package(source)
            for read in weights_of(package, open_package(package)).values():
                read()
        return "read"
    except UserError as error:
        return "refused" if str(error).isprintable() and len(str(error)) <= 1000 else "refused in several lines"


def fuzz(number: int, seed: int, folder: Path, formats: dict[str, list[Path]], limited: bool = False) -> Counter[str]:
    """Breaks files of these `sources` of the folder, so many times in all; each is whole again behind that."""
    choose, seen = random.Random(seed), Counter[str]()
    importing.shapes_of = lru_cache(shapes_of)  # most files are of a model that was there before
    for name in formats:
        assert attempt(place_of(folder / name)) == "read", name
    sizes = {name: sum(path.stat().st_size for path in paths) for name, paths in formats.items()}
    signal.signal(signal.SIGPROF, too_long)
    for turn in range(number):
        name = choose.choice(sorted(formats))
        path = choose.choice(formats[name])
        whole = path.read_bytes()
        structured = STRUCTURED.get(path.suffix)
        change = structured if structured and choose.random() < 0.5 else broken
        path.write_bytes(change(whole, choose))
        began = time.process_time()
        if limited:
            limit_memory(MOST + TIMES * sizes[name])
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            seen[f"{name}: {attempt(place_of(folder / name))}"] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            seen[f"{name}: {type(error).__name__}"] += 1
            kept = Path(tempfile.gettempdir()) / f"fuzzed-{seed}-{turn}"
            shutil.copytree(folder / name, kept)
            where = f"turn {turn} of seed {seed}: {name}, {path.name}; kept as {kept}"
            print(where, *traceback.format_exception(error), sep="\n", file=sys.stderr, flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            path.write_bytes(whole)
        seen["above a second"] += time.process_time() - began > 1
    importing.shapes_of = shapes_of
    return seen


def too_long(signal_number: int, frame: object) -> None:
    raise TimeoutError(f"{LONGEST} seconds were not enough")


def limit_memory(more: int) -> None:
    """No more than so many bytes above what is taken now."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + more, resource.RLIM_INFINITY))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        number, seed, folder = int(sys.argv[1]), int(sys.argv[2]), Path(place)
        for line, count in sorted(fuzz(number, seed, folder, sources(folder), limited=True).items()):
            print(f"{count:8} {line}")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")
