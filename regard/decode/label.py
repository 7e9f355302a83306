"""Classes and tags: answers in step with what was read, so that one pass gives all of them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.models.model import Model, Source
from regard.text import PADDING, START, STOP, Labels, Tokenizer
from regard.text.labels import in_step, pieces_of_words
from regard.text.special import NAMES

ROWS = 64  # sources read together
WINDOW = 16 * ROWS  # lines that are sorted by length, so that few of those read together are padding


@torch.inference_mode()
def probabilities(model: Model, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[Float[Tensor, "T L"]]:
    """p(label | x) at the first `length` positions of each source, among the labels: special tokens are none."""
    training, device = model.training, next(model.parameters()).device
    model.eval()
    found: dict[int, Tensor] = {}
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for begin in range(0, len(order), ROWS):
        rows = order[begin : begin + ROWS]
        tokens = pad_sequence(
            [torch.tensor([*map(int, sources[i]), STOP]) for i in rows], batch_first=True, padding_value=PADDING
        )
        keep = torch.arange(tokens.shape[1]) <= torch.tensor([[len(sources[i])] for i in rows])
        state = model.start(Source(tokens.to(device), keep.to(device)))
        asked = torch.full((len(rows), max(lengths[i] for i in rows)), START, device=device)
        scores, _ = model(asked, state)
        likely = torch.softmax(scores[..., len(NAMES) :].float(), -1).cpu()
        found |= {i: likely[row, : lengths[i]] for row, i in enumerate(rows)}
    model.train(training)
    return [found[i] for i in range(len(sources))]


def classify(model: Model, tokenizer: Tokenizer, labels: Labels, texts: Iterable[str]) -> Iterator[dict[str, float]]:
    """Every label with its probability, the most probable first, for each text."""
    for some in _windows(texts):
        sources = tokenizer.encode_all(some)
        for (likely,) in probabilities(model, sources, [1] * len(some)):
            ranked = sorted(zip(labels.names, likely.tolist(), strict=True), key=lambda pair: -pair[1])
            yield dict(ranked)


def tag(model: Model, tokenizer: Tokenizer, labels: Labels, sentences: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The most probable tag of each word of each sentence: at its last token, as in training."""
    for some in _windows(sentences):
        pieces = [pieces_of_words(tokenizer, words) for words in some]
        sources = [[token for word in words for token in word] for words in pieces]
        found = probabilities(model, sources, [len(source) for source in sources])
        for words, likely in zip(pieces, found, strict=True):
            places = torch.tensor(in_step(words, [1] * len(words)), dtype=torch.bool)
            yield [labels.names[place] for place in likely[places].argmax(-1).tolist()]


def _windows(items: Iterable) -> Iterator[list]:
    rest = iter(items)
    while some := list(islice(rest, WINDOW)):
        yield some
