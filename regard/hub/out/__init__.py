"""Models go out: a run as a file or folder that another program reads. One file for each target."""

from pathlib import Path
from typing import NamedTuple

from regard.disk import new_folder
from regard.errors import UserError, unknown
from regard.hub.out.card import own_card, write_card
from regard.hub.out.ctranslate2 import CTranslate2
from regard.hub.out.gguf import GGUF
from regard.hub.out.hf import HuggingFace
from regard.hub.out.onnx import Onnx
from regard.hub.out.rows import our_log_probabilities, some_rows
from regard.hub.out.target import Target, missing_packages
from regard.runs import Run

TARGETS: dict[str, Target] = {target.name: target for target in (HuggingFace(), CTranslate2(), GGUF(), Onnx())}
"""Those that hold least first, and the one that holds everything last."""


__all__ = ["TARGETS", "Comparison", "compared", "export", "own_card", "target_for"]


class Comparison(NamedTuple):
    """How far the target's own engine is from ours."""

    difference: float  # the largest between two log p of one token
    rows: str  # over what, in words


def target_for(run: Run, name: str) -> Target:
    """The target of that name, if it holds this run; else which one does."""
    if name not in TARGETS:
        raise unknown("target", name, TARGETS)
    why = TARGETS[name].refusal(run)
    if not why:
        return TARGETS[name]
    others = [other.name for other in TARGETS.values() if not other.refusal(run)]
    remedy = f"export it --to {others[0]}" if others else "no other target holds it either"
    raise UserError(f"{TARGETS[name].title} cannot hold {run.folder.path}: {why}; {remedy}")


def export(run: Run, name: str, place: Path) -> Comparison | None:
    """The run at `place` as another program reads it, and how far that is from ours; None: it is not installed here."""
    target = target_for(run, name)
    target.check_writers()
    with new_folder(place) as partial:
        target.write(run, partial)
        write_card(run, target, partial, place)
        return compared(run, target, partial)


def compared(run: Run, target: Target, place: Path) -> Comparison | None:
    """What the target's engine says beside what we say."""
    if missing_packages([target.engine]):
        return None
    rows, named = some_rows(run, target.compared_on)
    both = zip(our_log_probabilities(run, rows), target.log_probabilities(run, place, rows), strict=True)
    largest = max(abs(ours - theirs) for pair in both for ours, theirs in zip(*pair, strict=True))
    return Comparison(largest, named)
