"""Tensors that are read one after the other into one file, so that memory holds the largest of them and not all."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.disk import write_with

DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
ROOM = 256  # bytes for what is said of a tensor, beside its name


def pour_tensors(path: Path, tensors: Mapping[str, Callable[[], Tensor]]) -> None:
    """A .safetensors file, whole or not at all.

    Where each tensor is stands at the beginning of the file and is known at the end: room is left for it.
    """
    room = -(-sum(ROOM + len(json.dumps(name)) for name in tensors) // 8) * 8

    def pour(partial: Path) -> None:
        head: dict[str, Any] = {}
        end = 0
        with partial.open("wb") as file:
            file.seek(8 + room)
            for name, read in tensors.items():
                tensor = read()
                begin, end = end, end + tensor.nbytes
                file.write(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
                head[name] = {"dtype": DTYPES[tensor.dtype], "shape": [*tensor.shape], "data_offsets": [begin, end]}
            file.seek(0)
            file.write(room.to_bytes(8, "little") + json.dumps(head).encode().ljust(room))

    write_with(path, pour)
