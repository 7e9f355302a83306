# ruff: noqa: E501
"""Breaks the code in ways that have happened to others, and shows which tests notice: python tests/break_on_purpose.py

Words after the command choose the mutants whose names have one of them. Each mutant is one edit in a copy of the package. A mutant that no test catches makes this script fail.
A dozen failures are enough to know a mutant by: the tests behind them are not run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# name: file, the code as it is, the code as it is broken
MUTANTS = {
    "drop the causal mask": ("layers/block.py", "    causal = True", "    causal = False"),
    "drop it while somebody listens": ("layers/history.py", "if not self.causal:", "if True:"),
    "a causal mask that forgets what was fed before": ("layers/history.py", "order[:, None] >= order", "order[:, None] == order"),
    "swap the LSTM's states": ("layers/recurrent.py", "return y, (h[0], c[0])", "return y, (c[0], h[0])"),
    "write into a state in place": (
        "layers/state.py",
        "newest = self._filled[0] == self._length",
        "newest = True",
    ),
    "write into a cell in place": (
        "layers/recurrent.py",
        "c = self.cells.at_one_position(f * c + i * g)",
        "c = self.cells.at_one_position(c.data.mul_(f.data) * 1 + i * g)",
    ),
    "masked score 0 instead of −∞": ("layers/attention.py", "masked_fill(mask.masked, -math.inf)", "masked_fill(mask.masked, 0.0)"),
    "forget keep in attention": ("layers/history.py", "return own if keep is None else", "return own if True else"),
    "forget keep of the source": ("layers/history.py", "None if keep is None else keep[:, None, None, :]", "None"),
    "forget keep when the memory grows": ("layers/history.py", "if before is None:", "if True:"),
    "beams that see each other's tokens": ("layers/history.py", "torch.eye(self.group_size, dtype", "torch.ones(self.group_size, self.group_size, dtype"),
    "beams that forget to reorder their past": ("layers/history.py", "kept.flatten(0, 1).index_select(0, rows.flat)", "kept.flatten(0, 1)[: len(rows.flat)]"),
    "a search that reorders tokens but not states": ("decode/beam.py", "select(state, kept.view(rows.shape))", "select(state, (torch.arange(len(kept)) if len(kept) == len(scores) else kept).view(rows.shape))"),
    "a search that ends too early": ("decode/beam.py", "longest = max(search.length(made + 1), search.length(limit))", "longest = search.length(made)"),
    "a search that never reads a finished answer's place": ("decode/beam.py", "width - len(found[line].hypotheses)", "width"),
    "padding moves positions": ("layers/history.py", "counted = keep.cumsum(1)", "counted = keep.new_ones(keep.shape).cumsum(1)"),
    "forget keep in recurrence": ("layers/recurrent.py", "order = kept_first(keep)", "order = torch.arange(keep.shape[1]).expand_as(keep)"),
    "let the LSTM's cell run on into padding": ("layers/recurrent.py", "HOLD = 1e4", "HOLD = 0.0"),
    "a softmax over the wrong axis": ("layers/attention.py", "-math.inf), -1)", "-math.inf), -2)"),
    "forget to scale while somebody listens": (
        "layers/attention.py",
        "return product(queries * self.scale, keys.transpose(-1, -2))",
        "return product(queries, keys.transpose(-1, -2))",
    ),
    "forget to reorder part of a state": ("layers/state.py", "return state.select(rows)", "return state"),
    "the wrong half turned": ("layers/position.py", "right * cos + left * sin", "right * cos - left * sin"),
    "read backwards without turning back": ("layers/recurrent.py", "z.flip(1)], -1)", "z], -1)"),
    "attend with the new state instead of the last": (
        "layers/context.py",
        "query = self.decoder.last_hidden(cells)[:, None]",
        "query = self.decoder.last_hidden(self.decoder(torch.cat([x[:, t:t+1], x[:, t:t+1].new_zeros(len(x), 1, "
        "self.decoder.layers[0].W_hx.in_features - x.shape[2])], -1), None, cells)[1])[:, None]",
    ),
    "pool over padding": ("layers/pooling.py", "kept.sum(1).clamp(min=1)", "kept.shape[1]"),
    "tag padding": ("models/tagger.py", "order = kept_first(keep)", "order = torch.arange(keep.shape[1]).expand_as(keep)"),
    "forget how many were tagged": ("models/tagger.py", "state._replace(asked=asked)", "state"),
}  # fmt: skip
TESTS = ["tests/test_laws.py", "tests/test_references.py", "tests/test_attention.py", "tests/test_state.py", "tests/test_taps.py", "tests/test_positions.py", "tests/test_beam.py"]  # fmt: skip


def failures(folder: Path) -> list[str]:
    """Which tests fail in that copy, by name without their parameters."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "--tb=no", "--maxfail=12", *TESTS],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    found = re.findall(r"^FAILED tests/(\w+)\.py(?:::(\w+))?", run.stdout, re.MULTILINE)
    return [f"{file}::{test}" if test else file for file, test in found]


def main(words: list[str]) -> int:
    unnoticed = []
    assert not failures(ROOT), "the tests must pass before anything is broken"
    chosen = {name: mutant for name, mutant in MUTANTS.items() if not words or any(word in name for word in words)}
    for name, (file, right, wrong) in chosen.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for part in ("regard", "tests", "pyproject.toml"):
                copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
                copy(ROOT / part, folder / part)
            source = folder / "regard" / file
            text = source.read_text()
            assert right in text, f"the mutant '{name}' no longer fits {file}: {right}"
            source.write_text(text.replace(right, wrong, 1))
            failed = failures(folder)
        by_test = {test: failed.count(test) for test in dict.fromkeys(failed)}
        print(f"{name}\n  " + ("\n  ".join(f"{n:>3} × {t}" for t, n in by_test.items()) or "NOT NOTICED"), flush=True)
        if not failed:
            unnoticed.append(name)
    print(f"{len(chosen) - len(unnoticed)} of {len(chosen)} noticed", *unnoticed, sep="\n  ")
    return bool(unnoticed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
