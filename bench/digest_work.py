"""The work whose results bench.digests compares: run inside one tree, it leaves every result in one file.

It asks little of the tree: its command line, its `tests/zoo.py`, `build`, `start`, `forward`, `step`, `trace`. Where a
word of the command line has changed, both are tried: "--save|--json". Recipes are those of the older tree, with all
settings written out.
"""

import hashlib
import importlib
import itertools
import json
import os
import pkgutil
import random
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from safetensors.numpy import load_file

Item = dict[str, np.ndarray]  # what is compared as one: tensors by name, or {"text": …}
KINDS = {"lm": "text", "seq2seq": "pairs", "transducer": "pairs", "classifier": "labels", "tagger": "tags",
         "caption": "captions"}  # fmt: skip
THOROUGH = {  # name: the model, more settings of [train], in the spelling of the older tree
    "text-lstm": ("lm-lstm", {}),
    "text-transformer": ("lm-transformer-rotary", {"optimiser": "muon", "rate": 0.004, "accumulate": 2}),
    "pairs-lstm": ("seq2seq-bilstm-additive", {"metric": "bleu", "student": 0.25}),
    "pairs-transformer": ("seq2seq-transformer", {"metric": "exact", "schedule": "inverse-square-root"}),
    "pairs-transducer": ("transducer-bilstm", {"schedule": "constant", "average_of": "best"}),
    "labels": ("classifier-bilstm-attention", {"metric": "macro_f1"}),
    "tags": ("tagger-bilstm", {"metric": "accuracy"}),
    "captions": ("caption-lstm-bilinear", {"metric": "cider"}),
}
TRAIN = {"steps": 12, "batch": 160, "length": 16, "accumulate": 1, "optimiser": "adamw", "rate": 0.01, "warmup": 4,
         "schedule": "cosine", "decay": 0.05, "momentum": 0.98, "clip": 1.0, "smoothing": 0.1, "student": 0.0,
         "evaluate": 4, "checkpoint": 4, "metric": "loss", "patience": 0, "average": 2, "average_of": "last", "seed": 3,
         "device": "cpu", "precision": "float32"}  # fmt: skip
TIMES = ("seconds", "tokens_per_second")
LINES = {"text": "day 7: the tide\na boat lies\n", "pairs": "one two three\nfour four one\nthree\n",
         "labels": "two one\nthree four one\n", "tags": "two one\nthree four one\n"}  # fmt: skip
SCORED = {"text": LINES["text"], "pairs": "one two three\tthree two one\nfour one\tone four\n"}


def main(tables: Path, workspace: Path, kept: Path) -> None:
    """Works in `workspace`; `kept` has, or gets, the run folders that the older tree made."""
    os.chdir(workspace)
    load_everything()
    write_data()
    recipes: dict[str, Any] = json.loads(tables.read_text())
    found: dict[str, Item] = {}
    for name, (model, settings) in THOROUGH.items():
        found |= trained(f"run/{name}", recipes[model], TRAIN | settings, kind_of(model), kept)
    for name, table in recipes.items():
        found |= trained(f"zoo/{name}", table, TRAIN | {"steps": 2, "evaluate": 2, "average": 1}, kind_of(name))
    found |= corpora()
    found |= in_python()  # last: a process that has computed is not one to fork
    np.savez("found.npz", **{f"{item}\t{key}": value for item, one in found.items() for key, value in one.items()})


def load_everything() -> None:
    """So that forks need not."""
    import regard

    for module in pkgutil.walk_packages(regard.__path__, "regard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def write_tables(path: Path) -> None:
    """Every model of the zoo as a [model] section."""
    import zoo

    from regard.config import to_table

    path.write_text(json.dumps({name: to_table(config) for name, config in zoo.MODELS.items()}))


def kind_of(model: str) -> str:
    return KINDS[model.partition("-")[0]]


# ---- data


def write_data() -> None:
    """A little of every kind, with something in it to learn."""
    from PIL import Image

    choose, numbers = random.Random(0), ("one", "two", "three", "four")
    said = ("the tide comes in", "the tide goes out", "a boat lies on the sand")
    rows = [choose.choices(numbers, k=choose.randint(1, 5)) for _ in range(80)]
    files = {
        "text.txt": "".join(f"day {n}: {said[n % 3]}, and {said[n % 2]}.\n" for n in range(80)),
        "pairs.tsv": "".join(f"{' '.join(row)}\t{' '.join(reversed(row))}\n" for row in rows),
        "labels.tsv": "".join(f"{row[0]}\t{' '.join(row)}\n" for row in rows),
        "tags.tsv": "\n".join("".join(f"{w}\t{'odd' if w in 'one three' else 'even'}\n" for w in row) for row in rows),
        "captions.tsv": "".join(f"{n}.png#0\tit is {n % 3} .\n{n}.png#1\tall {n % 3}\n" for n in range(16)),
    }
    for name, content in files.items():
        Path(name).write_text(content)
    for n in range(16):
        pixels = np.arange(20 * 30 * 3).reshape(20, 30, 3) * (n + 1) % 256
        Image.fromarray(pixels.astype(np.uint8)).save(f"{n}.png")


def recipe(model: dict[str, Any], train: dict[str, Any], kind: str) -> dict[str, Any]:
    where = "text.txt" if kind == "text" else f"{kind}.tsv"
    return {
        "data": {"train": where, "kind": kind, "share": 0.2, "longest": 24},
        "text": {"kind": "characters" if kind == "text" else "words", "shared": False, "lower": False},
        "pictures": {"side": 16, "flip": True} if kind == "captions" else {},
        "model": model,
        "train": train,
    }


# ---- the command line


def regard(*words: str, given: str = "") -> tuple[int, str]:
    """Exit code and output of `regard …`, in a fork: torch is there already, and nothing stays behind."""
    Path("in").write_text(given)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            for number, (name, flags) in enumerate([("in", os.O_RDONLY), ("out", os.O_RDWR), ("err", os.O_RDWR)]):
                os.dup2(os.open(name, flags | (os.O_CREAT | os.O_TRUNC if number else 0), 0o644), number)
            from regard.cli import main as command

            code = command(list(words))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 70
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, Path("out" if code == 0 else "err").read_text()


def asked(command: str, given: str = "") -> str:
    """What a command says. Where a word has changed it stands as "new|old", and one is understood; ~ is a blank."""
    said = ""
    for words in itertools.product(*(word.split("|") for word in command.split(" "))):
        code, text = regard(*(word.replace("~", " ") for word in words), given=given)
        if code == 0:
            return text
        said = said or f"{' '.join(words)}: exit code {code}: {text.strip().splitlines()[-1:]}"
    return said


def text(content: str) -> Item:
    return {"text": np.array(content)}


def saved(command: str, name: str) -> Item:
    """What a command that ends in the name of a file writes there, whatever its format; or else what it says."""
    path = Path(name)
    path.unlink(missing_ok=True)
    said = asked(f"{command} {name}".replace("  ", " "))
    if not path.exists():
        return text(said)
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return dict(arrays)
    return load_file(path) if path.suffix == ".trace" else text(path.read_text())


def trained(
    name: str, model: dict[str, Any], train: dict[str, Any], kind: str, kept: Path | None = None
) -> dict[str, Item]:
    """A training, and all that can be asked of what came out of it."""
    run = name.replace("/", "-")
    Path(f"{run}.toml").write_text(tomli_w.dumps(recipe(model, train, kind)))
    said = asked(f"train {run}.toml --run {run}")
    if not Path(run, "model.safetensors").exists():
        return {f"{name}/train": text(said)}
    found = of_training(run, f"{name}/train")
    if kept:
        if not (kept / run).exists():
            shutil.copytree(run, kept / run)
        for start, what in ((Path(run), "go on"), (kept / run, "go on from the old tree's folder")):
            Path(run).rename("aside")
            shutil.copytree("aside" if start == Path(run) else start, run)
            asked(f"train {run} --train.steps 16")
            found |= of_training(run, f"{name}/{what}")
            shutil.rmtree(run)
            Path("aside").rename(run)
        asked(f"train {run} --train.steps 16")
    for what, result in ASK[kind](run, kept is not None):
        found[f"{name}/{what}"] = text(result) if isinstance(result, str) else result
    return found


def of_training(run: str, name: str) -> dict[str, Item]:
    """Weights, checkpoint, log without times."""
    entries = map(json.loads, Path(run, "log.jsonl").read_text().splitlines())
    untimed = ({key: value for key, value in entry.items() if key not in TIMES} for entry in entries)
    log = "".join(json.dumps(entry, sort_keys=True) + "\n" for entry in untimed)
    parts = {part: load_file(Path(run, f"{part}.safetensors")) for part in ("model", "checkpoint")}
    return {f"{name}: {part}": one for part, one in (parts | {"log": text(log)}).items()}


Asked = Iterable[tuple[str, str | Item]]


def each(run: str, commands: dict[str, str], given: str) -> Asked:
    for what, options in commands.items():
        command, *words = options.split(" ")
        yield what, asked(" ".join([command, run, *words]), given)


def looked(run: str, what: str, views: Iterable[str]) -> Asked:
    """`look --save` in every format that holds figures."""
    for view in views:
        for ending in ("json", "npz", "csv"):
            yield f"look --save {ending} {view}".strip(), saved(f"look {run} {what} {view} --save", f"view.{ending}")
    yield "look --save trace", by_value(saved(f"look {run} {what} --exact --save", "all.trace"))


def of_text(run: str, thorough: bool) -> Asked:
    samplers = {"argmax": "--choose argmax", "sample": "--seed 5 --number|--n 2", "beam": "--choose beam --beam 3"}
    if thorough:
        samplers |= {
            "top k": "--top-k 5 --temperature 0.7",
            "top p": "--top-p 0.8 --seed 1",
            "min p": "--min-p 0.1 --seed 2 --stop day",
            "rules": "--repetition-penalty 1.5 --no-repeat 3",
            "int8": "--precision int8 --choose argmax",
        }
    writing = "write --prompt day~1 --length 24"
    yield from each(run, {f"write, {name}": f"{writing} {options}" for name, options in samplers.items()}, "")
    yield from each(run, {"score": "score - --tokens", "evaluate": "evaluate --json"}, SCORED["text"])
    if not thorough:
        return
    finding = f"find {run} --data text.txt --property digits position_in_line --shifts 20 --seed 1"
    yield "find", saved(f"{finding} --save|--json", "found.json")
    views = ["--view text", "--view gradients", *(["--view map", "--view heads"] if "transformer" in run else [])]
    yield from looked(run, "day~3:~the~tide", views)
    if "transformer" in run:
        yield "heads", saved(f"heads {run} --number|--texts 10 --save|--json", "heads.json")


def of_pairs(run: str, thorough: bool) -> Asked:
    commands = {"argmax": "--beam 1 --min-length 3", "beam": "--beam 4 --n-best 3"}
    if thorough:
        commands |= {
            "scores": "--scores",
            "words that must and must not be": "--must two --never four --prefix one",
            "lengths": "--min-length 3 --max-length 5 --no-repeat 2 --length-penalty average",
            "int8": "--precision int8 --min-length 3",
            "alignments": "--alignments json",
        }
    yield from each(run, {f"translate, {name}": f"translate - {o}" for name, o in commands.items()}, LINES["pairs"])
    yield from each(run, {"score": "score - --tokens", "evaluate": "evaluate --json --beam 2"}, SCORED["pairs"])
    if not thorough:
        return
    yield from each(run, {"align": "align -", "align, as JSON": "align - --fed --json"}, SCORED["pairs"])
    yield from looked(run, "one~two~three", ["--view map", "--view beam", "--view text"])
    if "pairs-transformer" in run:
        yield "heads", saved(f"heads {run} --number|--texts 10 --save|--json", "heads.json")
        other = run.replace("transformer", "lstm")
        yield "ensemble", asked(f"translate {run} - --ensemble {other} --beam 3 --scores", LINES["pairs"])


def of_labels(run: str, thorough: bool) -> Asked:
    commands = {"classify": "classify - --all", "evaluate": "evaluate --json"}
    if thorough:
        commands |= {"classify, weights": "classify - --weights", "classify, JSON": "classify - --json"}
    yield from each(run, commands, LINES["labels"])
    if thorough:
        yield from looked(run, "two~one", ["", "--view text"])


def of_tags(run: str, thorough: bool) -> Asked:
    yield from each(run, {"tag": "tag -", "tag, JSON": "tag - --json", "evaluate": "evaluate --json"}, LINES["tags"])
    if thorough:
        yield from looked(run, "two~one", ["--view text"])


def of_captions(run: str, thorough: bool) -> Asked:
    commands = {"caption, beam": "caption 0.png 5.png --n-best 3", "evaluate": "evaluate --json"}
    if thorough:
        commands["caption, argmax"] = "caption 0.png --beam 1 --json"
        commands["caption, int8"] = "caption 1.png --precision int8 --min-length 3"
    yield from each(run, commands, "")
    if thorough:
        yield from looked(run, "0.png", ["--view map", "--view beam"])


ASK: dict[str, Callable[[str, bool], Asked]] = {
    "text": of_text, "pairs": of_pairs, "labels": of_labels, "tags": of_tags, "captions": of_captions
}  # fmt: skip


# ---- from Python


def in_python() -> dict[str, Item]:
    """Every model of the zoo: what it is made of, what it says, what teaches it, what its taps see."""
    import torch
    import zoo

    from regard.models.build import build

    found: dict[str, Item] = {}
    for name, config in zoo.MODELS.items():
        torch.manual_seed(1)
        new = build(config, zoo.VOCABULARY, zoo.SOURCE_VOCABULARY if name in zoo.READS_A_SOURCE else None)
        found[f"zoo/{name}/first weights"] = arrays(new.state_dict())
        for dtype in (torch.float64, torch.float32):
            results = passes(zoo, name, dtype)
            found |= {f"zoo/{name}/{what}, {str(dtype).removeprefix('torch.')}": one for what, one in results.items()}
    return found


def passes(zoo: Any, name: str, dtype: Any) -> dict[str, Item]:
    import torch

    from regard import trace

    model = zoo.make(name, dtype)
    torch.manual_seed(2)
    tokens = zoo.tokens(3, 6)
    real = None if name in zoo.CAPTIONERS else torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]).bool()
    source = zoo.source_for(name, 3, real)
    state = model.start(source, batch=3)
    with torch.no_grad():
        whole, _ = model(tokens, state)
        padded, _ = model(tokens, state, torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6, [0, 1, 1, 1, 1, 1]]).bool())
        steps = []
        for t in range(6):
            step, state = model.step(tokens[:, t], state)
            steps.append(step)
        with trace(model) as seen:
            model(tokens, model.start(source, batch=3))
    model.train()
    torch.manual_seed(3)
    scores, _ = model(tokens, model.start(source, batch=3))
    (scores * torch.randn_like(scores)).sum().backward()
    gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
    results = {"scores": {"all": whole, "padded": padded}, "steps": {"all": torch.stack(steps)}, "gradients": gradients}
    return {what: arrays(one) for what, one in results.items()} | {
        "traced": by_value(arrays({path: seen[path] for path in seen}))
    }


def corpora() -> dict[str, Item]:
    """What the built-in corpora begin with."""
    from regard.data.corpora.registry import CORPORA

    found = {}
    for name, corpus in CORPORA.items():
        try:
            examples = [written(one) for one in itertools.islice(corpus.read("valid"), 100)]
        except Exception as error:  # an extra that is not installed
            examples = [f"{type(error).__name__}: {error}"]
        found[f"corpus/{name}"] = text("\n".join(examples))
    return found


def written(example: Any) -> str:
    """An example as text: its fields, pixels as their digest, pieces joined."""
    if isinstance(example, np.ndarray):
        return digest(example)
    if isinstance(example, tuple):
        return "\t".join(map(written, example))
    return "".join(example) if hasattr(example, "__next__") else repr(example)


def arrays(values: dict[str, Any]) -> Item:
    return {key: value.detach().numpy() for key, value in values.items()}


def by_value(values: Item) -> Item:
    """Called by what they hold instead of their paths, which may change; in the order of these."""
    found: Item = {}
    for _, value in sorted(values.items()):
        name = digest(value)
        found[f"{name} {sum(key.startswith(name) for key in found)}"] = value
    return found


def digest(value: np.ndarray) -> str:
    return hashlib.sha256(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()).hexdigest()


if __name__ == "__main__":
    (main if len(sys.argv) > 2 else write_tables)(*map(Path, sys.argv[1:]))
