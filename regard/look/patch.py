"""Writing: `with patch(model, {path: edit})` puts a function of the tensor in its place."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

from torch import Tensor, nn

from regard.errors import UserError
from regard.layers.tap import Listener, listen, matching, taps_of


@contextmanager
def patch(model: nn.Module, edits: Mapping[str, Listener]) -> Iterator[None]:
    """Replaces what passes at every tap of a role, path or pattern of paths by `edit(value)`, for this block of code.

    Inside a recurrence an edit gets one position at a time, `(B, 1, D)`, and what follows computes with its answer.
    """
    taps = taps_of(model)
    with ExitStack() as stack:
        for pattern, edit in edits.items():
            found = matching(taps, [pattern])
            stack.enter_context(listen({tap: partial(_edited, path, edit) for path, tap in found.items()}))
        yield


def _edited(path: str, edit: Listener, value: Tensor) -> Tensor:
    after = edit(value)
    if after.shape != value.shape or after.dtype != value.dtype:
        wanted, found = (f"{str(x.dtype).removeprefix('torch.')} of shape {list(x.shape)}" for x in (value, after))
        raise UserError(f"an edit at '{path}' must give back {wanted}, found {found}")
    return after
