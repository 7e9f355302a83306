"""Tokens one after the other are those of a loop that reads everything again each time, for every model."""

import math

import pytest
import torch
from shapes import unchecked
from torch import Tensor
from zoo import SEQ2SEQ, VOCABULARY, WRITES, begin, make, some_source, tokens

from regard import Model, Source, State, select
from regard.decode.choose import Choose, Sample, argmax
from regard.decode.rules import AtLeast, Bounds, NoRepeatedNgram, RepetitionPenalty, Rule
from regard.decode.stream import stream
from regard.errors import UserError

STOP, LIMIT = 2, 10
every_model = pytest.mark.parametrize("name", WRITES)
WAYS: dict[str, tuple[Choose, list[Rule]]] = {
    "argmax": (argmax, []),
    "sample": (Sample([3, 1, 4, 1, 5, 9, 2, 6], temperature=2.0), []),
    "sample with rules": (
        Sample(range(8, 16), temperature=2.0, top_k=9),
        [RepetitionPenalty(1.2), NoRepeatedNgram(2)],
    ),
}
every_way = pytest.mark.parametrize(("choose", "rules"), WAYS.values(), ids=WAYS)


@unchecked()
def naive(model: Model, prompt: list[int], state: State, choose: Choose, rules: list[Rule], row: int) -> list[int]:
    """Row `row` alone: reads all again for each token, from the first state."""
    made: list[int] = []
    while len(made) < LIMIT and STOP not in made:
        written = torch.tensor([prompt + made])
        scores = model(written, state)[0][:, -1]
        for rule in rules:
            scores = rule(scores, written)
        made.append(int(choose(scores, torch.tensor([row]), len(made))))
    return made


def texts(made: list[Tensor]) -> list[list[int]]:
    """The rows, each up to its first stop; behind it there is nothing but stops."""
    rows = []
    for row in torch.stack(made, 1).tolist():
        length = row.index(STOP) + 1 if STOP in row else len(row)
        assert set(row[length:]) <= {STOP}
        rows.append(row[:length])
    assert len(made) == max(map(len, rows)), "it ends with the last row"
    return rows


class Watched(Model):
    """Counts the rows of each call."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.calls: list[tuple[int, int]] = []

    def start(self, source=None, batch=1):
        return self.model.start(source, batch)

    def forward(self, tokens, state, keep=None):
        self.calls.append(tuple(tokens.shape))
        return self.model(tokens, state, keep)


@every_model
@every_way
@torch.no_grad()
def test_stream_is_a_loop_without_a_cache_row_by_row(name, choose, rules):
    """Prompts of different length, padded on the left with rubbish; rows that stop at different times."""
    model = Watched(make(name))
    lengths = [3, 6, 1, 4, 2, 6, 5, 3]
    prompts = [tokens(1, length)[0] for length in lengths]
    keep = torch.arange(6) >= 6 - torch.tensor(lengths)[:, None]
    prompt = tokens(8, 6)
    prompt[keep] = torch.cat(prompts)
    state = begin(model, name, 8)
    found = texts(list(stream(model, prompt, state, choose, Bounds(limit=LIMIT, stop=STOP, rules=rules), keep=keep)))
    for row in range(8):
        first = select(state, torch.tensor([row]))
        assert found[row] == naive(model.model, prompts[row].tolist(), first, choose, rules, row), f"row {row}"
    if choose is not argmax:
        assert len(set(map(len, found))) > 1, "rows stopped at different times"


@pytest.mark.parametrize("name", SEQ2SEQ)
@torch.no_grad()
def test_batched_is_single_with_sources_of_different_length(name):
    model = make(name)
    source = some_source(5, 6)
    keep = torch.arange(6) < torch.tensor([6, 2, 4, 1, 5])[:, None]
    prompt = torch.ones(5, 1, dtype=torch.long)
    together = stream(
        model,
        prompt,
        model.start(Source(source.content, keep)),
        Sample(range(5), temperature=2.0),
        Bounds(limit=LIMIT, stop=STOP),
    )
    for row, text in enumerate(texts(list(together))):
        alone = model.start(Source(source.content[row : row + 1, keep[row]]))
        assert texts(
            list(stream(model, prompt[:1], alone, Sample([row], temperature=2.0), Bounds(limit=LIMIT, stop=STOP)))
        ) == [text]


class Scripted(Model):
    """Says what is written for each row, whatever it is fed; its state is the row and the place."""

    def __init__(self, script: list[list[int]]) -> None:
        super().__init__()
        self.script = torch.tensor(script)
        self.calls: list[list[int]] = []

    def start(self, source=None, batch=1):
        return torch.stack([torch.arange(batch), torch.zeros(batch, dtype=torch.long)], 1)

    def forward(self, tokens, state, keep=None):
        rows, places = state.unbind(1)
        self.calls.append(rows.tolist())
        said = torch.nn.functional.one_hot(self.script[rows, places], VOCABULARY).double()
        return said[:, None].expand(-1, tokens.shape[1], -1), torch.stack([rows, places + 1], 1)


def test_rows_that_have_stopped_leave_once_they_are_a_quarter():
    lengths = [4, 2, 6, 3, 6, 5, 6, 6]
    script = [[3] * (length - 1) + [STOP] + [5] * (8 - length) for length in lengths]
    model = Scripted(script)
    made = list(stream(model, tokens(8, 3), model.start(batch=8), argmax, Bounds(limit=9, stop=STOP)))
    assert texts(made) == [row[:length] for row, length in zip(script, lengths, strict=True)]
    everyone = list(range(8))
    assert model.calls == [
        everyone,
        everyone,  # row 1 stops
        everyone,  # row 3 stops: a quarter
        [0, 2, 4, 5, 6, 7],  # row 0 stops
        [0, 2, 4, 5, 6, 7],  # row 5 stops: a third
        [2, 4, 6, 7],
    ]


def test_a_choice_is_told_which_rows_it_chooses_for():
    script = [[STOP, 5, 5, 5], [3, 3, 3, STOP], [4, 4, STOP, 5]]
    asked = []

    def choose(scores, rows, made):
        asked.append((rows.tolist(), made))
        return argmax(scores, rows, made)

    model = Scripted(script)
    list(stream(model, tokens(3, 2), model.start(batch=3), choose, Bounds(limit=9, stop=STOP)))
    assert asked == [([0, 1, 2], 0), ([1, 2], 1), ([1, 2], 2), ([1], 3)]


def test_rules_see_what_is_written_and_not_padding():
    seen = []

    def rule(scores, written):
        seen.append(written.tolist())
        return scores

    model = Scripted([[3, 4, STOP], [STOP, 5, 5], [6, 7, 8]])
    prompt = torch.tensor([[9, 9, 1], [9, 3, 3], [4, 5, 6]])
    keep = torch.tensor([[0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=torch.bool)
    list(stream(model, prompt, model.start(batch=3), argmax, Bounds(limit=3, stop=STOP, rules=[rule]), keep=keep))
    assert seen == [
        [[-1, -1, 1], [-1, 3, 3], [4, 5, 6]],
        [[-1, -1, 1, 3], [4, 5, 6, 6]],
        [[-1, -1, 1, 3, 4], [4, 5, 6, 6, 7]],
    ]


@torch.no_grad()
def test_the_prompt_is_read_in_one_pass_and_the_last_token_is_not_fed():
    model = Watched(make("lm-lstm"))
    made = list(stream(model, tokens(2, 7), model.start(batch=2), argmax, Bounds(limit=4, stop=-1)))
    assert len(made) == 4
    assert model.calls == [(2, 7), (2, 1), (2, 1), (2, 1)]
    assert list(stream(model, tokens(2, 7), model.start(batch=2), argmax, Bounds(limit=0, stop=STOP))) == []


@every_model
@torch.no_grad()
def test_a_state_can_be_streamed_twice(name):
    """The prompt is shared between samples, and streams that take turns do not disturb each other."""
    model = make(name)
    _, state = model(tokens(3, 4), begin(model, name, 3))
    last = tokens(3, 1)
    seeds = ([1, 2, 3], [4, 5, 6])

    def streams():
        return (stream(model, last, state, Sample(some), Bounds(limit=8, stop=-1)) for some in seeds)

    one, other = (torch.stack(list(made)) for made in streams())
    assert not one.equal(other)
    turns = list(zip(*streams(), strict=True))
    assert torch.stack([left for left, _ in turns]).equal(one)
    assert torch.stack([right for _, right in turns]).equal(other)


def test_no_history_of_gradients_is_kept_and_the_callers_mode_is_its_own():
    model, recorded = make("lm-gru"), []

    def choose(scores, rows, made):
        recorded.append(scores.requires_grad)
        return argmax(scores, rows, made)

    for _ in stream(model, tokens(2, 3), model.start(batch=2), choose, Bounds(limit=3, stop=-1)):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
    assert recorded == [False] * 3


@torch.no_grad()
def test_yielded_tokens_are_not_written_to_later():
    model = make("lm-lstm")
    taken, kept = [], []
    sample = Sample(range(6), temperature=3.0)
    for token in stream(model, tokens(6, 2), model.start(batch=6), sample, Bounds(limit=12, stop=STOP)):
        taken.append(token)
        kept.append(token.clone())
    assert torch.stack(taken).equal(torch.stack(kept))


@torch.no_grad()
def test_at_least_and_nothing_left_to_say():
    model = Scripted([[STOP] * 9, [3, STOP] * 4 + [3]])
    rules: list[Rule] = [AtLeast(3, STOP, begin=2)]
    found = texts(
        list(stream(model, tokens(2, 2), model.start(batch=2), argmax, Bounds(limit=9, stop=STOP, rules=rules)))
    )
    assert [len(text) for text in found] == [4, 4]
    rules = [lambda scores, written: scores.new_full(scores.shape, -math.inf)]
    for choose in (argmax, Sample(range(2), top_k=3), Sample(range(2), top_p=0.5, min_p=0.1)):
        made = list(stream(model, tokens(2, 2), model.start(batch=2), choose, Bounds(limit=9, stop=STOP, rules=rules)))
        assert texts(made) == [[STOP], [STOP]], "a row with nothing left to say stops"


def test_padding_on_the_right_is_refused():
    model = make("lm-lstm")
    keep = torch.tensor([[True, True], [True, False]])
    with pytest.raises(UserError) as error:
        next(stream(model, tokens(2, 2), model.start(batch=2), argmax, Bounds(limit=3, stop=STOP), keep=keep))
    assert str(error.value) == "prompts of different length must be padded on the left, found padding at the end of one"


def test_a_position_table_that_is_too_short_is_the_models_own_error():
    model = make("lm-transformer-learned")
    with pytest.raises(UserError, match="32"):
        list(stream(model, tokens(1, 30), model.start(), argmax, Bounds(limit=9, stop=-1)))
