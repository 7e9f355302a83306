"""What a run's heads are measured on: stretches of text as long as in training, or whole examples."""

import sys
from collections.abc import Sequence

from regard.config import Where
from regard.data import store
from regard.look.find.properties import dates, digits
from regard.look.heads.marks import Mark, rare_words
from regard.look.heads.profile import Example
from regard.runs import Run
from regard.text import STOP
from regard.train.examples import READERS, data_of, encode
from regard.train.judge import given_text
from regard.train.prepare import material

MOST = 10_000  # samples, of which some are measured and all say which words are rare


def samples(run: Run, where: Where | None) -> list[Example]:
    """From the data, or from the run's held-out part; where there are very many, evenly spread over it."""
    kind = data_of(run.model_config)
    if kind == "text":
        (held,) = (given_text(run, where) if where else material(run.folder)).valid
        length = min(run.recipe.train.length, (run.model.longest or sys.maxsize) - 1)
        begins = [at * length for at in spread(max(1, len(held.tokens) // length), MOST)]
        return [Example(None, held.tokens[begin : begin + length].tolist()) for begin in begins]
    if where:
        sides = encode(kind, list(READERS[kind](where, None, None)), run.tokenizers)
        source, target = (store.gather(side) for side in sides)
    else:
        source, target = material(run.folder).valid
    stop = [STOP] if kind == "pairs" else []
    return [Example(source[at].tolist(), target[at].tolist() + stop) for at in spread(len(source), MOST)]


def marks_for(run: Run, examples: Sequence[Example]) -> dict[str, Mark]:
    """What heads may look for, by name."""
    pieces = (run.source_tokenizer.pieces(example.looking) for example in examples)
    texts = (b"".join(piece).decode(errors="replace") for piece in pieces)
    return {"rare": rare_words(texts), "digits": digits, "dates": dates}


def spread(every: int, number: int) -> list[int]:
    """So many places, evenly over all there are."""
    number = min(every, number)
    return [place * every // number for place in range(number)]
