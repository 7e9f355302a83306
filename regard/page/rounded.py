"""Weights in fewer bits, as a page carries them: what was trained, rounded.

16 bits: floats with ten bits behind the point. 8 bits: w ≈ s q with a whole number q from −127 to 127 and a scale s for
each row of a matrix, s = max |w| / 127: off by at most half of s. Vectors (biases, norms) stay in 32 bits.
"""

from collections.abc import Iterator, Mapping

import torch
from safetensors.torch import save
from torch import Tensor, nn

MUCH = 1_000_000
"""Parameters from which on a model is rounded to 8 bits, where nobody said to how many."""
SCALE = ".scale"  # behind the name of a matrix


def bits_for(model: nn.Module) -> int:
    """16, or 8 for a large model: three million parameters are then less than 4 MB."""
    return 16 if sum(one.numel() for one in model.parameters()) < MUCH else 8


def rounded(model: nn.Module, bits: int) -> dict[str, Tensor]:
    """Every weight by its path, and the scales beside it; what is not trained but computed with, too."""
    found: dict[str, Tensor] = {}
    learnt = {path for path, _ in model.named_parameters()}
    for path, tensor in _tensors(model):
        tensor = tensor.detach().float().cpu().contiguous()
        if tensor.dim() < 2 or bits == 32 or path not in learnt:
            found[path] = tensor
        elif bits == 16:
            found[path] = tensor.half()
        else:
            rows = tensor.flatten(1)
            scale = rows.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / 127
            found[path] = (rows / scale[:, None]).round().to(torch.int8).view(tensor.shape)
            found[path + SCALE] = scale
    return found


def restored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same as 32-bit floats, as the page computes with them."""
    return {
        path: tensor.float() * scale.view(-1, *[1] * (tensor.dim() - 1))
        if (scale := tensors.get(path + SCALE)) is not None
        else tensor.float()
        for path, tensor in tensors.items()
        if not path.endswith(SCALE)
    }


def to_bytes(tensors: dict[str, Tensor]) -> bytes:
    """As a safetensors file."""
    return save(tensors)


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for path, module in model.named_modules():
        for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if tensor.numel():
                yield f"{path}.{name}".lstrip("."), tensor
