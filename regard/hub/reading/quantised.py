"""Numbers in blocks, as GGUF keeps them: whole numbers of a few bits, and a scale for each block. (llama.cpp: ggml)"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Raw = NDArray[np.uint8]


class Kind(NamedTuple):
    """One way of keeping numbers."""

    name: str
    numbers: int
    """In a block."""
    size: int
    """Of a block, in bytes."""
    plain: Callable[[Raw], Tensor]
    """Blocks (N, size) as the numbers that they stand for, (N, numbers)."""


def _whole(kind: torch.dtype) -> Callable[[Raw], Tensor]:
    """Numbers that are no blocks."""
    return lambda raw: torch.from_numpy(raw.copy()).view(kind)


def _half(raw: Raw) -> NDArray[np.float32]:
    """Scales of 16 bits, one to a block: (N, 2) → (N, 1)."""
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def _nibbles(raw: Raw) -> NDArray[np.float32]:
    """The low halves of all bytes, then the high ones."""
    return np.concatenate([raw & 15, raw >> 4], 1).astype(np.float32)


def _q8_0(raw: Raw) -> Tensor:
    """x = d q, with q of 8 bits."""
    return torch.from_numpy(_half(raw[:, :2]) * raw[:, 2:].view(np.int8).astype(np.float32))


def _q4_0(raw: Raw) -> Tensor:
    """x = d (q − 8), with q of 4 bits."""
    return torch.from_numpy(_half(raw[:, :2]) * (_nibbles(raw[:, 2:]) - 8))


def _q4_1(raw: Raw) -> Tensor:
    """x = d q + m, with q of 4 bits."""
    return torch.from_numpy(_half(raw[:, :2]) * _nibbles(raw[:, 4:]) + _half(raw[:, 2:4]))


def _q4_k(raw: Raw) -> Tensor:
    """x = d s q − m t, with q of 4 bits, and s and t of 6 bits for each 32 numbers."""
    packed = raw[:, 4:16]  # eight s and eight t in twelve bytes
    low, high, last = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    s = np.concatenate([low & 63, (last & 15) | ((low >> 6) << 4)], 1).astype(np.float32)
    t = np.concatenate([high & 63, (last >> 4) | ((high >> 6) << 4)], 1).astype(np.float32)
    q = np.stack([raw[:, 16:].reshape(-1, 4, 32) & 15, raw[:, 16:].reshape(-1, 4, 32) >> 4], 2)
    scales, least = _half(raw[:, :2]) * s, _half(raw[:, 2:4]) * t  # (N, 8)
    return torch.from_numpy(scales[:, :, None] * q.reshape(-1, 8, 32).astype(np.float32) - least[:, :, None])


def _q6_k(raw: Raw) -> Tensor:
    """x = d s (q − 32), with q of 6 bits, and s of 8 bits for each 16 numbers."""
    low, high = raw[:, :128].reshape(-1, 2, 1, 64), raw[:, 128:192].reshape(-1, 2, 1, 32)
    four = (low >> np.array([0, 4], np.uint8)[:, None]) & 15  # (N, 2, 2, 64)
    two = (high >> np.array([0, 2, 4, 6], np.uint8)[:, None]) & 3  # (N, 2, 4, 32)
    q = (four.reshape(-1, 2, 4, 32) | (two << 4)).astype(np.float32) - 32
    scales = _half(raw[:, 208:210]) * raw[:, 192:208].view(np.int8).astype(np.float32)  # (N, 16)
    return torch.from_numpy(scales[:, :, None] * q.reshape(-1, 16, 16))


KINDS = {
    0: Kind("F32", 1, 4, _whole(torch.float32)),
    1: Kind("F16", 1, 2, _whole(torch.float16)),
    2: Kind("Q4_0", 32, 18, _q4_0),
    3: Kind("Q4_1", 32, 20, _q4_1),
    8: Kind("Q8_0", 32, 34, _q8_0),
    12: Kind("Q4_K", 256, 144, _q4_k),
    14: Kind("Q6_K", 256, 210, _q6_k),
    30: Kind("BF16", 1, 2, _whole(torch.bfloat16)),
}
"""By the number that a file says."""
