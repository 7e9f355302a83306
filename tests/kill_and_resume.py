"""Kills trainings without warning, at random moments, and shows that they end as if nothing had happened.

    python tests/kill_and_resume.py [--kills 20] [--seed 0] [FAMILY …]

Each family trains once in one piece, and once more with `kill -9` again and again. The weights, the optimiser's memory
and the log must be the same to the last bit. The script fails where they are not, or where a training came to its end
before the last kill.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tiny
import tomli_w

from regard.config import to_table
from regard.folder import Folder
from regard.training.checkpoint import load_checkpoint

FAMILIES = [f"lm-{kind}" for kind in ("rnn", "lstm", "transformer")] + [
    "seq2seq-rnn-attention",
    "seq2seq-lstm-attention",
    "seq2seq-transformer",
]
EVERY = 5  # updates between checkpoints


@dataclass(frozen=True)
class Result:
    """What became of one family."""

    family: str
    kills: int
    in_a_write: int  # kills that left a file half-written, which the next start swept away
    places: list[int]  # the step of the last checkpoint at each kill
    differences: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=FAMILIES, metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    choose = random.Random(asked.seed)
    began, wrong = time.monotonic(), 0
    print(f"{'family':<24} {'kills':>5} {'in a write':>10}  {'equal':<5}  at steps")
    for family in asked.families:
        with tempfile.TemporaryDirectory() as folder:
            result = torment(Path(folder), family, asked.kills, choose)
        equal = not result.differences
        wrong += not equal or result.kills < asked.kills
        places = " ".join(map(str, result.places))
        print(f"{family:<24} {result.kills:>5} {result.in_a_write:>10}  {'yes' if equal else 'NO':<5}  {places}")
        for difference in result.differences:
            print(f"    differs: {difference}")
        sys.stdout.flush()
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def torment(folder: Path, family: str, kills: int, choose: random.Random) -> Result:
    """Trains a family in one piece, then killed so many times, and compares."""
    plan = tiny.recipe(folder, family, steps=EVERY * 10 * kills, evaluate=EVERY * 10, checkpoint=EVERY)
    recipe = folder / "recipe.toml"
    recipe.write_text(tomli_w.dumps(to_table(plan)), encoding="utf-8")
    whole, broken = folder / "whole", folder / "broken"
    seconds = time_of(recipe, whole)
    done, in_a_write, places = 0, 0, []
    while done < kills:
        left = seconds * (1 - step_of(broken) / plan.train.steps)  # so that the last kill comes before the end
        if not killed(recipe, broken, choose.uniform(0, left / (kills - done + 1))):
            break  # it came to its end all the same
        if step_of(broken) == plan.train.steps:
            break
        done += 1
        in_a_write += bool(list(broken.rglob("*.partial")))
        places.append(step_of(broken))
    time_of(recipe, broken)
    return Result(family, done, in_a_write, places, tiny.differences(whole, broken))


def time_of(recipe: Path, run: Path) -> float:
    """Trains to the end; how long the updates took, without imports."""
    subprocess.run(
        tiny.command("train", recipe, "--run", run), env=tiny.environment(), check=True, stderr=subprocess.DEVNULL
    )
    return load_checkpoint(Folder(run).checkpoint).progress.seconds


def killed(recipe: Path, run: Path, delay: float) -> bool:
    """Starts or goes on, and kills some time after the first update may begin. False: it was at its end already."""
    words = tiny.command("train", recipe, "--run", run)
    with subprocess.Popen(words, env=tiny.environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " parameters, " in line:  # said right before the first update
                break
        time.sleep(delay)
        process.kill()
        return process.wait() == -signal.SIGKILL


def step_of(run: Path) -> int:
    """Where a run would go on. Reading the checkpoint shows as well that it is whole."""
    path = Folder(run).checkpoint
    return load_checkpoint(path).progress.step if path.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
