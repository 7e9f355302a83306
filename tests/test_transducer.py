"""A transducer against all its alignments written out one by one, and on letters that it must learn to go along."""

from itertools import combinations

import pytest
import torch
import torch.nn.functional as F
from zoo import TRANSDUCERS, VOCABULARY, begin, make, some_source, tokens

from regard import Recurrent, Source, Transducer, build
from regard.errors import UserError
from regard.layers.tap import listen
from regard.look.align.weights import weights_over_source
from regard.look.trace import trace
from regard.models.transducer import DOUBT
from regard.special import PADDING, START, STOP

names = pytest.mark.parametrize("name", TRANSDUCERS)


def every_alignment(model, source, fed, written):
    """p(y | x): each choice of slots, in order and the last among them, writes, and those between do not."""
    letters = model.head(model.encoder(source).vectors)[0].unflatten(-1, (model.slots, -1)).flatten(0, 1)  # (N, 1 + V)
    told = model.history(fed, model.history.start())[0][0]  # (T, 1 + V)
    said = (letters[None] + told[:, None]).softmax(-1)  # (T, N, 1 + V)
    slots, total = len(letters), 0.0
    for chosen in combinations(range(slots), len(written) - 1):
        p, last = torch.ones(()), -1
        for t, slot in enumerate([*chosen, slots]):
            p = p * said[t, last + 1 : slot, 0].prod()
            p = p * (said[t, slot, 1 + written[t]] if slot < slots else 1.0)
            last = slot
        total = total + p
    return total


@names
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_the_probability_is_the_sum_over_all_alignments(name, length):
    model, source = make(name), some_source(1, 3)
    with torch.no_grad():
        torch.nn.init.normal_(model.history.head.W.weight)
        model.head.bias.view(model.slots, -1)[:, 1 + STOP] = -60.0  # only the last slot writes the stop token
        others = [token for token in range(VOCABULARY) if token != STOP]
        text = [others[(7 * i + 3) % len(others)] for i in range(length)] + [STOP]
        fed = torch.tensor([[1, *text[:-1]]])
        scores, _ = model(fed, model.start(source))
        found = (scores.exp() - DOUBT)[0, torch.arange(len(text)), torch.tensor(text)].prod()
        torch.testing.assert_close(found, every_alignment(model, source, fed, text))


@names
def test_probabilities_sum_to_one_before_any_doubt(name):
    model = make(name)
    scores, _ = model(tokens(3, 6), begin(model, name, 3))
    torch.testing.assert_close(scores.exp().sum(-1), torch.ones(3, 6, dtype=scores.dtype), rtol=1e-3, atol=0)


@names
def test_what_writes_next_moves_on_only(name):
    """The weights over the source sum to one, and none is before the first that can have written the last token."""
    model = make(name)
    (weights,) = weights_over_source(model, some_source(1, 5).content[0], tokens(1, 4)[0]).values()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    reached = weights.cumsum(-1)[0]  # (T, S): how much has been reached at each place
    assert (reached[1:] <= reached[:-1] + 1e-9).all()


@names
def test_the_end_counts_to_the_last_token_that_is_real(name):
    model, keep = make(name), torch.tensor([[True, True, True, False, False]])
    with trace(model, "alignment") as seen, torch.no_grad():
        model(tokens(1, 3), model.start(Source(some_source(1, 5).content, keep)))
    weights = seen["alignment"]
    assert weights[..., 3:].abs().max() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@names
def test_a_source_token_that_is_silenced_writes_nothing(name):
    model = make(name)
    state, fed = begin(model, name, 1), tokens(1, 1)
    with listen({model.alignment: torch.zeros_like}):
        silenced = model(fed, state)[0].exp()
    torch.testing.assert_close(silenced, torch.full_like(silenced, DOUBT))


def test_sentences_are_refused_before_the_memory_is_full(monkeypatch):
    model = make("transducer-bilstm")
    monkeypatch.setattr("regard.models.transducer.MOST", 1000)
    with pytest.raises(UserError, match=r"is for words, found 5 tokens beside 7 of .* 2 at once; use kind"):
        model(tokens(2, 6), model.start(some_source(2, 5)))


SOUNDS = {4: [4], 5: [5, 5], 6: [], 7: [6, 7, 8]}  # what each letter writes; letter 8 changes the one behind it
CHANGED = {4: [9], 5: [10], 6: [4, 4], 7: [5]}


def spoken(letters):
    before = [None, *letters]
    return [
        sound
        for last, letter in zip(before, letters, strict=False)
        if letter != 8
        for sound in (CHANGED if last == 8 else SOUNDS)[letter]
    ]


def test_it_learns_who_writes_what_without_being_told():
    """Silent letters, letters with three sounds, and letters that change their neighbour."""
    torch.manual_seed(0)
    model = build(Transducer(Recurrent("gru", width=32, layers=1, dropout=0.0, bidirectional=True)), 11, 11)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)

    def some(number):
        words = [[*torch.randint(4, 9, (6,)).tolist()] for _ in range(number)]
        texts = [[*spoken(word), STOP] for word in words]
        longest = max(map(len, texts))
        source = torch.tensor([[*word, STOP] for word in words])
        wanted = torch.tensor([text + [PADDING] * (longest - len(text)) for text in texts])
        return Source(source), wanted, F.pad(wanted, (1, -1), value=START)

    for _ in range(150):
        source, wanted, fed = some(32)
        scores, _ = model(fed, model.start(source))
        loss = F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=PADDING)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    source, wanted, fed = some(100)
    said = model(fed, model.start(source))[0].argmax(-1)
    assert ((said == wanted) | (wanted == PADDING)).all(1).float().mean() > 0.95
