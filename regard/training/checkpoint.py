"""Everything that training needs to go on exactly where it stopped, as one file that holds tensors and JSON only."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import Recipe
from regard.errors import UserError
from regard.folder import Folder
from regard.layers.state import State, leaves
from regard.training.average import Average
from regard.training.learning import frozen
from regard.training.parallel import shared_like, whole
from regard.training.progress import Progress
from regard.training.schedule import prolonged
from regard.weights import open_weights, read_weights, save_weights

VERSION = 1


def tensors_of(
    model: nn.Module, optimiser: torch.optim.Optimizer, average: Average, carried: State
) -> dict[str, Tensor]:
    """Weights, the optimiser's memory, the mean of the weights, and the state carried from batch to batch."""
    kept = model.state_dict().keys() - frozen(model).keys()
    tensors = {f"model.{name}": whole(value) for name, value in model.state_dict().items() if name in kept}
    for number, memory in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": whole(value) for name, value in memory.items()}
    tensors |= {f"average.{name}": whole(mean) for name, mean in average.tensors.items()}
    return tensors | {f"carried.{number}": leaf for number, leaf in enumerate(leaves(carried))}


def save_checkpoint(path: Path, tensors: dict[str, Tensor], progress: Progress, about: Mapping[str, Any]) -> None:
    """What `tensors_of` gave, how far we are, and what else shall be known of that moment."""
    how_far = {"version": str(VERSION), "progress": json.dumps(asdict(progress))}
    save_weights(path, tensors, {**about, **how_far})


@dataclass(frozen=True)
class Checkpoint:
    """What `save_checkpoint` wrote."""

    model: dict[str, Tensor]
    optimiser: dict[int, dict[str, Tensor]]
    average: dict[str, Tensor]
    carried: list[Tensor]
    progress: Progress
    about: Mapping[str, Any]

    def restore_optimiser(self, optimiser: torch.optim.Optimizer) -> None:
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        wanted = [
            "momentum_buffer" if "momentum" in g else "exp_avg" for g in optimiser.param_groups for _ in g["params"]
        ]
        if any(wanted[number] not in values for number, values in self.optimiser.items()):
            raise UserError("the checkpoint is of another optimiser; name that one under [train] in config.toml")
        memory = {
            number: {name: shared_like(value, parameters[number]) for name, value in values.items()}
            for number, values in self.optimiser.items()
        }
        optimiser.load_state_dict({**optimiser.state_dict(), "state": memory})


def load_checkpoint(path: Path) -> Checkpoint:
    remedy = "delete it to start this run again"
    tensors, about = open_weights(path, remedy)
    try:
        if about.get("version") != str(VERSION):
            found = about.get("version", "none")
            raise UserError(
                f"{path} has version {found}, this regard reads {VERSION}; train with the regard that wrote it"
            )
        progress = Progress.from_json(about["progress"])
    except (KeyError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); {remedy}") from None
    memory: dict[int, dict[str, Tensor]] = {}
    carried: dict[int, Tensor] = {}
    model: dict[str, Tensor] = {}
    average: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        if part == "optimiser":
            number, _, key = rest.partition(".")
            memory.setdefault(int(number), {})[key] = tensor
        elif part == "carried":
            carried[int(rest)] = tensor
        elif part == "average":
            average[rest] = tensor
        else:
            model[rest] = tensor
    return Checkpoint(model, memory, average, [carried[number] for number in sorted(carried)], progress, about)


def to_go_on_from(folder: Folder, recipe: Recipe) -> Checkpoint | None:
    """The checkpoint; or where the plan is longer now than when the rate fell, the one before the fall.

    The best look stays the best: a longer training begins at a high rate, and answers must not get worse by it.
    """
    if not folder.checkpoint.exists():
        return None
    saved = load_checkpoint(folder.checkpoint)
    folder.check(saved.about, recipe)
    done = saved.progress
    if not done.end or not prolonged(saved.about.get("config", {}).get("train", {}), recipe.train):
        return saved
    if folder.before_fall.exists():
        saved = load_checkpoint(folder.before_fall)
        folder.check(saved.about, recipe)
    there = tuple(one for one in saved.progress.snapshots if folder.snapshot(one[0]).exists())
    again = replace(saved.progress, best=done.best, best_step=done.best_step, snapshots=there, fall=0, end=0)
    return replace(saved, progress=again)


def mean_of(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of several models' weights, which is often better than each of them."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_weights(path).items():
            value = tensor.double() / len(paths)
            total[name] = total[name] + value if name in total else value
    return {name: value.float() for name, value in total.items()}
