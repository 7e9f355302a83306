"""Published weights of VGG-16 and ResNet-50 from a local file: names and shapes are checked, nothing is executed."""

import pickle
import re
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.errors import UserError
from regard.layers.vision import Body

SHOWN = 5  # names that an error lists before it only counts
RESNET_NAMES = (
    (r"^stem\.0\.", "conv1."),
    (r"^stem\.1\.", "bn1."),
    (r"^stages\.(\d)\.", lambda found: f"layer{int(found[1]) + 1}."),
    (r"\.path\.([036])\.", lambda found: f".conv{int(found[1]) // 3 + 1}."),
    (r"\.path\.([147])\.", lambda found: f".bn{int(found[1]) // 3 + 1}."),
    (r"\.shortcut\.", ".downsample."),
    (r"\.mean$", ".running_mean"),
    (r"\.variance$", ".running_var"),
)


def names_in_torchvision(kind: str, body: Body) -> dict[str, str]:
    """Our name of each weight → torchvision's: features.0.weight …, or conv1.weight, layer1.0.bn1.bias …"""
    if kind == "resnet50":
        return {name: _rewritten(name) for name in body.state_dict()}
    flat = [f"stages.{s}.{n}" for s, stage in enumerate(body.stages) for n, _ in enumerate(stage.children())]
    numbers = {path: number for number, path in enumerate(flat)}  # torchvision keeps all layers in one row
    return {
        name: f"features.{numbers[name[: name.rindex('.')]]}{name[name.rindex('.') :]}" for name in body.state_dict()
    }


def _rewritten(name: str) -> str:
    for pattern, theirs in RESNET_NAMES:
        name = re.sub(pattern, theirs, name)
    return name


def load_pretrained(kind: str, body: Body, path: Path) -> None:
    """Fills a body. What else the file holds (the classifier of ImageNet's thousand classes) is not asked for."""
    there = read_weights(path)
    ours = body.state_dict()
    missing, wrong, found = [], [], {}
    for name, theirs in names_in_torchvision(kind, body).items():
        if theirs not in there:
            missing.append(theirs)
        elif there[theirs].shape != ours[name].shape:
            wrong.append(f"{theirs} is {list(there[theirs].shape)}, wanted {list(ours[name].shape)}")
        else:
            found[name] = there[theirs]
    if missing or wrong:
        parts = [f"missing {_some(missing)}"] * bool(missing) + [f"of another shape {_some(wrong)}"] * bool(wrong)
        raise UserError(
            f"{path} does not hold the weights of {kind}: {'; '.join(parts)}; give torchvision's file of it"
        )
    body.load_state_dict(found)


def _some(names: list[str]) -> str:
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + rest


def read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors by name. A .pth file is read without executing anything in it."""
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        there = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; give the path of a file with weights (.pth or .safetensors)") from None
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        reason = str(error).strip().splitlines()[0][:80] if str(error).strip() else type(error).__name__
        raise UserError(f"{path} is no file of weights, or is damaged ({reason}); fetch it again") from None
    if not isinstance(there, dict) or not all(isinstance(value, Tensor) for value in there.values()):
        raise UserError(f"{path} holds {type(there).__name__}, tensors by name are wanted; save model.state_dict()")
    return there
