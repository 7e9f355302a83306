"""A language model goes on with a text: text as it is made, and never half a character."""

import codecs
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config.settings import Settings, at_least
from regard.decode.beam import beam
from regard.decode.choose import Choose, Sample, argmax
from regard.decode.rules import NoRepeatedNgram, RepetitionPenalty, Rule
from regard.decode.stream import stream
from regard.errors import UserError
from regard.layers.state import select
from regard.models.model import Model
from regard.text import START, STOP, Tokenizer

ROWS = 32  # samples that are written at the same time


@dataclass(frozen=True)
class Writing(Settings):
    """How to go on with a text."""

    length: int = at_least(1, 500)
    """Tokens to write at most; fewer where the model ends the text."""
    choose: Literal["sample", "argmax", "beam"] = "sample"
    """Draw each token, always take the most probable one, or look for the most probable text."""
    temperature: float = 1.0
    """For sample: scores are divided by it; below 1 safer, above 1 more surprising."""
    top_k: int = at_least(0, 0)
    """For sample: only so many of the most probable tokens; 0: all."""
    top_p: float = 1.0
    """For sample: only the most probable tokens that together have this probability."""
    min_p: float = 0.0
    """For sample: only tokens with at least this share of the best one's probability."""
    repetition_penalty: float = 1.0
    """Above 1: what stands in the text already becomes less probable."""
    no_repeat: int = at_least(0, 0)
    """No run of so many tokens comes twice; 0: any may."""
    stop: str = ""
    """Writing ends before this text."""
    seed: int = at_least(0, 0)
    """For sample: the same seed, the same text. The n-th sample has the n-th seed from here on."""
    n: int = at_least(1, 1)
    """How many texts."""
    beam: int = at_least(1, 5)
    """For beam: how many hypotheses are followed at once."""

    def check(self) -> None:
        self.sampling((self.seed,))
        self.rules()
        if self.choose == "beam" and self.n > self.beam:
            raise UserError(f"n ({self.n}) must not be above beam ({self.beam}), which finds no more; widen the beam")
        if self.choose == "argmax" and self.n > 1:
            raise UserError(f"argmax always gives the same text, found n = {self.n}; use sample or beam")

    def sampling(self, seeds: Sequence[int]) -> Sample:
        return Sample(seeds, self.temperature, self.top_k, self.top_p, self.min_p)

    def rules(self) -> list[Rule]:
        """What may be said, given what has been said, prompt included."""
        penalty = [RepetitionPenalty(self.repetition_penalty)] if self.repetition_penalty != 1 else []
        return [*penalty, *([NoRepeatedNgram(self.no_repeat)] if self.no_repeat else [])]


class Unfolding:
    """One text that grows token by token."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stop: str) -> None:
        self._tokenizer, self._stop = tokenizer, stop
        # What a token adds may depend on those before it, but never on those before the last one that added something.
        self._last, self._new = list(prompt), list[int]()
        self._characters = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self.done = False

    def add(self, token: int) -> str:
        """What this token lets one show: whole characters, and nothing that may be the beginning of the stop text."""
        if self.done:
            return ""
        if token == STOP:
            return self.end()
        self._new.append(token)
        piece = self._tokenizer.pieces([*self._last, *self._new])[-1]
        if piece:
            self._last, self._new = self._new, []
        return self._shown(self._characters.decode(piece))

    def end(self) -> str:
        """What was held back. Half a character shows as U+FFFD."""
        if self.done:
            return ""
        text = self._shown(self._characters.decode(b"", final=True))
        rest, self._held = ("", "") if self.done else (self._held, "")
        self.done = True
        return text + rest

    def _shown(self, more: str) -> str:
        text = self._held + more
        if not self._stop:
            return text
        before, found, _ = text.partition(self._stop)
        if found:
            self.done = True
            return before
        longest = min(len(self._stop) - 1, len(text))
        held = next((k for k in range(longest, 0, -1) if text.endswith(self._stop[:k])), 0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]


@dataclass(frozen=True)
class _Behind:
    """A rule that also sees what was read before the prompt of a stream."""

    before: Int[Tensor, " T"]
    rule: Rule

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        return self.rule(scores, torch.cat([self.before.expand(len(written), -1), written], 1))


def write(
    model: Model, tokenizer: Tokenizer, prompt: str, writing: Writing, *, room: int = 0
) -> Iterator[tuple[int, str]]:
    """What follows the prompt, as it is made: (which of the n texts, what is new in it). Joined, they are the texts.

    The prompt is read in one parallel pass, once for all texts. `room` is how many positions a model has where it has
    an end, 0: any number; there writing stops with a warning.
    """
    read = [START, *tokenizer.encode(prompt)]
    limit = min(writing.length, room - len(read) + 1) if room >= len(read) else writing.length
    if writing.choose == "beam":
        texts = _searched(model, tokenizer, read, limit, writing)
    else:
        texts = _streamed(model, tokenizer, read, limit, writing)
    cut = yield from texts
    if cut and limit < writing.length:
        warnings.warn(
            f"the learned position table (longest = {room}) ends here, after {limit} of {writing.length} tokens; "
            "write less, or train with a larger 'longest' or positions = 'rotary'",
            stacklevel=2,
        )


def _streamed(
    model: Model, tokenizer: Tokenizer, read: list[int], limit: int, writing: Writing
) -> Generator[tuple[int, str], None, bool]:
    """Gives back whether the limit cut some text off."""
    device = next(model.parameters()).device
    fed, cut = torch.tensor([read], device=device), False
    with torch.inference_mode():
        state = model.start()
        if len(read) > 1:
            _, state = model.read(fed[:, :-1], state)
    rules = [_Behind(fed[0, :-1], rule) for rule in writing.rules()]
    for first in range(0, writing.n, ROWS):
        rows = range(first, min(first + ROWS, writing.n))
        choose: Choose = argmax
        if writing.choose == "sample":
            choose = writing.sampling([writing.seed + row for row in rows])
        texts = [Unfolding(tokenizer, read, writing.stop) for _ in rows]
        shared = select(state, torch.zeros(len(rows), dtype=torch.long, device=device))
        made = stream(model, fed[:, -1:].expand(len(rows), 1), shared, choose, limit=limit, stop=STOP, rules=rules)
        for tokens in made:
            for row, text, token in zip(rows, texts, tokens.tolist(), strict=True):
                if new := text.add(token):
                    yield row, new
            if all(text.done for text in texts):
                break
        cut = cut or not all(text.done for text in texts)
        yield from ((row, text.end()) for row, text in zip(rows, texts, strict=True))
    return cut


@torch.inference_mode()
def _searched(
    model: Model, tokenizer: Tokenizer, read: list[int], limit: int, writing: Writing
) -> Generator[tuple[int, str], None, bool]:
    fed = torch.tensor([read], device=next(model.parameters()).device)
    (found,) = beam(
        model, fed, model.start(), width=writing.beam, wanted=writing.n, limit=limit, stop=STOP, rules=writing.rules()
    )
    for row, one in enumerate(found[: writing.n]):
        text = Unfolding(tokenizer, read, writing.stop)
        yield row, "".join([*map(text.add, one.tokens), text.end()])
    return not all(one.finished for one in found[: writing.n])
