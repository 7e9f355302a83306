"""A language model goes on with a text: text as it is made, and never half a character."""

import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config.decoding import Writing
from regard.decode.beam import BeamSearch, beam
from regard.decode.choose import Choose, Sample, argmax
from regard.decode.rules import Bounds, NoRepeatedNgram, RepetitionPenalty, Rule
from regard.decode.stream import stream
from regard.errors import counted
from regard.layers.state import select
from regard.models.model import Model
from regard.special import START, STOP
from regard.text.growing import Cursor
from regard.text.tokenizer import Tokenizer

ROWS = 32  # samples that are written at the same time


class Detokenizer:
    """An incremental detokenizer: one text that grows token by token."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stops: Sequence[str] = ()) -> None:
        self._tokenizer, self._stops = tokenizer, tuple(stops)
        self._cursor, self._held, self.done = Cursor(last=tuple(prompt)), "", False

    def add(self, token: int) -> str:
        """What this token lets one show: whole characters, and nothing that may be the beginning of a stop text."""
        if self.done:
            return ""
        if token == STOP:
            return self.end()
        self._cursor, more = self._cursor.add(self._tokenizer, token)
        return self._shown(more)

    def end(self) -> str:
        """What was held back. Half a character shows as U+FFFD."""
        if self.done:
            return ""
        text = self._shown(self._cursor.end())
        rest, self._held = ("", "") if self.done else (self._held, "")
        self.done = True
        return text + rest

    def _shown(self, more: str) -> str:
        text = self._held + more
        if not self._stops:
            return text
        places = [text.index(stop) for stop in self._stops if stop in text]
        if places:
            self.done = True
            return text[: min(places)]
        held = max(_held(text, stop) for stop in self._stops)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]


def _held(text: str, stop: str) -> int:
    """How many of the last characters may be the beginning of a stop text."""
    longest = min(len(stop) - 1, len(text))
    return next((k for k in range(longest, 0, -1) if text.endswith(stop[:k])), 0)


@dataclass(frozen=True)
class _Prefixed:
    """A rule that also sees the prefix: what was read before the prompt of a stream."""

    prefix: Int[Tensor, " T"]
    rule: Rule

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        return self.rule(scores, torch.cat([self.prefix.expand(len(written), -1), written], 1))


def _stops(writing: Writing) -> tuple[str, ...]:
    return (writing.stop,) if writing.stop else ()


def _rules(writing: Writing) -> list[Rule]:
    """What may be said, given what has been said, prompt included."""
    penalty = [RepetitionPenalty(writing.repetition_penalty)] if writing.repetition_penalty != 1 else []
    return [*penalty, *([NoRepeatedNgram(writing.no_repeat)] if writing.no_repeat else [])]


def write(model: Model, tokenizer: Tokenizer, prompt: str, writing: Writing) -> Iterator[tuple[int, str]]:
    """What follows the prompt, as it is made: (which of the texts, what is new in it). Joined, they are the texts.

    The prompt is read in one parallel pass, once for all texts. Where the model's positions end, writing stops with a
    warning.
    """
    read = [START, *tokenizer.encode(prompt)]
    longest = model.longest or sys.maxsize
    limit = min(writing.length, longest - len(read) + 1) if longest >= len(read) else writing.length
    if writing.choose == "beam":
        texts = _searched(model, tokenizer, read, limit, writing)
    else:
        texts = _streamed(model, tokenizer, read, limit, writing)
    cut = yield from texts
    if cut and limit < writing.length:
        warnings.warn(
            f"the learned position table (longest = {longest}) ends here, after {limit} of "
            f"{counted(writing.length, 'token')}; write less, or train with a larger 'longest' or positions = 'rotary'",
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
            _, state = model.prefill(fed[:, :-1], state)
    rules = [_Prefixed(fed[0, :-1], rule) for rule in _rules(writing)]
    for first in range(0, writing.number, ROWS):
        rows = range(first, min(first + ROWS, writing.number))
        choose: Choose = argmax
        if writing.choose == "sample":
            choose = Sample(
                [writing.seed + row for row in rows],
                temperature=writing.temperature,
                top_k=writing.top_k,
                top_p=writing.top_p,
                min_p=writing.min_p,
            )
        texts = [Detokenizer(tokenizer, read, _stops(writing)) for _ in rows]
        shared = select(state, torch.zeros(len(rows), dtype=torch.long, device=device))
        made = stream(model, fed[:, -1:].expand(len(rows), 1), shared, choose, Bounds(limit=limit, rules=rules))
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
    search = BeamSearch(beam=writing.beam, n_best=writing.number, limit=limit, rules=_rules(writing))
    (found,) = beam(model, fed, model.start(), search)
    for row, one in enumerate(found[: writing.number]):
        text = Detokenizer(tokenizer, read, _stops(writing))
        yield row, "".join([*map(text.add, one.tokens), text.end()])
    return not all(one.finished for one in found[: writing.number])
