"""What a training says of itself at its end: the learning curve, how a text begins, and what would make it better."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from regard.data.batch import Batches
from regard.evaluate.beginning import FIRST, in_words, loss_by_position, passages
from regard.evaluate.figures import held_out_sums
from regard.evaluate.loss import Objective
from regard.runs import Run
from regard.training.parallel import World
from regard.training.report import draw_curve

BY_HEART = 0.5  # loss of what was learnt from over that of what was held out: at most this,
UNDER_TRAINED = 0.85  # at least this
EARLY = 0.7  # of all updates: where the best look came before, those behind it only learnt by heart
NOTHING_LEFT = 0.01  # nats
LEARNT = 5000  # tokens of what is learnt from that are read again at a look


def told(run: Run) -> Iterator[str]:
    """Draws what there is to draw, and says the rest in lines."""
    entries = run.folder.read_log()
    draw_curve(run.folder.curve, entries)
    if not run.task.has_source:
        tokens = run.material.valid[0].tokens
        losses = loss_by_position(run.trained_model(), passages(tokens, run.recipe.train.length))
        if len(losses) > FIRST:
            yield in_words(losses)
    if said := verdict(entries):
        yield said


def learnt(objective: Objective, batches: Batches, world: World, device: torch.device) -> float:
    """The plain loss of some examples that were learnt from: nothing dropped or smoothed, as of those held out."""
    number = min(batches.per_epoch, -(-LEARNT // max(1, batches.at(0).wanted)))
    mine = (batches.at(step).rows(world.rank, world.size).to(device) for step in range(number))
    nats, counted, _ = world.total(held_out_sums(objective, mine)).tolist()
    return float(nats / max(counted, 1))


def verdict(entries: Sequence[Mapping[str, Any]]) -> str:
    """Whether a training was too short or learns by heart: by the plain loss of both parts at the look that answers."""
    looks = [entry for entry in entries if "learnt" in entry]
    if not looks:
        return ""
    best = next((look for look in reversed(looks) if look["best"]), looks[-1])
    learnt, held, end = best["learnt"], best["held_out"]["loss"], looks[-1]["step"]
    figures = f"loss {learnt:.3f} on what it learnt from, {held:.3f} on what was held out"
    if held < NOTHING_LEFT:
        return f"{figures}: hardly anything is left to learn here"
    if learnt <= BY_HEART * held or (best["step"] < EARLY * end and looks[-1]["learnt"] < learnt):
        return f"{figures}: it learns by heart; more examples help, or more dropout, or a smaller model"
    if learnt >= UNDER_TRAINED * held:
        return f"{figures}: under-trained; more updates (or minutes) help, and then a larger model"
    return f"{figures}: in between; what still helps is more of both, updates and dropout, or a larger model with them"
