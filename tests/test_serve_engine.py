"""The engine answers every search as if it were the only one."""

import queue
import threading

import pytest
import torch
from serving import Asked, asked, heard, results
from shapes import unchecked
from zoo import WRITES, make, tokens

from regard.engine.choose import prepare
from regard.errors import UserError
from regard.models.feeding import Compute, Feed, Read, Request, found_by
from regard.serve.engine import Draining, Ended, Engine, Full, Job

SEEDS = range(1, 8)


def alone(model, search):
    """What a search says to one model that answers it."""
    said = []

    def listening():
        talk, told = search.asking(), None
        while True:
            try:
                one = talk.send(told)
            except StopIteration:
                return
            told = None
            if isinstance(one, Request):
                told = yield one
            else:
                said.append(one)

    with torch.inference_mode():
        found_by(model, listening())
    return said


@pytest.fixture
def engine_of():
    engines = []

    def make_engine(model, **more):
        engines.append(Engine(model, **more))
        return engines[-1]

    yield make_engine
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("name", WRITES)
def test_an_answer_does_not_depend_on_its_neighbours(name, engine_of):
    """To the last bit of every score, in 32 bits: one at a time, and all at once in any order."""
    with unchecked():
        engine = engine_of(make(name, torch.float32), rows=64)
        searches = [asked(name, seed) for seed in SEEDS]
        one_by_one = [results(engine, [search.asking()])[0] for search in searches]
        assert results(engine, [search.asking() for search in searches]) == one_by_one
        assert results(engine, [search.asking() for search in reversed(searches)]) == one_by_one[::-1]


@pytest.mark.parametrize("name", WRITES)
def test_an_answer_of_the_native_engine_does_not_depend_on_them_either(name, engine_of, monkeypatch):
    """Nor is a step ever left to torch, with whom its bits would change."""
    native = prepare(make(name, torch.float32))
    if not native.row_by_row:
        pytest.skip("it answers by torch")
    with unchecked():
        engine = engine_of(native, rows=64)
        by_torch = native.model.prefill
        monkeypatch.setattr(
            native.model, "prefill", lambda fed, *more: by_torch(fed, *more) if fed.shape[1] > 1 else None
        )
        searches = [asked(name, seed) for seed in SEEDS]
        one_by_one = [results(engine, [search.asking()])[0] for search in searches]
        assert results(engine, [search.asking() for search in searches]) == one_by_one
        assert results(engine, [search.asking() for search in reversed(searches)]) == one_by_one[::-1]


@pytest.mark.parametrize("name", WRITES)
def test_it_answers_as_the_model_would(name, engine_of):
    """The same tokens as without a server, in 64 bits, where rounding decides nothing."""
    with unchecked():
        model = make(name)
        engine = engine_of(model)
        searches = [asked(name, seed) for seed in SEEDS]
        for search, found in zip(searches, results(engine, [one.asking() for one in searches]), strict=True):
            (wanted,), (got,) = alone(model, search), found
            if search.beam:
                assert [one[0] for one in got] == [one[0] for one in wanted]
            else:
                assert got[0] == wanted[0]


def test_a_long_prompt_is_read_between_the_steps_of_others(engine_of):
    """Whoever is being answered is not kept waiting until it has been read."""
    model = make("lm-lstm", torch.float32)
    engine, order = engine_of(model), []
    there = threading.Event()

    def short():
        state = yield Read()
        for number in range(200):
            _, state = yield Feed(tokens(1, 1), state)
            order.append(number)
            if number == 3:
                there.set()

    def long():
        state = yield Read()
        yield Feed(tokens(1, 5000), state)
        order.append("read")

    first, second = queue.SimpleQueue(), queue.SimpleQueue()
    engine.submit(Job(short(), first.put))
    assert there.wait(60)
    engine.submit(Job(long(), second.put))
    heard(second)
    heard(first)
    assert order.index("read") >= 4 + 5000 // 128 - 1


def endless():
    state = yield Read()
    while True:
        _, state = yield Feed(torch.ones(1, 1, dtype=torch.long), state)
        yield "more"


def test_who_is_gone_is_gone_before_the_next_step(engine_of):
    engine, box = engine_of(make("lm-gru", torch.float32)), queue.SimpleQueue()
    job = Job(endless(), box.put)
    engine.submit(job)
    assert box.get(timeout=60) == "more"
    engine.cancel(job)
    assert heard(box)[-1:] in (["more"], [])
    assert not engine.running


def test_who_is_gone_while_waiting_never_runs(engine_of):
    engine, box = engine_of(make("lm-gru", torch.float32), rows=1), queue.SimpleQueue()
    running, waiting = Job(endless(), lambda said: None), Job(endless(), box.put)
    engine.submit(running)
    engine.submit(waiting)
    engine.cancel(waiting)
    engine.cancel(running)
    assert heard(box) == []


def test_a_full_queue_says_so(engine_of):
    engine, begun = engine_of(make("lm-gru", torch.float32), rows=1, queue=2), threading.Event()
    jobs = [Job(endless(), lambda said: begun.set()) for _ in range(4)]
    engine.submit(jobs[0])
    assert begun.wait(60)
    engine.submit(jobs[1])
    engine.submit(jobs[2])
    with pytest.raises(Full) as full:
        engine.submit(jobs[3])
    assert full.value.seconds >= 1
    for job in jobs:
        engine.cancel(job)


def test_closing_finishes_what_runs_and_what_waits(engine_of):
    engine = engine_of(make("lm-gru", torch.float32), rows=2)
    searches, boxes = [asked("lm-gru", seed) for seed in range(8)], [queue.SimpleQueue() for _ in range(8)]
    for search, box in zip(searches, boxes, strict=True):
        engine.submit(Job(search.asking(), box.put))
    assert engine.close(60)
    assert all(heard(box) for box in boxes)
    with pytest.raises(Draining):
        engine.submit(Job(endless(), print))


def test_closing_ends_what_takes_too_long(engine_of):
    engine, box = engine_of(make("lm-gru", torch.float32)), queue.SimpleQueue()
    engine.submit(Job(endless(), box.put))
    assert not engine.close(0)
    heard(box)


def test_a_deadline_ends_a_search(engine_of):
    engine, box = engine_of(make("lm-gru", torch.float32)), queue.SimpleQueue()
    engine.submit(Job(endless(), box.put, deadline=0.0))
    assert box.get(timeout=60) == Ended(late=True)


def test_a_mistake_of_one_search_is_its_own(engine_of):
    def wrong():
        yield Read()
        raise UserError("not this one")

    engine = engine_of(make("lm-gru", torch.float32))
    box = queue.SimpleQueue()
    engine.submit(Job(wrong(), box.put))
    with pytest.raises(UserError, match="not this one"):
        heard(box)
    assert results(engine, [asked("lm-gru", 1).asking()])


def test_what_breaks_a_step_ends_its_batch_and_no_more(engine_of, capsys):
    def past_the_end():
        state = yield Read()
        for _ in range(60):
            _, state = yield Feed(tokens(1, 1), state)

    engine = engine_of(make("lm-transformer-learned", torch.float32))
    box = queue.SimpleQueue()
    engine.submit(Job(past_the_end(), box.put))
    with pytest.raises(UserError, match="learned position table"):
        heard(box)
    assert results(engine, [asked("lm-transformer-learned", 1).asking()])


def test_what_is_answered_at_once_runs_where_the_model_is(engine_of):
    def asking():
        yield (yield Compute(lambda: threading.current_thread().name))

    assert results(engine_of(make("lm-gru", torch.float32)), [asking()]) == [["engine"]]


def test_numbers_of_8_bits_are_answered_one_at_a_time(engine_of):
    """Their scale is that of all rows together, so that neighbours would be noticed."""
    from regard.config import LanguageModel, Recurrent
    from regard.models.build import build
    from regard.models.precision import with_precision

    torch.manual_seed(0)
    model = with_precision(build(LanguageModel(Recurrent("lstm", width=128, layers=1)), 300), "int8")
    engine = engine_of(model)
    assert not engine.sizes.numbers
    searches = [Asked(None, tokens(1, 3), 0, 1, seed) for seed in range(6)]
    one_by_one = [results(engine, [search.asking()])[0] for search in searches]
    assert results(engine, [search.asking() for search in searches]) == one_by_one
