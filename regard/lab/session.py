"""Running claims: seed by seed, each result kept as soon as it is there, so that nothing is measured twice."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import torch

from regard.disk import write_text
from regard.errors import UserError
from regard.lab.claim import Claim, Numbers, Verdict, judge
from regard.lab.room import Effort, Room

VERSION = 1
"""Of the results kept; those of another version are measured again."""


@dataclass(frozen=True)
class Outcome:
    """What one claim came to."""

    claim: Claim
    effort: Effort
    seeds: tuple[Numbers, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        return judge(self.claim, self.seeds)


@dataclass(frozen=True)
class Session:
    """Claims with as many seeds as wished for, in one folder. Started again it goes on where it was stopped."""

    folder: Path
    effort: Effort
    seeds: int

    def outcome(self, claim: Claim) -> Outcome:
        """Measures what is not there yet."""
        kept = [self._one(claim, seed) for seed in range(self.seeds)]
        return Outcome(claim, self.effort, tuple(numbers for numbers, _ in kept), sum(took for _, took in kept))

    def left(self, claim: Claim) -> int:
        """How many seeds are still to be measured."""
        return sum(1 for seed in range(self.seeds) if self._kept(claim, seed) is None)

    def _one(self, claim: Claim, seed: int) -> tuple[Numbers, float]:
        kept = self._kept(claim, seed)
        if kept is not None:
            return kept
        room = Room(self._place(claim) / f"seed-{seed}", seed, self.effort)
        began = time.monotonic()
        torch.manual_seed(seed)
        numbers = claim.measure(room)
        took = time.monotonic() - began
        content = {"version": VERSION, **_fixed(claim), "seconds": took, "numbers": numbers}
        try:
            kept_as = json.dumps(content, indent=1) + "\n"
        except (TypeError, ValueError) as error:
            wanted = "hand back plain numbers, lists and tables by name"
            raise UserError(f"claim '{claim.name}' measured what cannot be kept as JSON ({error}); {wanted}") from None
        write_text(self._result(claim, seed), kept_as)
        rmtree(room.folder, ignore_errors=True)  # the runs: the numbers are what was wanted
        return json.loads(json.dumps(numbers)), took

    def _kept(self, claim: Claim, seed: int) -> tuple[Numbers, float] | None:
        """An earlier result, unless the rule or the set-up has changed since: both are fixed before it is run."""
        try:
            content = json.loads(self._result(claim, seed).read_text(encoding="utf-8"))
            if content["version"] == VERSION and content.items() >= _fixed(claim).items():
                return content["numbers"], content["seconds"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return None

    def _place(self, claim: Claim) -> Path:
        return self.folder / self.effort / claim.name

    def _result(self, claim: Claim, seed: int) -> Path:
        return self._place(claim) / f"seed-{seed}.json"


def _fixed(claim: Claim) -> dict[str, str]:
    """What is laid down before a claim is run."""
    code = {"code": claim.code} if claim.code else {}
    return {"setup": claim.setup, "rule": "; ".join(map(str, claim.marks)), **code}
