"""A search as a conversation: it says what is to be fed to a model, and is told the scores, and which are the best.

So whoever computes may be one model, or a server that answers many searches at once in one batch.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.state import State
from regard.models.model import Model, Source

Fed: TypeAlias = tuple[Tensor, State]  # scores (B, V) behind the last token, and the state there
Result = TypeVar("Result")


class Read(NamedTuple):
    """A first state is wanted: one that knows this source, or so many rows that have read nothing."""

    source: Source | None = None
    rows: int = 1


class Feed(NamedTuple):
    """These tokens are to be fed to this state."""

    tokens: Int[Tensor, "B T"]
    state: State
    keep: Bool[Tensor, "B T"] | None = None
    group_size: int = 1  # k rows that share what they have read, as beams do
    beams: int = 1  # K: how many they may become
    every: bool = False  # scores are wanted behind every token (B, T, V), not behind the last alone


class Rank(NamedTuple):
    """Of these scores so many are wanted, the best of every row, with their log p; with `every`, all log p besides."""

    scores: Float[Tensor, "R V"]
    number: int
    every: bool = False


class Compute(NamedTuple):
    """This is to be computed where the model is: what answers at once, without a state."""

    compute: Callable[[], Any]


Request: TypeAlias = Read | Feed | Rank | Compute  # what a search wants of whoever computes


def fed(model: Model, feed: Feed) -> Fed:
    """What a model answers."""
    if feed.every:
        return model(feed.tokens, feed.state, feed.keep)
    if feed.tokens.shape[1] == 1 and feed.keep is None:
        return model.step(feed.tokens[:, 0], feed.state)
    return model.prefill(feed.tokens, feed.state, feed.keep)


def relayed(
    search: Generator[Any, Any, Result], reply: Callable[[Any], Generator[Any, Any, Any]]
) -> Generator[Any, Any, Result]:
    """A search whose every word `reply` answers, saying itself what it wants for that; its result is handed back."""
    told: Any = None
    while True:
        try:
            said = search.send(told)
        except StopIteration as end:
            result: Result = end.value
            return result
        told = yield from reply(said)


def answered(model: Model, search: Generator[Any, Any, Result]) -> Generator[Any, None, Result]:
    """What a search says besides, with one model to answer it; its result is handed back."""
    return (yield from relayed(search, partial(_reply, model)))


def _reply(model: Model, said: Any) -> Generator[Any, None, Any]:
    if isinstance(said, Feed):
        return fed(model, said)
    if isinstance(said, Read):
        return model.start(said.source, said.rows)
    if isinstance(said, Rank):
        return model.ranked(*said)
    if isinstance(said, Compute):
        return said.compute()
    yield said
    return None


def found_by(model: Model, search: Generator[Any, Any, Result]) -> Result:
    """The result of a search that says nothing besides."""
    try:
        said = next(answered(model, search))
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError(f"a search for a result said {said}")
