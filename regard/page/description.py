"""A model as a tree that a page can build it from: the class of each part, its numbers, its parts, its weights' names.

It is read off the model itself, so the page's JavaScript needs no config: a class there is told what its twin here
knows.
"""

import math
from typing import Any

from torch import nn

Tree = dict[str, Any]


def described(module: nn.Module) -> Tree:
    """The part of the tree for one module, and below it those for its children."""
    owns = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return {
        "class": class_of(module),
        "numbers": _numbers(module),
        "parts": {name: described(part) for name, part in module.named_children()},
        "tensors": [name for name, tensor in owns if tensor.numel()],
    }


def class_of(module: nn.Module) -> str:
    """What a page calls the class of a module: by its name, with `nn.` before it where it is torch's own."""
    kind = type(module)
    return f"nn.{kind.__name__}" if kind.__module__.startswith("torch.nn.") else kind.__name__


def classes_in(tree: Tree) -> set[str]:
    """The classes of a tree."""
    return {tree["class"]}.union(*(classes_in(part) for part in tree["parts"].values()))


def _numbers(thing: object) -> dict[str, Any]:
    """What is public and plain of an object: numbers, names, lists of them, and small objects that hold such."""
    return {name: plain for name, value in vars(thing).items() if name[0] != "_" and (plain := _plain(value)) != ()}


def _plain(value: object) -> Any:
    """A value as JSON knows it; () where it is no such value. An infinite number is spelled as JavaScript reads it."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _numbers(value) if type(value).__module__.startswith("regard.") else ()
