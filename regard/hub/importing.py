"""From another program's files to a run folder: whole, or not at all."""

import hashlib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from regard.config import Data, ModelConfig, Origin, Recipe, Train
from regard.disk import new_folder
from regard.errors import UserError
from regard.folder import Folder
from regard.hub.families import open_package
from regard.hub.opened import Opened
from regard.hub.package import Package, in_one_line
from regard.hub.pouring import DTYPES, pour_tensors
from regard.hub.reading import read_package
from regard.hub.tokens import names_of_roles
from regard.hub.ways import Way
from regard.models.build import build
from regard.tasks import task_fitting
from regard.text.files import save

OTHERS = "config and weights are of different models: fetch both again"
PIECE = 1 << 20  # bytes that are read at once for a checksum


@in_one_line()
def import_run(source: Path, run: Path) -> Recipe:
    """Makes a run folder of a model that another program trained."""
    package = read_package(source)
    opened = open_package(package)
    recipe = Recipe(
        Data(kind=task_fitting(opened.model).name),
        model=opened.model,
        train=Train(length=opened.longest),
        origin=Origin(
            file=str(source),
            sha256=_checksum(package.files),
            format=package.format,
            family=package.family,
            licence=package.licence,
            changed=opened.changed,
        ),
    )
    with new_folder(run) as partial:
        folder = Folder(partial)
        save(opened.tokenizer, folder.tokenizer)
        if opened.source_tokenizer is not None:
            save(opened.source_tokenizer, folder.source_tokenizer)
        if package.chat_template:
            folder.write_chat_template({"template": package.chat_template, **names_of_roles(package)})
        pour_tensors(folder.weights, weights_of(package, opened))
        folder.write_config(recipe)
    return recipe


def weights_of(package: Package, opened: Opened) -> dict[str, Callable[[], Tensor]]:
    """How each tensor of the model is read, by its way. What is missing or left over is refused by name."""
    there = set(package.tensors.names())
    wanted = {name for way in opened.ways.values() for name in way.names}
    if missing := sorted(wanted - there):
        raise UserError(f"{package.where} wants tensor {_some(missing)}, which the weights do not have; {OTHERS}")
    if extra := sorted(name for name in there - wanted if not any(fnmatchcase(name, one) for one in opened.unused)):
        raise UserError(f"{package.where} has no place for tensor {_some(extra)}, which the weights have; {OTHERS}")
    return {name: partial(_read, package, opened.ways[name], shape) for name, shape in _shapes(opened).items()}


def _read(package: Package, way: Way, shape: torch.Size) -> Tensor:
    """A tensor by its way; one of another shape is refused by name."""
    try:
        tensor = way.read(package.tensors)
    except (RuntimeError, IndexError):
        tensor = torch.zeros(0)
    if tensor.shape != shape or tensor.dtype not in DTYPES:
        raise UserError(
            f"{package.where} wants {' × '.join(map(str, shape))} numbers of {_some(way.names)}, "
            f"found another shape; {OTHERS}"
        )
    if not tensor.isfinite().all():
        raise UserError(f"{package.where}: {_some(way.names)} holds numbers that are not finite; fetch it again")
    return tensor


def _shapes(opened: Opened) -> dict[str, torch.Size]:
    """The shape of every tensor that the model wants."""
    source = None if opened.source_tokenizer is None else opened.source_tokenizer.vocabulary
    shapes = shapes_of(opened.model, opened.tokenizer.vocabulary, source)
    assert shapes.keys() == opened.ways.keys(), shapes.keys() ^ opened.ways.keys()
    return shapes


def shapes_of(model: ModelConfig, vocabulary: int, source: int | None) -> dict[str, torch.Size]:
    """The shape of every tensor of a model; nothing is allocated."""
    with torch.device("meta"):
        made = build(model, vocabulary, source)
    return {name: tensor.shape for name, tensor in made.state_dict().items()}


def _some(names: Iterable[str]) -> str:
    first, *others = names
    return f"{first} (and {len(others)} more)" if others else first


def _checksum(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
    return found.hexdigest()
