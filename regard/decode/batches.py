"""Many texts through one model: batches of similar length, answers in the order of the texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TypeVar

from regard.config.decoding import BATCH as BATCH
from regard.errors import UserError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WINDOW = 16  # batches that are read ahead and sorted by length
BUDGET = 16_384  # tokens of a batch, padding included: long texts come with fewer others


def bucket_of(size: int) -> int:
    """The length bucket of a text: 16, 32, 64, … tokens.

    Only texts of one bucket share a batch, and what depends on a length (how much may be written) depends on it alone:
    so no text's answer depends on its neighbours, and less than half of a batch of long texts is padding.
    """
    return max(16, 1 << (size - 1).bit_length()) if size else 0


def in_order(
    items: Iterable[Item], size: Callable[[Item], int], answer: Callable[[list[Item]], Sequence[Answer]], batch: int
) -> Iterator[Answer]:
    """`answer` of every item, in the order of the items, computed for up to `batch` items of one bucket at a time.

    No more than a window of items is held, however many there are; with a batch of one, each is answered at once.
    An item that cannot be answered is an error that names its line, after the answers to all lines before it; so is,
    in its own words, whatever error the items end with.
    """
    left, line, wrong = iter(items), 0, None
    while wrong is None:
        window, wrong = _read(left, WINDOW * batch if batch > 1 else 1)
        if not window and wrong is None:
            return
        found: dict[int, Answer | UserError] = {}
        for places in _groups([size(item) for item in window], batch):
            found |= dict(zip(places, _attempt(answer, [window[place] for place in places]), strict=True))
        for place in range(len(window)):
            line, one = line + 1, found[place]
            if isinstance(one, UserError):
                raise UserError(f"line {line}: {one}") from None
            yield one
    raise wrong


def _read(items: Iterator[Item], most: int) -> tuple[list[Item], UserError | None]:
    """The next items, and the error behind them."""
    window: list[Item] = []
    try:
        window.extend(islice(items, most))
    except UserError as error:
        return window, error
    return window, None


def _groups(sizes: list[int], batch: int) -> Iterator[list[int]]:
    """Which items share a batch."""
    order = sorted(range(len(sizes)), key=lambda place: sizes[place])
    for bucket, members in groupby(order, key=lambda place: bucket_of(sizes[place])):
        places, most = list(members), max(1, min(batch, BUDGET // max(bucket, 1)))
        yield from (places[begin : begin + most] for begin in range(0, len(places), most))


def _attempt(answer: Callable[[list[Item]], Sequence[Answer]], group: list[Item]) -> list[Answer | UserError]:
    """The answers; where there is an error, one by one, to know whose it is."""
    try:
        return list(answer(group))
    except UserError as error:
        return [error] if len(group) == 1 else [one for item in group for one in _attempt(answer, [item])]
