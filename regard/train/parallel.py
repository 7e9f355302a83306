"""One process or many: the same training, with the rows of each batch shared out."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from regard.errors import UserError


@dataclass(frozen=True)
class World:
    """Which of how many processes this is. Alone, everything here does nothing."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and speaks to the user."""
        return self.rank == 0

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def joined(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in their order."""
        if self.size == 1:
            return rows
        counts = [torch.zeros((), dtype=torch.long) for _ in range(self.size)]
        dist.all_gather(counts, torch.tensor(len(rows)))
        parts = [rows.new_empty(int(count), *rows.shape[1:]) for count in counts]
        for owner, part in enumerate(parts):
            dist.broadcast(part.copy_(rows) if owner == self.rank else part, owner)
        return torch.cat(parts)

    def first(self, prepare: Callable[[], None]) -> None:
        """Lets the leader prepare files before anybody reads them."""
        if self.leads:
            prepare()
        if self.size > 1:
            dist.barrier()


@contextmanager
def world() -> Iterator[World]:
    """The processes that `torchrun` started, or this one alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield World()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield World(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def device_of(name: str) -> torch.device:
    """The device of that name; auto: the fastest there is."""
    if name != "auto":
        try:
            torch.zeros(1, device=name)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"device '{name}' is not to be had here ({reason}); use device = 'auto' or 'cpu'") from None
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def precision_of(name: str, device: torch.device) -> torch.dtype:
    """Which numbers a forward pass computes with. 16 bits are many times slower than 32 on most CPUs."""
    if name == "bfloat16" or (name == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported()):
        return torch.bfloat16
    return torch.float32
