"""Classes and tags: answers in step with what was read, so that one pass gives all of them."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.batches import BATCH, in_order
from regard.models.model import Model, Source
from regard.padding import padded
from regard.special import NAMES, START, STOP
from regard.text.labels import Labels, in_step, pieces_of_words
from regard.text.tokenizer import Tokenizer


def classify(
    model: Model, tokenizer: Tokenizer, labels: Labels, texts: Iterable[str], batch: int = BATCH
) -> Iterator[dict[str, float]]:
    """Every label with its probability, the most probable first, for each text in order."""
    asked = ((tokenizer.encode(text), 1) for text in texts)
    for (likely,) in probabilities(model, asked, batch):
        yield dict(sorted(zip(labels.names, likely.tolist(), strict=True), key=lambda pair: -pair[1]))


def tag(
    model: Model, tokenizer: Tokenizer, labels: Labels, sentences: Iterable[Sequence[str]], batch: int = BATCH
) -> Iterator[list[str]]:
    """The most probable tag of each word of each sentence: what is said at its last token, or its first."""

    def together(some: list[list[list[int]]]) -> list[list[str]]:
        sources = [[token for word in words for token in word] for words in some]
        found = _together(model, [(source, len(source)) for source in sources])
        last = [torch.tensor(in_step(words, [1] * len(words), labels.at_first), dtype=torch.bool) for words in some]
        return [[labels.names[i] for i in p[at].argmax(-1).tolist()] for p, at in zip(found, last, strict=True)]

    pieces = (pieces_of_words(tokenizer, words) for words in sentences)
    return in_order(pieces, lambda words: sum(map(len, words)), together, batch)


def probabilities(
    model: Model, asked: Iterable[tuple[Sequence[int], int]], batch: int = BATCH
) -> Iterator[Float[Tensor, "T L"]]:
    """p(label | x) at the first T positions, for each source and the T that is asked for."""
    return in_order(asked, lambda one: len(one[0]), lambda some: _together(model, some), batch)


@torch.inference_mode()
def _together(model: Model, asked: Sequence[tuple[Sequence[int], int]]) -> list[Tensor]:
    device = next(model.parameters()).device
    tokens, keep = padded([[*map(int, source), STOP] for source, _ in asked])
    state = model.start(Source(tokens.to(device), keep.to(device)))
    scores, _ = model(torch.full((len(asked), max(1, *(steps for _, steps in asked))), START, device=device), state)
    likely = torch.softmax(scores[..., len(NAMES) :].float(), -1).cpu()  # special tokens are no labels
    return [likely[row, :steps] for row, (_, steps) in enumerate(asked)]
