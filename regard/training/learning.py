"""Which weights learn: all of them, the last layers alone, or thin matrices beside all that is frozen."""

from torch import Tensor, nn

from regard.config import Train
from regard.errors import UserError
from regard.layers.embedding import Embedding
from regard.layers.low_rank import adapt


def choose(model: nn.Module, settings: Train) -> None:
    """Freezes what the settings leave out."""
    if settings.lora and not adapt(model, settings.lora):
        raise UserError(
            "train.lora changes the matrices of attention and feed-forward parts, found none; leave it out, or use last"
        )
    if settings.last:
        freeze_but_last(model, settings.last)


def freeze_but_last(model: nn.Module, layers: int) -> None:
    """Leaves the last layers of every stack, and what reads them; embeddings and the layers below stay as they are."""
    inner: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and module not in inner:  # a stack, and no part of a layer
            inner |= set(module.modules())
            for layer in list(module)[:-layers]:
                layer.requires_grad_(False)
        elif isinstance(module, Embedding):
            module.requires_grad_(False)


def frozen(model: nn.Module) -> dict[str, Tensor]:
    """What does not learn: as training began with it, so no checkpoint needs it."""
    return {name: parameter.detach() for name, parameter in model.named_parameters() if not parameter.requires_grad}
