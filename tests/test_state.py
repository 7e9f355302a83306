"""States are values, also the one that grows in place."""

import threading
from typing import NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.layers.state import Growing, batch_size, leaves, like, map_state, select


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 40)), min_size=1, max_size=30), st.booleans())
def test_growing_behaves_like_concatenation(history, inference):
    """Append to any earlier value, in any order: each value stays what concatenation would have made it."""
    with torch.inference_mode(inference), torch.no_grad():
        first = torch.randn(2, 3, 1)
        values, expected = [Growing(first)], [first]
        for which, size in history:
            parent, more = which % len(values), torch.randn(2, size, 1)
            values.append(values[parent].append(more))
            expected.append(torch.cat([expected[parent], more], 1))
        for value, wanted in zip(values, expected, strict=True):
            assert torch.equal(value.value, wanted)
            assert len(value) == wanted.shape[1]


def test_growing_does_not_copy_when_it_need_not():
    with torch.no_grad():
        value = Growing(torch.randn(1, 100, 4)).append(torch.randn(1, 1, 4))
        where = value.value.data_ptr()
        for _ in range(20):
            value = value.append(torch.randn(1, 1, 4))
            assert value.value.data_ptr() == where


def test_two_threads_appending_to_one_value_have_a_future_each():
    with torch.no_grad():
        for _ in range(50):
            value = Growing(torch.zeros(1, 3, 4)).append(torch.zeros(1, 1, 4))
            futures: dict[int, Growing] = {}
            start = threading.Barrier(4)

            def grow(number: int, value=value, futures=futures, start=start) -> None:
                with torch.no_grad():
                    start.wait()
                    futures[number] = value.append(torch.full((1, 1, 4), float(number)))

            threads = [threading.Thread(target=grow, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all((future.value[:, -1] == number).all() for number, future in futures.items())


def test_growing_never_writes_into_the_tensor_it_was_made_of():
    with torch.no_grad():
        whole = torch.zeros(1, 10, 1)
        Growing(whole[:, :5]).append(torch.ones(1, 1, 1))
        assert whole.sum() == 0


def test_growing_carries_gradients():
    first, second = torch.randn(1, 2, 3, requires_grad=True), torch.randn(1, 1, 3, requires_grad=True)
    Growing(first).append(second).value.pow(2).sum().backward()
    torch.testing.assert_close(first.grad, 2 * first)
    torch.testing.assert_close(second.grad, 2 * second)


def test_a_value_grown_in_inference_mode_can_grow_outside_it():
    with torch.inference_mode():
        value = Growing(torch.ones(1, 2, 1)).append(torch.ones(1, 1, 1))
    with torch.no_grad():
        assert value.append(torch.zeros(1, 1, 1)).value.flatten().tolist() == [1, 1, 1, 0]


def test_select_keeps_the_structure():
    state = (torch.arange(3), None, (Growing(torch.arange(6).view(3, 2)), ()))
    chosen = select(state, torch.tensor([2, 0]))
    assert chosen[0].tolist() == [2, 0]
    assert chosen[1] is None
    assert chosen[2][0].value.tolist() == [[4, 5], [0, 1]]
    assert batch_size(chosen) == 2


class Named(NamedTuple):
    first: torch.Tensor
    rest: tuple


def test_names_stay():
    state = (None, Named(torch.arange(3), (Named(torch.arange(3) + 1, ()),)))
    for other in (
        select(state, torch.tensor([0, 1, 2])),
        map_state(torch.clone, state),
        like(state, leaves(state)),
    ):
        assert isinstance(other[1], Named)
        assert other[1].first.tolist() == [0, 1, 2]
        assert other[1].rest[0].first.tolist() == [1, 2, 3]


def test_leaves_and_like_are_inverse():
    state = ((torch.zeros(2), torch.ones(2)), None, torch.full((2,), 2.0))
    doubled = like(state, [leaf * 2 for leaf in leaves(state)])
    assert [leaf[0].item() for leaf in leaves(doubled)] == [0, 2, 4]
    assert leaves(map_state(lambda leaf: leaf + 1, state))[2][0] == 3
