"""The laws of batches: the step alone decides which they are, nothing is lost or seen twice, no budget is broken."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import store
from regard.data.batch import IGNORED, Batch, Buckets, InStep, Streams, Windows
from regard.data.store import Store, gather
from regard.errors import UserError
from regard.text import PADDING, START, STOP

many = settings(max_examples=60)
small = st.integers(1, 9)


def counting(size: int) -> Store:
    """A text in which every token is another one: 0, 1, 2, …"""
    return store.gather([range(size)])


@st.composite
def texts(draw) -> dict[str, object]:
    """A text of different tokens, and how to cut it."""
    return {"text": counting(draw(st.integers(2, 200))), "rows": draw(small), "length": draw(small)}


@st.composite
def pairs(draw) -> Buckets:
    """Pairs whose tokens all differ, so that each can be told from every other."""
    sizes = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40))
    names = iter(range(10, 10_000))
    sides = [[[next(names) for _ in range(size[side])] for size in sizes] for side in (0, 1)]
    budget, seed = draw(st.integers(1, 120)), draw(st.integers(0, 3))
    return Buckets(store.gather(sides[0]), store.gather(sides[1]), budget, seed)


def epoch_of(batches, epoch: int = 0) -> list[Batch]:
    return [batches.at(epoch * batches.per_epoch + place) for place in range(batches.per_epoch)]


def contents(batch: Batch) -> list[tuple[tuple[int, ...], ...]]:
    """Row by row what is really in a batch, without its padding: source, fed, wanted."""
    found = []
    for row in range(batch.size):
        keep = slice(None) if batch.keep is None else batch.keep[row]
        source = () if batch.source is None else tuple(batch.source[row][batch.source_keep[row]].tolist())
        found.append((source, tuple(batch.tokens[row][keep].tolist()), tuple(batch.targets[row][keep].tolist())))
    return found


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(one, other, strict=True))


def is_pure(make, steps: list[int]) -> bool:
    """Whether a batch is the same whatever was asked for before."""
    used = make()
    asked = [used.at(step) for step in steps]
    return all(same(batch, make().at(step)) for step, batch in zip(steps, asked, strict=True))


any_steps = st.lists(st.integers(0, 60), min_size=1, max_size=8)


# Texts


@many
@given(texts(), st.integers(0, 3), any_steps)
def test_the_step_alone_decides_a_batch_of_text(cut, seed, steps):
    assert is_pure(lambda: Windows(**cut, seed=seed), steps)
    assert is_pure(lambda: Streams(**cut), steps)


@many
@given(texts(), st.integers(0, 3), st.integers(0, 3))
def test_windows_are_disjoint_and_leave_out_little(cut, seed, epoch):
    windows = Windows(**cut, seed=seed)
    found = [row for batch in epoch_of(windows, epoch) for row in contents(batch)]
    for _, fed, wanted in found:
        assert len(fed) == windows.length <= cut["length"]
        assert fed[1:] == wanted[:-1]
        assert all(b == a + 1 for a, b in pairwise((*fed, wanted[-1])))
    predicted = Counter(token for _, _, wanted in found for token in wanted)
    assert set(predicted.values()) == {1}
    # Left out: what lies before the first window and behind the last, and windows that fill no batch.
    assert len(predicted) > len(cut["text"].tokens) - 1 - (2 + cut["rows"]) * windows.length


@many
@given(texts(), st.integers(0, 3))
def test_windows_stay_within_the_rows_asked_for(cut, seed):
    windows = Windows(**cut, seed=seed)
    assert all(1 <= batch.size <= cut["rows"] and batch.keep is None and batch.fresh for batch in epoch_of(windows))


def test_every_epoch_of_windows_has_another_order_and_another_cut():
    windows = Windows(counting(1000), 4, 10, seed=0)
    orders = [[tuple(batch.tokens[:, 0].tolist()) for batch in epoch_of(windows, epoch)] for epoch in range(4)]
    assert len(set(map(tuple, orders))) == 4
    assert len({min(min(row) for row in order) % 10 for order in orders}) > 1
    assert not same(windows.at(0), Windows(counting(1000), 4, 10, seed=1).at(0))


@many
@given(texts())
def test_streams_go_on_exactly_where_they_stopped(cut):
    streams = Streams(**cut)
    batches = epoch_of(streams)
    assert [batch.fresh for batch in batches] == [True] + [False] * (len(batches) - 1)
    for batch, following in pairwise(batches):
        assert torch.equal(batch.targets[:, -1], following.tokens[:, 0])
        assert torch.equal(batch.tokens[:, -1] + 1, following.tokens[:, 0])
        assert batch.size == following.size
    assert same(streams.at(len(batches)), batches[0])


@many
@given(texts())
def test_streams_predict_every_token_once_but_for_fewer_than_rows(cut):
    streams = Streams(**cut)
    predicted = Counter(token for batch in epoch_of(streams) for token in batch.targets.flatten().tolist())
    assert set(predicted.values()) == {1}
    assert len(cut["text"].tokens) - 1 - len(predicted) < streams.rows <= cut["rows"]
    assert all(batch.tokens.shape[1] <= cut["length"] for batch in epoch_of(streams))


def test_a_text_shorter_than_a_row_is_one_row():
    for batches in (Windows(counting(4), 8, 16, seed=0), Streams(counting(4), 8, 16)):
        assert batches.per_epoch == 1
        assert contents(batches.at(5)) == [((), (0, 1, 2), (1, 2, 3))]


# Pairs


@many
@given(pairs(), any_steps)
def test_the_step_alone_decides_a_batch_of_pairs(buckets, steps):
    assert is_pure(lambda: Buckets(buckets.source, buckets.target, 50, buckets.seed), steps)


@many
@given(pairs(), st.integers(0, 3))
def test_every_pair_is_seen_once_in_an_epoch(buckets, epoch):
    found = [row for batch in epoch_of(buckets, epoch) for row in contents(batch)]
    expected = []
    for source, target in (
        (buckets.source[i].tolist(), buckets.target[i].tolist()) for i in range(len(buckets.source))
    ):
        expected.append(((*source, STOP), (START, *target), (*target, STOP)))
    assert sorted(found) == sorted(expected)
    in_order = [row for place in range(buckets.per_epoch) for row in contents(buckets.batch(buckets.in_order(place)))]
    assert sorted(in_order) == sorted(expected)


@many
@given(pairs(), st.integers(0, 3))
def test_no_batch_of_pairs_is_over_its_budget(buckets, epoch):
    budget = 60
    for batch in epoch_of(Buckets(buckets.source, buckets.target, budget, 0), epoch):
        assert batch.tokens.numel() + batch.source.numel() <= budget or batch.size == 1


@many
@given(pairs())
def test_padding_is_padding(buckets):
    for batch in epoch_of(buckets):
        assert (batch.tokens[~batch.keep] == PADDING).all()
        assert (batch.targets[~batch.keep] == IGNORED).all()
        assert (batch.source[~batch.source_keep] == PADDING).all()
        assert batch.wanted == int(batch.keep.sum())
        assert bool(batch.keep.any(0).all())
        assert bool(batch.source_keep.any(0).all())


def some_lengths(count: int) -> tuple[Store, Store]:
    """Sources as long as sentences are, and targets a little longer or shorter."""
    random = np.random.default_rng(0)
    sources = np.clip(random.lognormal(2.6, 0.6, count), 1, 100).astype(int)
    targets = np.clip(sources * random.normal(1.1, 0.2, count), 1, 120).astype(int)
    return store.gather([[5] * n for n in sources]), store.gather([[5] * n for n in targets])


def test_tokens_read_are_those_of_both_sides_without_padding():
    """A classifier wants one token of a text and reads all of it."""
    source, target = gather([[5, 6, 7], [5]]), gather([[8], [9]])
    batch = InStep(source, target, 100, seed=0).at(0)
    assert (batch.wanted, batch.read) == (2, 4 + 2 + 2)  # tokens, a stop for each source, a start for each answer
    text = Streams(gather([list(range(10))]), 1, 9).at(0)
    assert text.read == text.wanted == 9


def test_every_epoch_of_pairs_has_another_order():
    buckets = Buckets(*some_lengths(2000), 1000, seed=0)
    orders = [[tuple(batch.tokens.shape) for batch in epoch_of(buckets, epoch)] for epoch in range(3)]
    assert orders[0] != orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[1]), "the sizes of batches must stay what they were"


def test_pairs_of_one_size_change_places_between_epochs():
    buckets = Buckets(store.gather([[i + 10] for i in range(40)]), store.gather([[3]] * 40), 40, seed=0)
    together = [{frozenset(row[0] for row in contents(batch)) for batch in epoch_of(buckets, e)} for e in (0, 1)]
    assert together[0] != together[1]


def test_bucketing_wastes_far_less_than_batching_in_file_order():
    source, target = some_lengths(5000)
    buckets = Buckets(source, target, 2000, seed=0)
    cells = sum(batch.tokens.numel() + batch.source.numel() for batch in epoch_of(buckets))
    real = sum(int(batch.keep.sum() + batch.source_keep.sum()) for batch in epoch_of(buckets))
    wasted = 1 - real / cells
    sizes, naive, begin = buckets.sizes, 0, 0
    for end in range(1, len(sizes) + 1):  # the same budget, in the order of the file
        if end == len(sizes) or sizes[begin : end + 1].max(0).sum() * (end + 1 - begin) > 2000:
            naive += sizes[begin:end].max(0).sum() * (end - begin)
            begin = end
    assert wasted < 0.15
    assert wasted < 0.4 * (1 - real / naive)


# Shares of a batch


@many
@given(pairs(), st.integers(1, 12))
def test_shares_of_pairs_partition_the_batch(buckets, parts):
    for batch in epoch_of(buckets):
        shares = [batch.rows(part, parts) for part in range(parts)]
        real = [share for share in shares if share.wanted]
        assert [row for share in real for row in contents(share)] == contents(batch)
        assert sum(share.wanted for share in shares) == batch.wanted
        assert all(share.size >= 1 for share in shares), "each process must have something to compute"
        assert all(bool(share.keep.any(0).all()) for share in real), "no column of nothing but padding"
        assert max(share.size for share in real) - min(share.size for share in real) <= 1


@many
@given(texts(), st.integers(1, 12))
def test_shares_of_a_text_partition_the_batch(cut, parts):
    for batches in (Streams(**cut), Windows(**cut, seed=0)):
        for batch in epoch_of(batches):
            shares = [batch.rows(part, parts) for part in range(parts)]
            assert [row for share in shares if share.wanted for row in contents(share)] == contents(batch)
            assert sum(share.wanted for share in shares) == batch.wanted
            assert all(share.fresh == batch.fresh and share.size >= 1 for share in shares)


# On the disk


@pytest.mark.parametrize("vocabulary", [2, 2**16, 2**16 + 1, 300_000])
@settings(max_examples=30)
@given(data=st.data())
def test_a_store_gives_back_what_was_written(vocabulary, data, tmp_path_factory):
    tokens = st.lists(st.integers(0, vocabulary - 1), max_size=20)
    sequences = [*data.draw(st.lists(tokens, max_size=10)), [vocabulary - 1]]
    path = tmp_path_factory.mktemp("store") / "part"
    store.write(path, iter(sequences), vocabulary)
    for found in (store.read(path), store.gather(sequences)):
        assert [found[i].tolist() for i in range(len(found))] == sequences
        assert found.lengths.tolist() == [len(sequence) for sequence in sequences]


@pytest.mark.parametrize("sequences", [[], [[]], [[], [], []]])
def test_a_store_of_nothing(sequences, tmp_path):
    store.write(tmp_path / "part", sequences, 10)
    found = store.read(tmp_path / "part")
    assert [found[i].tolist() for i in range(len(found))] == sequences
    assert len(found.tokens) == 0
    assert found.lengths.tolist() == [0] * len(sequences)


def test_a_store_whose_tokens_do_not_fit_its_ends_is_refused(tmp_path):
    store.write(tmp_path / "part", [range(3), range(3, 10)], 10)
    tokens = tmp_path / "part.tokens"
    tokens.write_bytes(tokens.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"part\.tokens is damaged: it wants 10 tokens; delete .* and train again"):
        store.read(tmp_path / "part")


def test_a_store_is_cut_in_two(tmp_path):
    store.write(tmp_path / "part", [range(3), range(3, 10)], 10)
    left, right = store.read(tmp_path / "part").cut(4)
    assert (left[0].tolist(), right[0].tolist()) == (list(range(4)), list(range(4, 10)))
    assert (len(left), len(right)) == (1, 1)
