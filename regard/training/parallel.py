"""One process or many: the same training, with the rows of each batch shared out.

What torch has for shared-out tensors takes half a second to import: it is, where something is shared out.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.errors import UserError

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor


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

    def largest(self, value: int) -> int:
        """The largest number that any process has."""
        if self.size == 1:
            return value
        found = torch.tensor(value)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return int(found)

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

    @cached_property
    def mesh(self) -> "DeviceMesh":
        """All processes in one row."""
        from torch.distributed.device_mesh import init_device_mesh

        return init_device_mesh("cuda" if torch.cuda.is_available() else "cpu", (self.size,))

    def share_out(self, module: nn.Module) -> None:
        """Leaves a share of the module in each process; they meet only while it computes (FSDP2)."""
        if self.size > 1:
            from torch.distributed.fsdp import fully_shard

            fully_shard(module, mesh=self.mesh)

    def mean_gradients(self, module: nn.Module) -> None:
        """Gives every process the mean of all gradients, as DDP does; shared-out modules have seen to it themselves.

        Torch's own DDP now and then never came back from taking itself down on a CPU: its last work waits for Python's
        lock, which the one who waits for that work holds.
        """
        gradients = [p.grad for p in module.parameters() if p.grad is not None and not is_shared(p.grad)]
        if self.size == 1 or not gradients:
            return
        together = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(together)
        together /= self.size
        for gradient, mean in zip(gradients, together.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(mean.view_as(gradient))

    def part(self) -> None:
        """Takes leave of the others, and sees the threads end that spoke to them.

        The group ends them when nobody holds it any more, but a mesh does, and torch's own caches hold that for ever. A
        thread that is left may still have a tensor to let go of, for which it takes Python's lock; while Python ends,
        that aborts the process (pytorch#190489).
        """
        dist.destroy_process_group()
        if "mesh" in vars(self):
            self.mesh._pg_registry.clear()

    def first(self, prepare: Callable[[], None]) -> None:
        """Lets the leader prepare files before anybody reads them."""
        if self.leads:
            prepare()
        if self.size > 1:
            dist.barrier()


def is_shared(tensor: Tensor) -> TypeGuard["DTensor"]:
    """Whether each process has a share of it alone."""
    return hasattr(tensor, "full_tensor")


def whole(tensor: Tensor) -> Tensor:
    """A tensor with the shares of all processes in it. All of them must ask."""
    return tensor.full_tensor() if is_shared(tensor) else tensor


def shared_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A whole tensor, shared out as the parameter it belongs to."""
    if not is_shared(parameter) or tensor.shape != parameter.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, parameter.device_mesh, parameter.placements)


def _is_shared_out(module: nn.Module) -> TypeGuard["FSDPModule"]:
    return hasattr(module, "unshard")


@contextmanager
def gathered(module: nn.Module) -> Iterator[None]:
    """The module whole in every process, for what does not go through its `forward`."""
    if not _is_shared_out(module):
        yield
        return
    module.unshard()
    try:
        yield
    finally:
        module.reshard()


@contextmanager
def world() -> Iterator[World]:
    """The processes that `torchrun` started, or this one alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield World()
        return
    import torch.distributed.fsdp  # before there is a group, which it would hold for ever

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    ours = World(dist.get_rank(), dist.get_world_size())
    try:
        yield ours
    finally:
        ours.part()


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
    """Which numbers a forward pass computes with: 16 bits only where the device has them.

    A processor without them takes 30 to 70 times as long as with 32 bits, and has no kernel at all for an LSTM.
    """
    known = {"cuda": torch.cuda.is_bf16_supported, "cpu": _processor_has_16_bits}
    has = known.get(device.type, lambda: name == "bfloat16")  # what cannot be asked is taken at its user's word
    return torch.bfloat16 if name != "float32" and has() else torch.float32


def _processor_has_16_bits() -> bool:
    """By its own word, and by what torch is held to (ATEN_CPU_CAPABILITY)."""
    return torch.cpu._is_avx512_bf16_supported() and torch.backends.cpu.get_cpu_capability() == "AVX512"
