"""Weights in a file: tensors by name, and nothing that is executed."""

from pathlib import Path

from torch import Tensor, nn

from regard.disk import read_tensors
from regard.errors import UserError


def load_weights(model: nn.Module, path: Path) -> None:
    """Fills a model with the weights in a file."""
    fill(model, read_weights(path), path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a run, by name."""
    try:
        return read_tensors(path, "restore it from a copy, or train again")[0]
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist: this run has not been trained; run `regard train {path.parent}`"
        ) from None


def fill_some(model: nn.Module, path: Path) -> None:
    """Fills the parts of a model whose weights are in a file, and leaves the others as they are."""
    wanted = model.state_dict()
    fill(model, wanted | read_weights(path), path)


def fill(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Fills a model with weights that were in a file."""
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{path} does not fit the model in config.toml ({reason}); they are of different runs"
        ) from None
