"""Reading: `with trace(model) as seen` listens to every tap, and `seen[path]` is what passed there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.tap import Tap, listen, matching, taps_of


class Trace(Mapping[str, Tensor]):
    """Path → tensor. What passed in several calls is joined along time, so that T steps read like one pass over T.

    Where later steps could see more (the S of attention), earlier ones are filled up: weights with zeros, scores with
    −∞. `calls[path]` has each call's tensor by itself; `taps[path]` says its role, its axes, and whose rows and columns
    they are.
    """

    def __init__(self, taps: Mapping[str, Tap]) -> None:
        self.taps = taps
        self.calls: dict[str, list[Tensor]] = {}

    def __getitem__(self, path: str) -> Tensor:
        return join(self.calls[path], self.taps[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)

    def _note(self, path: str, value: Tensor) -> Tensor:
        self.calls.setdefault(path, []).append(value)
        return value


def join(calls: list[Tensor], tap: Tap) -> Tensor:
    """One tensor out of several calls at a tap."""
    if len(calls) == 1 and not tap.from_the_end:
        return calls[0]
    if "T" not in tap.axes:  # keys and values of everything seen: the last call has them all
        return calls[-1]
    time = tap.axes.index("T")
    if "S" in tap.axes:
        widest = max(call.shape[-1] for call in calls)
        calls = [F.pad(call, (0, widest - call.shape[-1]), value=tap.filler) for call in calls]
    joined = torch.cat(calls, time)
    return joined.flip(time) if tap.from_the_end else joined


@contextmanager
def trace(model: nn.Module, *patterns: str) -> Iterator[Trace]:
    """Listens to the taps of a role such as "weights", to those whose path matches a pattern, or to all of them.

    Layers that are listened to compute by their explicit equations, the others go on with their fused kernels.
    """
    taps = matching(taps_of(model), patterns or ("*",))
    seen = Trace(taps)
    with listen({tap: partial(seen._note, path) for path, tap in taps.items()}):
        yield seen
