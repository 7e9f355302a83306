"""Does a change that is only a move leave every bit as it was? python -m bench.digests OLD [NEW] [--keep FOLDER]

OLD and NEW are folders with a checkout, or git revisions; NEW is this tree where it is left out. Both do the same work
(bench.digest_work), and whatever comes out is compared by its SHA-256: weights, scores, gradients, taps, beams,
samples, trainings and what every command says. With --keep the older tree's results stay there, to be found there next
time.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.digest_work import Item, digest

ROOT = Path(__file__).parent.parent
ALONE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new", nargs="?", default=str(ROOT))
    parser.add_argument("--keep", type=Path, help="folder for what the older tree gave, to save half of the time")
    known = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, checked_out(known.old) as old, checked_out(known.new) as new:
        before = known.keep or Path(folder, "before")
        if not (before / "old/found.npz").exists():
            work(old, before, "old")
        here, there = results(before / "old"), results(work(new, before, "new", Path(folder, "after")))
    counts: Counter[str] = Counter()
    for name in here | there:
        verdict = compared(here.get(name), there.get(name))
        counts[verdict.partition(":")[0]] += 1
        print(f"{name:<70} {verdict}")
    print(f"\n{len(here | there)} results: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    return int(set(counts) != {"equal"})


@contextmanager
def checked_out(tree: str) -> Iterator[Path]:
    """A folder with that tree, which may be a revision of this one."""
    if Path(tree, "regard").is_dir():
        yield Path(tree).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, tree], cwd=ROOT, check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def work(tree: Path, before: Path, name: str, folder: Path | None = None) -> Path:
    """Has a tree do the work; recipes and kept run folders are the older one's."""
    place = (folder or before) / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    paths = os.pathsep.join(map(str, (tree, tree / "tests")))
    environment = os.environ | ALONE | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", str(Path(__file__).with_name("digest_work.py"))]  # -P: bench/ is not on the path
    if folder is None:
        subprocess.run([*command, str(before / "tables.json")], env=environment, check=True)
    subprocess.run(
        [*command, str(before / "tables.json"), str(place), str(before / "kept")], env=environment, check=True
    )
    return place


def results(folder: Path) -> dict[str, Item]:
    found: dict[str, Item] = {}
    with np.load(folder / "found.npz") as saved:
        for name in saved:
            item, _, key = name.partition("\t")
            found.setdefault(item, {})[key] = saved[name]
    return found


def compared(old: Item | None, new: Item | None) -> str:
    """equal, different with the largest difference, or only in one tree."""
    if old is None or new is None:
        return f"only in the {'newer' if old is None else 'older'} tree"
    here = {key: value for key, value in old.items() if key not in new or digest(new[key]) != digest(value)}
    there = {key: value for key, value in new.items() if key not in old or digest(old[key]) != digest(value)}
    if not here and not there:
        return "equal"
    if here.keys() == there.keys() == {"text"}:
        return f"different: {in_texts(str(here['text']), str(there['text']))}"
    pairs = [(key, here.pop(key), there.pop(key)) for key in list(here) if key in there]
    pairs += [(key, here.pop(key), there.pop(other)) for key, other in zip(list(here), list(there), strict=False)
              if here[key].shape == there[other].shape]  # fmt: skip
    said = [f"{len(pairs)} of {len(old)} tensors ({pairs[0][0]} …), {largest(pairs)}"] if pairs else []
    said += [f"only older: {', '.join(list(here)[:3])}"] if here else []
    said += [f"only newer: {', '.join(list(there)[:3])}"] if there else []
    return f"different: {'; '.join(said)}"


def largest(pairs: list[tuple[str, np.ndarray, np.ndarray]]) -> str:
    if any(old.shape != new.shape or old.dtype.kind in "US" for _, old, new in pairs):
        return "of other shapes"
    with np.errstate(invalid="ignore"):
        found = [np.nanmax(np.abs(np.subtract(old, new, dtype=float)), initial=0) for _, old, new in pairs]
    return f"largest difference {max(found):.1e}"


def in_texts(old: str, new: str) -> str:
    """By how much the numbers differ, or else the first line that does."""
    if NUMBER.sub("#", old) == NUMBER.sub("#", new):
        numbers = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
        return f"largest difference {max(abs(float(a) - float(b)) for a, b in numbers):.1e}"
    lines = zip([*old.splitlines(), ""], [*new.splitlines(), ""], strict=False)
    return next((f"'{a[:60]}' → '{b[:60]}'" for a, b in lines if a != b), "line ends")


if __name__ == "__main__":
    sys.exit(main())
