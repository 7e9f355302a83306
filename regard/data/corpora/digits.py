"""Copy, reverse or sort digits: what a sequence-to-sequence model learns in seconds, or does not learn at all."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from regard.data.corpora.sizes import DIGITS
from regard.data.examples import Pair, Split, own_split

Task = Literal["copy", "reverse", "sort"]
LONGEST = 10


def digits(task: Task, split: Split) -> Iterator[Pair]:
    """Pairs such as ("3 1 4 1 5", "1 1 3 4 5"), of 1 to 10 digits. Each task has the same questions."""
    for question in islice(_questions(split), DIGITS[split]):
        answer = {"copy": question, "reverse": question[::-1], "sort": sorted(question)}[task]
        yield Pair(" ".join(question), " ".join(answer))


def _questions(split: Split) -> Iterator[str]:
    """Different rows of digits, without end. Each belongs to one split alone."""
    draw = random.Random(0).random  # the one method whose numbers stay the same in every version of Python
    seen = set()
    while True:
        length = 1 + int(draw() * LONGEST)
        question = "".join(str(int(draw() * 10)) for _ in range(length))
        if question not in seen and own_split(question) == split:
            seen.add(question)
            yield question
