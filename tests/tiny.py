"""Small data, small models and short recipes: a whole training takes about a second."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load_file

from regard.config import (
    Classifier,
    Data,
    LanguageModel,
    ModelConfig,
    Recipe,
    Recurrent,
    Seq2Seq,
    Tagger,
    Text,
    Train,
    Transformer,
)
from regard.disk import write_tensors
from regard.folder import Folder
from regard.models.build import build
from regard.text import Tokenizer, save

ROOT = Path(__file__).parent.parent
PATIENCE = 300  # seconds to wait for another process before all is lost: machines are busy, and nothing is timed here
TIMES = ("seconds", "tokens_per_second")  # of a log's entry: what may differ between two equal trainings
CELLS = {kind: Recurrent(kind, width=12, layers=2, dropout=0.1) for kind in ("rnn", "lstm", "gru")}
BLOCKS = Transformer(width=16, layers=1, heads=2, dropout=0.1)
MODELS = {
    **{f"lm-{kind}": LanguageModel(layer) for kind, layer in CELLS.items()},
    "lm-transformer": LanguageModel(BLOCKS),
    **{f"seq2seq-{kind}-attention": Seq2Seq(layer, layer) for kind, layer in CELLS.items()},
    "seq2seq-transformer": Seq2Seq(BLOCKS, BLOCKS),
    "seq2seq-transformer-deep": Seq2Seq(*[Transformer(width=16, layers=2, heads=2, dropout=0.1)] * 2),
    "classifier-lstm": Classifier(CELLS["lstm"]),
    "classifier-transformer": Classifier(BLOCKS, pooling="stop"),
    "tagger-rnn": Tagger(CELLS["rnn"]),
    "tagger-transformer": Tagger(BLOCKS),
}


def write_text(folder: Path, lines: int = 150) -> Path:
    """A text with something to learn: numbers count up, and sentences repeat their words."""
    path = folder / "tides.txt"
    said = ("the tide comes in", "the tide goes out", "a boat lies on the sand")
    path.write_text("".join(f"day {n}: {said[n % 3]}, and {said[n % 2]}.\n" for n in range(lines)), encoding="utf-8")
    return path


def write_pairs(folder: Path, count: int = 200) -> Path:
    """Words and the same words backwards; some sources come twice."""
    path = folder / "backwards.tsv"
    choose = random.Random(0)
    lines = []
    for _ in range(count):
        words = choose.choices(("one", "two", "three", "four"), k=choose.randint(1, 4))
        lines.append(f"{' '.join(words)}\t{' '.join(reversed(words))}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_labels(folder: Path, count: int = 200) -> Path:
    """Numbers in words, called by the one that comes first."""
    path = folder / "first.labels"
    choose = random.Random(0)
    rows = [choose.choices(("one", "two", "three", "four"), k=choose.randint(1, 5)) for _ in range(count)]
    path.write_text("".join(f"{words[0]}\t{' '.join(words)}\n" for words in rows), encoding="utf-8")
    return path


def write_tags(folder: Path, count: int = 200) -> Path:
    """Numbers in words, each odd or even."""
    path = folder / "odd.tags"
    choose = random.Random(0)
    rows = [choose.choices(("one", "two", "three", "four"), k=choose.randint(1, 5)) for _ in range(count)]
    tagged = ["".join(f"{word}\t{'odd' if word in ('one', 'three') else 'even'}\n" for word in row) for row in rows]
    path.write_text("\n".join(tagged), encoding="utf-8")
    return path


WRITERS = {"lm": write_text, "seq2seq": write_pairs, "classifier": write_labels, "tagger": write_tags}


def recipe(folder: Path, name: str, **settings: Any) -> Recipe:
    """How to train the model of that name on data written to the folder."""
    kind = name.partition("-")[0]
    where, pairs = WRITERS[kind](folder), kind != "lm"
    usual = {"steps": 20, "evaluate": 8, "checkpoint": 3, "batch": 160, "length": 16, "rate": 0.01, "warmup": 4}
    usual["mixed_precision"] = "float32"  # sums are compared to rounding, on every machine
    return Recipe(
        Data(str(where), share=0.2 if pairs else 0.1),
        model=MODELS[name],
        text=Text("words" if pairs else "characters"),
        train=Train(**{**usual, **settings}),
    )


def untrained(folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> Path:
    """A run as it is before its first step, which reads and writes the same tokens."""
    run = Folder(folder)
    run.path.mkdir()
    run.write_config(Recipe(Data("nowhere"), model=config))
    save(tokenizer, run.tokenizer)
    torch.manual_seed(0)
    source = None if isinstance(config, LanguageModel) else tokenizer.vocabulary
    write_tensors(run.weights, dict(build(config, tokenizer.vocabulary, source).state_dict()))
    return run.path


def environment() -> dict[str, str]:
    """Of a second process: this package, one thread."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def command(*words: object) -> list[str]:
    """The words of `regard …` in a second process."""
    return [sys.executable, "-m", "regard", *map(str, words)]


def in_another_process(*words: object) -> subprocess.CompletedProcess[str]:
    return _run(command(*words))


def in_two_processes(*words: object, program: Sequence[object] = ("-m", "regard")) -> subprocess.CompletedProcess[str]:
    """The same under torch's launcher."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return _run([*launcher, *map(str, program), *map(str, words)])


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, err = process.communicate(timeout=2 * PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()  # a launcher ends its workers, where a kill would leave them behind
            out, err = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def log_of(path: Path) -> list[dict[str, Any]]:
    """A run's log without the times in it."""
    return [{k: v for k, v in entry.items() if k not in TIMES} for entry in Folder(path).read_log()]


def differences(one: Path, other: Path) -> list[str]:
    """In what two runs differ, bit by bit: nothing, if one went on exactly where it stopped."""
    found = [] if log_of(one) == log_of(other) else ["log.jsonl"]
    for name in ("model.safetensors", "checkpoint.safetensors"):
        here, there = load_file(one / name), load_file(other / name)
        if here.keys() != there.keys():
            found.append(f"{name}: other tensors")
        found += [f"{name}: {key}" for key in here if key in there and here[key].tobytes() != there[key].tobytes()]
    return found
