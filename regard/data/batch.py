"""Batches. Which examples make up the batch of a step is a function of the seed and the step, and of nothing else.

So a run that was stopped goes on with exactly the batches that it would have had.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard.data.album import Album
from regard.data.likely import Likely
from regard.data.store import Store
from regard.padding import padded
from regard.special import PADDING, START, STOP

IGNORED = -100  # a target that asks nothing of the model: torch's own word for it


class Batch(NamedTuple):
    """What a model is fed and what it should answer. `keep` is None where every token is real."""

    tokens: Int[Tensor, "B T"]
    targets: Int[Tensor, "B T"]
    keep: Bool[Tensor, "B T"] | None = None
    source: Int[Tensor, "B S"] | UInt8[Tensor, "P 3 Y X"] | Float16[Tensor, "P C y x"] | None = None
    source_keep: Bool[Tensor, "B S"] | None = None
    source_row: Int[Tensor, " B"] | None = None  # which row of the source each row answers; None: its own
    fresh: bool = True  # False: rows go on where those of the batch before stopped,
    anew: Bool[Tensor, " B"] | None = None  # but for those that begin anew
    likely: Int[Tensor, "B T K"] | None = None  # what teachers find likely to be wanted,
    probable: Float[Tensor, "B T K"] | None = None  # and how probable they find it

    @property
    def size(self) -> int:
        """B: how many rows. A tuple's own length must stay the number of its fields."""
        return len(self.tokens)

    @property
    def wanted(self) -> int:
        """How many targets ask something."""
        return int((self.targets != IGNORED).sum())

    @property
    def read(self) -> int:
        """How many tokens go into a model, padding left out: those of the source, and those that it is fed."""
        fed = self.tokens.numel() if self.keep is None else int(self.keep.sum())
        return fed + (0 if self.source_keep is None else int(self.source_keep.sum()))

    def to(self, device: torch.device) -> "Batch":
        """The batch where the model is."""
        if device.type == "cpu":
            return self
        moved: dict[str, Any] = {k: v.to(device) for k, v in self._asdict().items() if isinstance(v, Tensor)}
        return self._replace(**moved)

    def twice(self) -> "Batch":
        """The rows, and behind them the same rows once more; what several rows read together is there once."""
        shared = self.source_row is not None
        both = {
            name: torch.cat([part, part])
            for name, part in self._asdict().items()
            if isinstance(part, Tensor) and not (shared and name == "source")
        }
        return self._replace(**both)  # type: ignore[arg-type]

    def rows(self, part: int, parts: int) -> "Batch":
        """One of several equal shares of the rows, less the columns that are padding in all of them."""
        chosen = torch.tensor_split(torch.arange(self.size), parts)[part]
        if not len(chosen):  # fewer rows than parts: something to compute that counts for nothing
            first = self.rows(0, self.size)
            return first._replace(targets=torch.full_like(first.targets, IGNORED))
        if self.keep is None:
            anew = None if self.anew is None else self.anew[chosen]
            return self._replace(tokens=self.tokens[chosen], targets=self.targets[chosen], anew=anew)
        assert self.source is not None
        if self.source_row is not None:
            read, row = self.source_row[chosen].unique(return_inverse=True)
        else:
            read, row = chosen, None
        keep, source = self.keep[chosen], self.source[read]
        wide = int(keep.sum(1).max())
        share = Batch(self.tokens[chosen, :wide], self.targets[chosen, :wide], keep[:, :wide], source, source_row=row)
        if self.likely is not None and self.probable is not None:
            share = share._replace(likely=self.likely[chosen, :wide], probable=self.probable[chosen, :wide])
        if self.source_keep is None:
            return share
        source_keep = self.source_keep[chosen]
        long = int(source_keep.sum(1).max())
        return share._replace(source=source[:, :long], source_keep=source_keep[:, :long])


class Batches(Protocol):
    """An endless row of batches that can be entered anywhere."""

    per_epoch: int

    def at(self, step: int) -> Batch: ...


class Windows:
    """A text cut into windows; every epoch cuts at another place and shuffles."""

    def __init__(self, text: Store, rows: int, length: int, seed: int) -> None:
        self.tokens, self.seed = text.tokens, seed
        self.length = min(length, len(self.tokens) - 1)
        self.rows = min(rows, max(1, (len(self.tokens) - 1) // self.length))
        self.windows = max(1, (len(self.tokens) - self.length) // self.length)
        self.per_epoch = max(1, self.windows // self.rows)
        self._plan: tuple[int, NDArray[np.int64]] | None = None

    def at(self, step: int) -> Batch:
        epoch, place = divmod(step, self.per_epoch)
        if self._plan is None or self._plan[0] != epoch:
            random = np.random.default_rng([self.seed, epoch])
            offset = random.integers(0, min(self.length, len(self.tokens) - self.length * self.windows))
            self._plan = epoch, random.permutation(self.windows) * self.length + offset
        starts = self._plan[1][place * self.rows : (place + 1) * self.rows]
        return _in_step(np.stack([self.tokens[start : start + self.length + 1] for start in starts]))


class Streams:
    """A text cut into as many streams as there are rows; each batch goes on where the last one stopped.

    An epoch is every token once (but for fewer than there are rows); its last batch may be shorter. Some rows begin
    anew: a share `fresh` of them at random, and those in which a document begins right there. They are fed the start
    token, as whoever types a text feeds it to an empty state; a model that never met one is blind at first.
    """

    def __init__(self, text: Store, rows: int, length: int, fresh: float = 0.0, seed: int = 0) -> None:
        self.tokens, self.length, self.fresh, self.seed = text.tokens, length, fresh, seed
        self.rows = min(rows, max(1, (len(self.tokens) - 1) // length))
        self.stream = (len(self.tokens) - 1) // self.rows  # tokens in each row's share
        self.per_epoch = -(-self.stream // length)

    def at(self, step: int) -> Batch:
        begin = step % self.per_epoch * self.length
        end = min(begin + self.length, self.stream)
        rows = [self.tokens[row * self.stream + begin : row * self.stream + end + 1] for row in range(self.rows)]
        batch = _in_step(np.stack(rows))._replace(fresh=begin == 0)
        if not self.fresh:
            return batch
        drawn = np.random.default_rng([self.seed, step, 2]).random(self.rows) < self.fresh  # 2: numbers of its own
        anew = torch.from_numpy(drawn) | (batch.tokens[:, 0] == START)
        tokens = batch.tokens.clone()
        tokens[anew, 0] = START
        return batch._replace(tokens=tokens, anew=anew)


class Buckets:
    """Pairs of similar length together, as many as a budget of tokens allows; every epoch shuffles."""

    taught: Likely | None = None
    """What teachers say of the targets, where a student learns from them."""

    def __init__(self, source: Store, target: Store, budget: int, seed: int) -> None:
        self.source, self.target, self.seed = source, target, seed
        self.sizes = np.stack([source.lengths + 1, self.answer_lengths()], 1)  # the source has a stop
        self._cut(budget)

    def _cut(self, budget: int) -> None:
        self.order = np.lexsort(self.sizes.T)  # by target length, then by source length
        self.cuts = _cuts(self.sizes[self.order], budget)
        self.per_epoch = len(self.cuts)
        self._plan: tuple[int, list[NDArray[np.int64]]] | None = None

    def at(self, step: int) -> Batch:
        epoch, place = divmod(step, self.per_epoch)
        if self._plan is None or self._plan[0] != epoch:
            self._plan = epoch, self._shuffled(epoch)
        return self.batch(self._plan[1][place])

    def in_order(self, place: int) -> NDArray[np.int64]:
        """Which pairs one bucket holds, without shuffling: for looking at all of them once."""
        return self.order[slice(*self.cuts[place])]

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        source, keep = self.read(pairs)
        return self.answered(pairs)._replace(source=source, source_keep=keep)

    def answered(self, pairs: NDArray[np.int64]) -> Batch:
        """What is fed and what is wanted, without the source."""
        wanted = [self.wanted(i) for i in pairs]
        fed = [np.insert(self.target[i], 0, START)[: len(asked)] for i, asked in zip(pairs, wanted, strict=True)]
        tokens, keep = padded(fed, PADDING)
        targets, _ = padded(wanted, IGNORED)
        likely, probable = self.taught.of(pairs, targets.shape[1]) if self.taught else (None, None)
        return Batch(tokens, targets, keep, likely=likely, probable=probable)

    def targets_of(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which targets the rows of such a batch answer."""
        return pairs

    def read(self, pairs: NDArray[np.int64]) -> tuple[Tensor, Tensor | None]:
        """The sources of a batch, and which of their positions are real."""
        return padded([np.append(self.source[i], STOP) for i in pairs], PADDING)

    def wanted(self, pair: int) -> NDArray[np.integer]:
        """y_1 … y_n, and a stop, since the model decides how long its answer is."""
        return np.append(self.target[pair], STOP)

    def answer_lengths(self) -> NDArray[np.int64]:
        """How many tokens are wanted for each source."""
        return self.target.lengths + 1

    def _shuffled(self, epoch: int) -> list[NDArray[np.int64]]:
        """Pairs of one size change places, then whole batches do: the sizes of batches stay what they were."""
        random = np.random.default_rng([self.seed, epoch])
        tie = random.random(len(self.sizes))
        order = np.lexsort([tie, *self.sizes.T])
        batches = [order[slice(*cut)] for cut in self.cuts]
        return [batches[i] for i in random.permutation(len(batches))]


class InStep(Buckets):
    """Pairs where the source says how long the answer is: one class for a text, one tag for each of its tokens.

    No stop is wanted, and nothing at all where the target is padding.
    """

    def wanted(self, pair: int) -> NDArray[np.integer]:
        target = self.target[pair].astype(np.int64)
        return np.where(target == PADDING, IGNORED, target)

    def answer_lengths(self) -> NDArray[np.int64]:
        return self.target.lengths


class Captions(Buckets):
    """Pictures, each with all that is said of it: a picture is read once, and every caption goes on from there.

    `budget` counts the tokens of captions. In training each picture comes a little changed each time.
    """

    def __init__(self, source: Album, target: Store, budget: int, seed: int) -> None:
        self.album, self.target, self.seed = source, target, seed
        lengths = np.maximum.reduceat(target.lengths + 1, source.first[:-1])  # of the longest caption of each picture
        self.sizes = np.stack([np.zeros_like(lengths), lengths * np.diff(source.first)], 1)
        self._cut(budget)

    def at(self, step: int) -> Batch:
        batch = super().at(step)
        assert batch.source is not None
        random = np.random.default_rng([self.seed, step, 1])  # 1: not the numbers that shuffle
        return batch._replace(source=torch.from_numpy(self.album.changed(batch.source.numpy(), random)))

    def batch(self, pictures: NDArray[np.int64]) -> Batch:
        first = self.album.first
        counts = first[pictures + 1] - first[pictures]
        row = torch.from_numpy(np.repeat(np.arange(len(pictures)), counts))
        read = torch.from_numpy(self.album.pictures[pictures])
        return self.answered(self.targets_of(pictures))._replace(source=read, source_row=row)

    def targets_of(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """All captions of these pictures."""
        first = self.album.first
        return np.concatenate([np.arange(first[i], first[i + 1]) for i in pairs])


def _cuts(sizes: NDArray[np.int64], budget: int) -> list[tuple[int, int]]:
    """Where to cut a row of sizes so that each piece, padded, stays within the budget."""
    cuts: list[tuple[int, int]] = []
    begin, widest = 0, np.zeros(2, np.int64)
    for end, size in enumerate(sizes):
        wider = np.maximum(widest, size)
        if end > begin and wider.sum() * (end + 1 - begin) > budget:
            cuts.append((begin, end))
            begin, wider = end, size
        widest = wider
    return [*cuts, (begin, len(sizes))]


def _in_step(rows: NDArray[np.integer]) -> Batch:
    """Every token is fed, and the one after it wanted."""
    tokens = torch.from_numpy(rows.astype(np.int64))
    return Batch(tokens[:, :-1], tokens[:, 1:])
