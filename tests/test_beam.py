"""Beam search, over every model: against argmax, against trying everything, against a search written the slow way."""

import math
from dataclasses import replace
from functools import cache
from itertools import chain, pairwise

import pytest
import torch
from shapes import unchecked
from torch import Tensor
from zoo import MODELS, READS_TEXT, VOCABULARY, WRITES, begin, make, one_of, some_source, source_for, tokens

import regard
from regard import Source, UserError, select
from regard.decode.beam import BeamSearch, Hypothesis, beam
from regard.decode.choose import argmax
from regard.decode.rules import AtLeast, Bounds, NoRepeatedNgram
from regard.decode.score import score
from regard.decode.stream import stream
from regard.decode.wording import Wording, phrase_of
from regard.layers.state import State
from regard.models.model import Model
from regard.models.ranking import top
from regard.text import train_tokenizer

every_model = pytest.mark.parametrize("name", WRITES)
START, STOP = 1, 2
WORDS = train_tokenizer("words", ["a b c d e f g"])  # as many tokens as the models know


def wording(*must: str, never: tuple[str, ...] = ()) -> Wording:
    """What an answer must and must not hold."""
    spelled = [tuple(phrase_of(WORDS, [text]) for text in texts) for texts in (must, never)]
    return Wording(WORDS, *spelled, patient=False)


@cache
@unchecked()
def model_of(name: str, trained: bool) -> Model:
    """A model as it is made, or one that has learnt a little: to repeat what it reads and to stop."""
    model = make(name)
    if trained:
        torch.manual_seed(2)
        optimiser = torch.optim.Adam(model.parameters(), 0.01)
        for _ in range(25):
            fed = torch.randint(3, VOCABULARY, (16, 4)).repeat(1, 2)
            fed[:, 0], wanted = START, fed.roll(-1, 1)
            wanted[:, -1] = STOP
            source = Source(fed[:, 1:4]) if name in READS_TEXT else source_for(name, 16)
            scores, _ = model(fed, model.start(source, batch=16))
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


every_weight = pytest.mark.parametrize("trained", [False, True], ids=["new", "trained"])


class Uncached(Model):
    """Remembers nothing but the tokens, and reads them all again at every step."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def prefill(self, tokens: Tensor, state: State, keep: Tensor | None = None) -> tuple[Tensor, State]:
        written, first = state
        written = tokens if written is None else torch.cat([written, tokens], 1)
        return self.model(written, first)[0][:, -1], (written, first)


def exact(a: list[list[Hypothesis]], b: list[list[Hypothesis]]) -> None:
    assert [[h.tokens for h in row] for row in a] == [[h.tokens for h in row] for row in b]
    for left, right in zip(chain(*a), chain(*b), strict=True):
        assert left.score == pytest.approx(right.score, abs=1e-9)
        assert left.logs == pytest.approx(right.logs, abs=1e-9)
        assert left.finished == right.finished


def first(batch: int) -> Tensor:
    return torch.full((batch, 1), START)


@unchecked()
@torch.no_grad()
def slowly(model: Model, state: State, width: int, limit: int) -> list[tuple[float, list[int], list[float]]]:
    """The same search for one row: lists, no states carried, no early end. Sums, tokens and each one's log."""
    going: list[tuple[float, list[int], list[float]]] = [(0.0, [], [])]
    found: list[tuple[float, list[int], list[float]]] = []
    for made in range(1, limit + 1):
        grown = []
        for total, written, logs in going:
            scores, _ = model(torch.tensor([[START, *written]]), state)
            for token, log in enumerate(scores[0, -1].log_softmax(-1).tolist()):
                grown.append((total + log, [*written, token], [*logs, log]))
        grown = sorted(grown, key=lambda one: -one[0])[: width - len(found)]
        ended = [one for one in grown if one[1][-1] == STOP or made == limit]
        found += ended
        going = [one for one in grown if one not in ended]
    return found


def judged(found: list[tuple[float, list[int], list[float]]], length) -> list[Hypothesis]:
    """What a search found, best first by a measure of length."""
    hypotheses = [
        Hypothesis(w[:-1] if w[-1] == STOP else w, s / length(len(w)), logs, w[-1] == STOP) for s, w, logs in found
    ]
    return sorted(hypotheses, key=lambda one: -one.score)


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_rows_of_a_group_share_and_still_are_rows_of_their_own(name):
    """Steps, several tokens at once, reordering, dropping, and going apart: as if no row knew of another."""
    model = model_of(name, False)
    source = source_for(name, 2, keep=torch.tensor([[True] * 4, [True, True, True, False]]))
    start = model.start(source, batch=2)
    _, start = model(tokens(2, 3), start, torch.tensor([[True, True, True], [False, True, True]]))
    grouped = select(start, torch.tensor([[0, 0, 0], [1, 1, 1]]))
    apart = select(start, torch.tensor([0, 0, 0, 1, 1, 1]))

    def both(fed: Tensor, keep: Tensor | None = None) -> None:
        nonlocal grouped, apart
        left, grouped = model(fed, grouped, keep)
        right, apart = model(fed, apart, keep)
        kept = torch.ones_like(fed, dtype=torch.bool) if keep is None else keep
        torch.testing.assert_close(left[kept], right[kept], rtol=1e-9, atol=1e-10)

    both(tokens(6, 1))
    both(tokens(6, 2))
    for rows in ([[2, 0, 0], [4, 4, 3]], [[1, 0], [5, 3]], [[1, 0], [3, 2]], [[3, 2, 3]]):  # the last drops a group
        grouped, apart = select(grouped, torch.tensor(rows)), select(apart, torch.tensor(rows).flatten())
        both(tokens(len(apart_rows := list(chain(*rows))), 1))
        both(tokens(len(apart_rows), 3), torch.tensor([[True, False, True]]).expand(len(apart_rows), -1))
    grouped, apart = select(grouped, torch.tensor([2, 0])), select(apart, torch.tensor([2, 0]))
    both(tokens(2, 2))


@every_model
@every_weight
def test_width_1_is_argmax(name, trained):
    model = model_of(name, trained)
    state = begin(model, name, 4)
    found = beam(model, first(4), state, BeamSearch(beam=1, limit=7, stop=STOP))
    streamed = torch.stack(list(stream(model, first(4), state, argmax, Bounds(limit=7, stop=STOP))), 1).tolist()
    for row, (only,) in zip(streamed, found, strict=True):
        assert only.tokens == (row[: row.index(STOP)] if STOP in row else row)
        assert only.finished == (STOP in row)


@every_model
@every_weight
def test_as_wide_as_the_space_is_trying_everything(name, trained):
    model = model_of(name, trained)
    state, limit = begin(model, name, 1), 3
    every = [[a] for a in range(VOCABULARY)]
    for _ in range(limit - 1):
        every = [s for s in every if s[-1] == STOP] + [
            [*s, a] for s in every if s[-1] != STOP for a in range(VOCABULARY)
        ]
    padded = torch.tensor([[START, *s] + [0] * (limit - len(s)) for s in every])
    keep = torch.tensor([[True] * (1 + len(s)) + [False] * (limit - len(s)) for s in every])
    logs = score(model, padded, select(state, torch.zeros(len(every), dtype=torch.long)), keep).sum(1)
    lengths = torch.tensor([len(s) for s in every])
    best = (logs / lengths).topk(20)
    (found,) = beam(
        model, first(1), state, BeamSearch(beam=len(every), limit=limit, stop=STOP, length_penalty="average", n_best=20)
    )
    assert len({(*h.tokens, h.finished) for h in found}) == len(found)
    assert [h.score for h in found[:20]] == pytest.approx(best.values.tolist(), abs=1e-9)
    assert found[0].tokens == [token for token in every[best.indices[0]] if token != STOP]


@every_model
@every_weight
def test_the_search_written_the_slow_way_finds_the_same(name, trained):
    """And ending early misses nothing: what was wanted is what the search that never ends early finds."""
    model = model_of(name, trained)
    state = begin(model, name, 3)
    found = [slowly(model, select(state, torch.tensor([row])), 3, 8) for row in range(3)]
    penalties = {"average": lambda n: n, 0.0: lambda n: 1.0, 1.0: lambda n: (5 + n) / 6}
    for penalty, length in penalties.items():
        whole = beam(model, first(3), state, BeamSearch(beam=3, limit=8, stop=STOP, length_penalty=penalty, n_best=3))
        early = beam(model, first(3), state, BeamSearch(beam=3, limit=8, stop=STOP, length_penalty=penalty))
        for row in range(3):
            expected = judged(found[row], length)
            exact([whole[row]], [expected])
            exact([early[row][:1]], [expected[:1]])


@every_model
@every_weight
def test_every_score_is_the_models_own(name, trained):
    model = model_of(name, trained)
    prompt, state = tokens(3, 4), begin(model, name, 3)
    found = beam(model, prompt, state, BeamSearch(beam=4, limit=6, stop=STOP, length_penalty="average", n_best=4))
    for row, hypotheses in enumerate(found):
        for h in hypotheses:
            made = h.tokens + [STOP] * h.finished
            fed = torch.cat([prompt[row], torch.tensor(made)])[None]
            own = score(model, fed, select(state, torch.tensor([row])))[0, 3:]
            assert h.logs == pytest.approx(own.tolist(), abs=1e-9)
            assert h.score == pytest.approx(own.mean().item(), abs=1e-9)


@every_model
@every_weight
def test_batched_is_single_with_sources_and_prompts_of_different_length(name, trained):
    model = model_of(name, trained)
    source = source_for(name, 3, keep=torch.arange(5) < torch.tensor([[5], [2], [4]]))
    prompt, sizes = tokens(3, 4), [2, 4, 1]
    keep = torch.arange(4) >= 4 - torch.tensor(sizes)[:, None]
    state = model.start(source, batch=3)
    together = beam(model, prompt, state, BeamSearch(beam=3, limit=6, stop=STOP, n_best=3), keep=keep)
    for row, size in enumerate(sizes):
        state = model.start(one_of(source, row))
        exact(
            [together[row]],
            beam(model, prompt[row : row + 1, 4 - size :], state, BeamSearch(beam=3, limit=6, stop=STOP, n_best=3)),
        )


@every_model
@every_weight
def test_cached_is_uncached(name, trained):
    model = model_of(name, trained)
    state = begin(model, name, 3)
    exact(
        beam(model, first(3), state, BeamSearch(beam=3, limit=6, stop=STOP, n_best=3)),
        beam(
            Uncached(model),
            first(3),
            (torch.empty(3, 0, dtype=torch.long), state),
            BeamSearch(beam=3, limit=6, stop=STOP, n_best=3),
        ),
    )


@every_model
@every_weight
def test_what_must_appear_appears(name, trained):
    """And what is found is the model's own score, in batches as alone."""
    model = model_of(name, trained)
    state, must = begin(model, name, 3), ["b c b", "d", "e e"]
    wordings = [wording(*must), wording(*must, never=("g",)), None]
    search = BeamSearch(beam=4, limit=9, stop=STOP, n_best=2, wordings=wordings)
    found = beam(model, first(3), state, search)
    for row, hypotheses in enumerate(found):
        assert hypotheses
        for hypothesis in hypotheses:
            written = WORDS.decode(hypothesis.tokens)
            assert row == 2 or all(phrase in written for phrase in must)
            assert row != 1 or "g" not in written
            fed = torch.tensor([[START, *hypothesis.tokens] + [STOP] * hypothesis.finished])
            alone = select(state, torch.tensor([row]))
            assert hypothesis.logs == pytest.approx(score(model, fed, alone)[0].tolist(), abs=1e-9)
        one = replace(search, wordings=wordings[row : row + 1])
        exact([hypotheses], beam(model, first(1), select(state, torch.tensor([row])), one))


def test_a_constraint_as_wide_as_the_space_is_trying_everything():
    model, wide = model_of("lm-gru", True), VOCABULARY**3
    (every,) = beam(model, first(1), model.start(), BeamSearch(beam=wide, limit=3, stop=STOP, n_best=wide))
    (found,) = beam(
        model, first(1), model.start(), BeamSearch(beam=wide, limit=3, stop=STOP, wordings=[wording("a b")])
    )
    best = next(one for one in every if (4, 5) in zip(one.tokens, one.tokens[1:], strict=False))
    exact([found[:1]], [[best]])
    without = BeamSearch(beam=wide, limit=3, stop=STOP, wordings=[wording(never=("a b", "c"))])
    (found,) = beam(model, first(1), model.start(), without)
    best = next(one for one in every if 6 not in one.tokens and (4, 5) not in pairwise(one.tokens))
    exact([found[:1]], [[best]])


def test_what_cannot_appear_gives_nothing():
    model = model_of("lm-gru", False)
    assert beam(
        model, first(1), model.start(), BeamSearch(beam=3, limit=2, stop=STOP, wordings=[wording("a b c")])
    ) == [[]]


@pytest.mark.parametrize("size", [5, 64, 1000, 4097])
def test_the_two_stage_top_is_topk(size):
    scores = torch.randn(7, size, dtype=torch.double)
    for count in (1, 4, 5):
        values, places = top(scores, count)
        expected = scores.topk(count)
        assert torch.equal(values, expected.values)
        assert torch.equal(places, expected.indices)


def test_rules_hold_in_every_hypothesis():
    model = model_of("lm-lstm", True)
    rules = [NoRepeatedNgram(2), AtLeast(4, STOP, 1)]
    search = BeamSearch(beam=5, limit=9, stop=STOP, n_best=5, rules=rules)
    found = beam(model, first(2), model.start(batch=2), search)
    for hypothesis in found[0] + found[1]:
        pairs = list(zip([START, *hypothesis.tokens], hypothesis.tokens, strict=False))
        assert len(set(pairs)) == len(pairs)
        assert len(hypothesis.tokens) >= 4
        assert all(math.isfinite(log) for log in hypothesis.logs)


def test_a_beam_wider_than_the_vocabulary_and_one_narrower_than_what_is_wanted():
    model = model_of("lm-gru", False)
    (found,) = beam(
        model, first(1), model.start(), BeamSearch(beam=4 * VOCABULARY, limit=2, stop=STOP, n_best=4 * VOCABULARY)
    )
    assert len(found) == 4 * VOCABULARY
    with pytest.raises(
        UserError, match=r"a beam must be at least as wide as the answers wanted \(3\), found 2; widen it"
    ):
        beam(model, first(1), model.start(), BeamSearch(beam=2, limit=2, stop=STOP, n_best=3))


def test_a_shared_source_is_not_copied():
    model = model_of("seq2seq-transformer", False)
    with torch.inference_mode():
        state = model.start(some_source(2))
        memory = state.blocks[0][1]
        assert select(state, torch.tensor([[0, 0, 0], [1, 1, 1]])).blocks[0][1] is memory
        assert regard.select(state, torch.tensor([1])).blocks[0][1] is not memory
