"""Claims of the user's own, in a file that nobody has to put into the package: naming it runs it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.lab.claim import Claim, Numbers
from regard.lab.room import Room
from regard.own_code import ENDING, blamed_on, module_in
from regard.training.stopping import Interrupted


def claims_in(path: Path) -> list[Claim]:
    """Every claim that a file makes at its top level; what fails in one is said with its line."""
    found = {id(one): one for one in vars(module_in(path)).values() if isinstance(one, Claim)}
    if not found:
        raise UserError(f"{path} has no claim; end it with CLAIM = Claim(name=…, …), as docs/lab.md shows")
    return [_guarded(claim, path) for claim in found.values()]


def claims_named(names: Sequence[str], ours: Mapping[str, Claim]) -> list[Claim]:
    """The claims that were asked for: ours by name, the user's own by their file; no two are called alike."""
    found: dict[str, Claim] = {}
    for name in dict.fromkeys(names):
        for claim in claims_in(Path(name)) if name.endswith(ENDING) else [ours[name]]:
            if claim.code and claim.name in (*ours, *found):
                raise UserError(f"{name}: there is a claim called '{claim.name}' already; give yours another name")
            found[claim.name] = claim
    return [*found.values()]


def _guarded(claim: Claim, path: Path) -> Claim:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", claim.name):
        raise UserError(f"{path}: a claim is called by small letters and hyphens, found '{claim.name}'; call it so")
    measure, draw = claim.measure, claim.draw

    def measured(room: Room) -> Numbers:
        numbers: Any = _blamed(path, lambda: measure(room))
        if not isinstance(numbers, dict):
            raise UserError(f"{path}: measure must hand back numbers by name, found {type(numbers).__name__}")
        return numbers

    def drawn(figure: Any, seeds: Sequence[Numbers]) -> None:
        _blamed(path, lambda: draw(figure, seeds))

    return replace(claim, measure=measured, draw=drawn, code=sha256(path.read_bytes()).hexdigest())


def _blamed(path: Path, call: Callable[[], Any]) -> Any:
    with blamed_on(path, Interrupted):  # somebody stopped it: no mistake
        return call()
