"""What a run's heads are measured on: stretches of text as long as in training, or whole examples."""

import sys
from collections.abc import Sequence

from regard.config import Where
from regard.evaluate.judge import Judged
from regard.look.find.properties import dates, digits
from regard.look.heads.marks import TextMark, rare_words
from regard.look.heads.profile import Example


def samples(run: Judged, where: Where | None, most: int) -> list[Example]:
    """From the data, or from the run's held-out part; where there are very many, evenly spread over it.

    `most`: tokens of a stretch, of models that were trained on longer ones than can be looked at.
    """
    held = run.task.given(run.tokenizers, run.recipe, where, None).held if where else run.material
    return run.task.stretches(held.valid, min(run.recipe.train.length, (run.model.longest or sys.maxsize) - 1, most))


def marks_for(run: Judged, examples: Sequence[Example]) -> dict[str, TextMark]:
    """What heads may look for, by name."""
    pieces = (run.tokenizers[0].pieces(example.looking) for example in examples)
    texts = (b"".join(piece).decode(errors="replace") for piece in pieces)
    return {"rare": rare_words(texts), "digits": digits, "dates": dates}
