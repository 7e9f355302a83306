"""A language model's answer as a search: a prompt goes in, tokens come out with their text and their probabilities."""

import secrets
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.choose import Choose, Sample, argmax
from regard.decode.rules import Bounds, RepetitionPenalty, Rule
from regard.decode.stream import streaming
from regard.decode.write import Detokenizer
from regard.models.feeding import Feed, Read, Request
from regard.models.window import in_window
from regard.serve.served import Served
from regard.serve.wire import Declined
from regard.special import START, STOP

PIECE = 128  # tokens of a prompt that are scored at once


@dataclass(frozen=True)
class Wishes:
    """How a text is to go on."""

    length: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stops: tuple[str, ...] = ()
    presence: float = 0.0
    frequency: float = 0.0
    repetition: float = 1.0
    bias: Mapping[int, float] | None = None
    logs: int | None = None
    """Probabilities are wanted, and of so many others; None: none."""
    echo: bool = False


class Made(NamedTuple):
    """A token, what it lets one show, and log p of it and of the best, if asked for."""

    id: int
    text: str
    log: float | None = None
    best: tuple[tuple[int, float], ...] = ()
    prompt: bool = False


class Finish(NamedTuple):
    """Why an answer ended: stop or length; and how many tokens were made."""

    reason: str
    tokens: int


def prompt_tokens(served: Served, prompt: str | Sequence[int]) -> list[int]:
    """The tokens that a client names, as text or by their ids; too many are refused."""
    tokenizer = served.run.tokenizer
    if isinstance(prompt, str):
        most = 16 * served.limits.longest  # characters: what is longer has more tokens than are allowed, nearly always
        ids = tokenizer.encode(prompt) if len(prompt) <= most else [0] * (served.limits.longest + 1)
    else:
        if any(not 0 <= token < tokenizer.vocabulary for token in prompt):
            raise Declined(400, f"tokens must be from 0 to {tokenizer.vocabulary - 1}", "prompt")
        ids = list(prompt)
    return within(served, ids, "the prompt has", "prompt")


def within(served: Served, named: list[int], what: str, field: str) -> list[int]:
    """The same tokens, if they are not too many to be read."""
    number, most = len(from_start(named)), min(served.limits.longest, served.run.model.longest or served.limits.longest)
    if number > most:
        told = f"{what} {number} tokens, at most {most} are read; send less"
        raise Declined(400, told, field, "context_length_exceeded")
    return named


def from_start(named: list[int]) -> list[int]:
    """What is fed: the start first, which a client may have named itself."""
    return named if named[:1] == [START] else [START, *named]


def completing(served: Served, named: list[int], wishes: Wishes) -> Generator[Any, Any, None]:
    """Says each `Made` as it is made, and last a `Finish`."""
    read = from_start(named)
    text = Detokenizer(served.run.tokenizer, read, wishes.stops)
    logs = Logs(wishes.logs)
    longest = served.run.model.longest
    limit = wishes.length if longest is None else min(wishes.length, longest - len(read) + 1)
    talk: Generator[Any, Any, None] = _talk(named, limit, wishes, logs)
    if served.run.window:
        talk = in_window(talk, served.run.window)
    told, made, reason = None, 0, "length"
    while True:
        try:
            said = talk.send(told)
        except StopIteration:
            break
        told = None
        if isinstance(said, Request):
            told = yield said
        elif isinstance(said, Made):
            yield said
        else:
            token = int(said)
            shown = text.add(token)
            if token != STOP:
                made += 1
                yield Made(token, shown, *logs.newest())
            elif shown:
                yield Made(STOP, shown)
            if text.done:
                reason = "stop"
                break
    talk.close()
    if rest := text.end():
        yield Made(STOP, rest)
    yield Finish(reason, made)


def _talk(named: list[int], limit: int, wishes: Wishes, logs: "Logs") -> Generator[Any, Any, None]:
    read = from_start(named)
    state, prompt = (yield Read()), torch.tensor([read])
    if wishes.echo and wishes.logs is not None:
        skipped = len(read) - len(named)  # what the start predicts is the first token, unless that is the start
        if named:
            yield Made(named[0], "", prompt=True)  # nothing was asked before the first one
        left, said = prompt[:, :-1].split(PIECE, 1), prompt[:, 1:].split(PIECE, 1)
        for number, (piece, follows) in enumerate(zip(left, said, strict=True)):
            scores, state = yield Feed(piece, state, every=True)
            logs.hear(scores[0])
            for place, token in enumerate(follows[0].tolist()):
                if number or place >= skipped:
                    yield Made(token, "", *logs.of(place, token), prompt=True)
        prompt = prompt[:, -1:]
    if limit > 0:
        rules: list[Rule] = [logs, *_rules(wishes, prompt.shape[1])]
        yield from streaming(prompt, state, logs.noting(_choice(wishes)), Bounds(limit=limit, rules=rules))


def _choice(wishes: Wishes) -> Choose:
    if wishes.temperature == 0:
        return argmax
    seed = secrets.randbits(63) if wishes.seed is None else wishes.seed
    return Sample([seed], temperature=wishes.temperature, top_k=wishes.top_k, top_p=wishes.top_p, min_p=wishes.min_p)


def _rules(wishes: Wishes, begin: int) -> list[Rule]:
    rules: list[Rule] = [RepetitionPenalty(wishes.repetition)] if wishes.repetition != 1 else []
    if wishes.presence or wishes.frequency:
        rules.append(Repeated(wishes.presence, wishes.frequency, begin))
    return [*rules, *([Biased(wishes.bias)] if wishes.bias else [])]


class Logs:
    """A rule that changes nothing: it notes the model's own log-probabilities, before any other."""

    def __init__(self, best: int | None) -> None:
        self.best = best
        self._logs: Tensor | None = None
        self._token = 0

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        self.hear(scores)
        return scores

    def hear(self, scores: Float[Tensor, "R V"]) -> None:
        if self.best is not None:
            self._logs = scores.float().log_softmax(-1)

    def noting(self, choose: Choose) -> Choose:
        """The same choice, and a note of it."""

        def noted(scores: Tensor, rows: Tensor, made: int) -> Tensor:
            chosen = choose(scores, rows, made)
            self._token = int(chosen[0])
            return chosen

        return noted

    def newest(self) -> tuple[float | None, tuple[tuple[int, float], ...]]:
        return self.of(0, self._token)

    def of(self, row: int, token: int) -> tuple[float | None, tuple[tuple[int, float], ...]]:
        """log p of a token, and the best."""
        if self._logs is None or self.best is None:
            return None, ()
        line = self._logs[row]
        best = line.topk(min(self.best, len(line)))
        return float(line[token]), tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))


@dataclass(frozen=True)
class Repeated:
    """s_v − presence · [n_v > 0] − frequency · n_v, for n_v times that v was made so far."""

    presence: float
    frequency: float
    begin: int

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        made = written[:, self.begin :]
        counts = torch.zeros_like(scores).scatter_add(1, made, torch.ones_like(made, dtype=scores.dtype))
        return scores - self.presence * (counts > 0) - self.frequency * counts


@dataclass(frozen=True)
class Biased:
    """s_v + b_v for some tokens."""

    bias: Mapping[int, float]

    def __call__(self, scores: Float[Tensor, "R V"], written: Int[Tensor, "R T"]) -> Float[Tensor, "R V"]:
        added = scores.clone()
        added[:, list(self.bias)] += torch.tensor(list(self.bias.values()), dtype=scores.dtype)
        return added
