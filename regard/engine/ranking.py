"""Which of many scores are the best, and their log p, in one native call."""

import ctypes

import torch
from jaxtyping import Float
from torch import Tensor

from regard.engine.library import Library
from regard.models.ranking import Ranked


class NativeRanking(ctypes.Structure):
    """As `Ranking` in source/ranking.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in ("scores", "rows", "stride", "size", "count", "tokens", "logs", "every", "threads")
    )


def rank(library: Library, scores: Float[Tensor, "R V"], count: int, every: bool) -> Ranked | None:
    """The same as `regard.models.ranking.ranked`, of equals the first; None: not such numbers as it computes with."""
    rows, size = scores.shape
    known = scores.dtype == torch.float32 and scores.is_cpu and scores.stride(1) == 1 and not scores.requires_grad
    if not known or not 0 <= count <= size:
        return None
    logs, tokens = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.long)
    all_logs = torch.empty(rows, size) if every else None
    places = tokens.data_ptr(), logs.data_ptr(), 0 if all_logs is None else all_logs.data_ptr()
    asked = NativeRanking(scores.data_ptr(), rows, scores.stride(0), size, count, *places, torch.get_num_threads())
    return None if library.rank(ctypes.byref(asked)) else Ranked(tokens, logs, all_logs)
