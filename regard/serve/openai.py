"""The interface that OpenAI's clients speak: models, completions, chat, embeddings."""

import asyncio
import base64
import struct
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from regard.models.feeding import Compute
from regard.serve.answering import Json, json_of, streamed, until_gone
from regard.serve.chat import rendered
from regard.serve.served import Served, served_as
from regard.serve.spelling import Chosen, Spelled
from regard.serve.wire import Declined, between, read
from regard.serve.writing import Finish, Made, Wishes, completing, prompt_tokens


@dataclass(frozen=True)
class StreamOptions:
    """What a stream has besides."""

    include_usage: bool = False
    """A last chunk with the numbers of tokens."""
    include_obfuscation: bool = False
    """Taken, and without effect."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What completions and chats have in common."""

    model: str
    """The name of a run."""
    n: int | None = 1
    """How many answers."""
    stop: str | list[str] | None = None
    """Up to four texts before which an answer ends."""
    seed: int | None = None
    """The same seed, the same answer; the next answer has the next seed."""
    temperature: float | None = 1.0
    """0: always the most probable token."""
    top_p: float | None = 1.0
    """Only the most probable tokens that hold this share."""
    top_k: int | None = 0
    """Only so many of the most probable tokens; 0: all."""
    min_p: float | None = 0.0
    """Only tokens with this share of the best one's probability."""
    presence_penalty: float | None = 0.0
    """Taken from the score of what was made before."""
    frequency_penalty: float | None = 0.0
    """Taken for each time that it was made."""
    repetition_penalty: float | None = 1.0
    """Above 1: what stands in prompt and answer becomes less probable."""
    logit_bias: dict[str, float] | None = None
    """Added to the scores of tokens, by id."""
    stream: bool | None = False
    """Server-sent events, piece by piece."""
    stream_options: StreamOptions | None = None
    user: str | None = None
    """Taken, and without effect."""

    def wishes(self, served: Served, length: int | None, logs: int | None, echo: bool) -> Wishes:
        """What is wanted, checked."""
        limits, stops = served.limits, [self.stop] if isinstance(self.stop, str) else self.stop or []
        between("n", self.n, 1, limits.number)
        between("temperature", self.temperature, 0, 100)
        between("top_k", self.top_k, 0, 1 << 30)
        between("min_p", self.min_p, 0, 1)
        between("presence_penalty", self.presence_penalty, -10, 10)
        between("frequency_penalty", self.frequency_penalty, -10, 10)
        between("repetition_penalty", self.repetition_penalty, 0.01, 100)
        between("max_tokens", length, 0, limits.longest)
        between("logprobs", logs, 0, 20)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise Declined(400, f"'top_p' must be above 0 and at most 1, found {self.top_p:g}", "top_p")
        if len(stops) > 4 or not all(stops):
            raise Declined(400, "'stop' takes up to four texts, none of them empty", "stop")
        return Wishes(
            length=16 if length is None else length,
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=self.top_p or 1.0,
            top_k=self.top_k or 0,
            min_p=self.min_p or 0.0,
            seed=self.seed,
            stops=tuple(stops),
            presence=self.presence_penalty or 0.0,
            frequency=self.frequency_penalty or 0.0,
            repetition=1.0 if self.repetition_penalty is None else self.repetition_penalty,
            bias=self._bias(served.run.tokenizer.vocabulary),
            logs=logs,
            echo=echo,
        )

    def _bias(self, vocabulary: int) -> dict[int, float]:
        found = {}
        for name, value in (self.logit_bias or {}).items():
            if not (name.isascii() and name.isdigit() and len(name) < 10 and int(name) < vocabulary):
                raise Declined(400, f"'logit_bias' wants ids from 0 to {vocabulary - 1}", "logit_bias")
            between("logit_bias", value, -100, 100)
            found[int(name)] = value
        return found


@dataclass(frozen=True, kw_only=True)
class CompletionRequest(Sampled):
    """How a text goes on."""

    prompt: str | list[str] | list[int] | list[list[int]] | None = ""
    """A text, its tokens, or several of one kind."""
    max_tokens: int | None = 16
    """Tokens to write at most."""
    echo: bool | None = False
    """The prompt stands in front of the answer."""
    logprobs: int | None = None
    """Log-probabilities, and those of so many other tokens."""
    best_of: int | None = None
    """So many answers are made; the n most probable are given."""
    suffix: str | None = None
    """Not known here: a text that is to follow."""

    def prompts(self) -> list[str | list[int]]:
        given = self.prompt or ""
        if isinstance(given, str):
            return [given]
        if given and isinstance(given[0], int):
            return [given]
        return list(given)


@dataclass(frozen=True, kw_only=True)
class Message:
    """What somebody said."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[dict[str, Any]] | None = None
    """A text, or parts that are texts."""
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest(Sampled):
    """The next thing to say."""

    messages: list[Message]
    """What was said so far."""
    max_tokens: int | None = None
    """Tokens to write at most."""
    max_completion_tokens: int | None = None
    """The same."""
    logprobs: bool | None = False
    """Log-probabilities of what is said."""
    top_logprobs: int | None = None
    """And of so many other tokens."""
    response_format: dict[str, Any] | None = None
    """Text alone is known here."""
    store: bool | None = False
    """Taken, and without effect."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingRequest:
    """Texts as vectors."""

    model: str
    input: str | list[str]
    """A text, or several."""
    encoding_format: Literal["float", "base64"] | None = "float"
    """As numbers, or as the bytes of 32-bit numbers."""
    dimensions: int | None = None
    """As many as the run has."""
    user: str | None = None


async def models(request: Request) -> Response:
    return Json({"object": "list", "data": [_model(one) for one in request.app.state.served.values()]})


async def model(request: Request) -> Response:
    served = request.app.state.served.get(request.path_params["name"])
    if served is None:
        name = request.path_params["name"]
        raise Declined(404, f"the model '{name}' does not exist", "model", "model_not_found")
    return Json(_model(served))


def _model(served: Served) -> dict[str, Any]:
    return {"id": served.name, "object": "model", "created": served.made, "owned_by": "regard"}


async def completions(request: Request) -> Response:
    asked = read(CompletionRequest, await json_of(request))
    served = served_as(request, asked.model, "write")
    wishes = asked.wishes(served, asked.max_tokens, asked.logprobs, bool(asked.echo))
    if asked.suffix:
        raise Declined(400, "a suffix is not known here; leave it out", "suffix")
    prompts = asked.prompts()
    between("prompt", len(prompts), 1, served.limits.together)
    best_of = max(asked.best_of or 1, asked.n or 1)
    between("best_of", best_of, 1, served.limits.number)
    if best_of > (asked.n or 1):
        if asked.stream:
            raise Declined(400, "best_of cannot be streamed", "best_of")
        wishes = replace(wishes, logs=wishes.logs or 0)
    named = [prompt_tokens(served, prompt) for prompt in prompts]
    spelled = [Spelled(served, tokens, wishes) for tokens in named]
    choices = [
        Chosen(number, one, replace(wishes, seed=None if wishes.seed is None else (wishes.seed + place) % 2**63))
        for number, (one, place) in enumerate((one, place) for one in spelled for place in range(best_of))
    ]
    about = _about("cmpl", "text_completion", served)
    if asked.stream:
        return await streamed(request, _chunks(served, choices, about, asked.stream_options, Chosen.piece))
    await until_gone(request, _all(served, choices))
    usage = _usage(named, choices)
    if best_of > (asked.n or 1):
        choices = [
            chosen
            for first in range(0, len(choices), best_of)
            for chosen in sorted(choices[first : first + best_of], key=lambda one: -one.mean_log)[: asked.n or 1]
        ]
        for number, chosen in enumerate(choices):
            chosen.number = number
    shown = [chosen.completion(asked.logprobs is not None) for chosen in choices]
    return Json(about | {"choices": shown, "usage": usage})


async def chat(request: Request) -> Response:
    asked = read(ChatRequest, await json_of(request))
    served = served_as(request, asked.model, "write")
    length = asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
    logs = (asked.top_logprobs or 0) if asked.logprobs else None
    if asked.response_format and asked.response_format.get("type") not in (None, "text"):
        raise Declined(400, "answers are text; leave response_format out", "response_format")
    tokens = rendered(served, [(one.role, _text(one)) for one in asked.messages])
    free = min(served.limits.longest, served.run.model.longest or served.limits.longest) - len(tokens)
    wishes = asked.wishes(served, min(1024, max(1, free)) if length is None else length, logs, False)
    spelled = Spelled(served, tokens, wishes)
    choices = [
        Chosen(place, spelled, replace(wishes, seed=None if wishes.seed is None else (wishes.seed + place) % 2**63))
        for place in range(asked.n or 1)
    ]
    if asked.stream:
        about = _about("chatcmpl", "chat.completion.chunk", served)
        return await streamed(request, _chunks(served, choices, about, asked.stream_options, Chosen.delta))
    await until_gone(request, _all(served, choices))
    shown = [chosen.message() for chosen in choices]
    about = _about("chatcmpl", "chat.completion", served)
    return Json(about | {"choices": shown, "usage": _usage([tokens], choices)})


def _text(message: Message) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    if any(part.get("type") != "text" or not isinstance(part.get("text"), str) for part in message.content):
        raise Declined(400, "the parts of a message must be texts", "messages")
    return "".join(part["text"] for part in message.content)


async def embeddings(request: Request) -> Response:
    asked = read(EmbeddingRequest, await json_of(request))
    served = served_as(request, asked.model, "embed")
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    between("input", len(texts), 1, 8 * served.limits.together)
    counts = [len(served.run.source_tokenizer.encode(text)) for text in texts]
    between("input", max(counts), 0, min(served.limits.longest, served.run.model.longest or served.limits.longest))

    def asking() -> Any:
        for text in texts:
            vectors = yield Compute(partial(served.run.embed, [text]))
            yield vectors[0].tolist()

    vectors = await until_gone(request, _listed(served, asking()))
    if asked.dimensions not in (None, len(vectors[0])):
        raise Declined(400, f"this run has {len(vectors[0])} dimensions", "dimensions")
    data = [
        {"object": "embedding", "index": place, "embedding": _coded(vector, asked.encoding_format)}
        for place, vector in enumerate(vectors)
    ]
    served.metrics.count("prompt_tokens_total", served.label, sum(counts))
    usage = {"prompt_tokens": sum(counts), "total_tokens": sum(counts)}
    return Json({"object": "list", "data": data, "model": served.name, "usage": usage})


def _coded(vector: list[float], how: str | None) -> list[float] | str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if how == "base64" else vector


async def _listed(served: Served, asking: Any) -> list[Any]:
    return [said async for said in served.said(asking)]


def _about(prefix: str, kind: str, served: Served) -> dict[str, Any]:
    return {
        "id": f"{prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": served.name,
        "system_fingerprint": served.fingerprint,
    }


def _usage(prompts: Sequence[Sequence[int]], choices: Sequence[Chosen]) -> dict[str, int]:
    prompt, made = sum(map(len, prompts)), sum(chosen.made for chosen in choices)
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


async def _all(served: Served, choices: Sequence[Chosen]) -> None:
    """Every choice to its end, at the same time."""
    tasks = [asyncio.ensure_future(_whole(served, chosen)) for chosen in choices]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _whole(served: Served, chosen: Chosen) -> None:
    async for _ in _heard(served, chosen):
        pass


async def _heard(served: Served, chosen: Chosen) -> AsyncIterator[Any]:
    """What is said of one choice, noted on it and in the figures."""
    began = last = time.monotonic()
    talk = served.said(completing(served, chosen.spelled.named, chosen.wishes))
    try:
        async for said in talk:
            now = time.monotonic()
            if isinstance(said, Made) and not said.prompt:
                name = "inter_token_latency_seconds" if chosen.made else "time_to_first_token_seconds"
                served.metrics.took(name, now - last, served.name)
                last = now
            chosen.add(said)
            if isinstance(said, Finish):
                served.metrics.took("e2e_request_latency_seconds", now - began, served.name)
                served.metrics.count("request_success_total", (*served.label, ("finished_reason", said.reason)))
                served.metrics.count("prompt_tokens_total", served.label, len(chosen.spelled.named))
                served.metrics.count("generation_tokens_total", served.label, said.tokens)
            yield said
    finally:
        await talk.aclose()


async def _chunks(
    served: Served, choices: list[Chosen], about: dict[str, Any], options: StreamOptions | None, piece: Any
) -> AsyncGenerator[dict[str, Any]]:
    """All choices as they are made."""
    box: asyncio.Queue[tuple[Chosen, Any]] = asyncio.Queue()
    usage = {"usage": None} if options and options.include_usage else {}

    async def feed(chosen: Chosen) -> None:
        try:
            async for said in _heard(served, chosen):
                box.put_nowait((chosen, said))
        except BaseException as error:
            box.put_nowait((chosen, error))
            raise

    tasks, left = [asyncio.ensure_future(feed(chosen)) for chosen in choices], len(choices)
    try:
        while left:
            chosen, said = await box.get()
            if isinstance(said, BaseException):
                raise said
            for choice in piece(chosen, said):
                yield about | {"choices": [choice]} | usage
            left -= isinstance(said, Finish)
        if usage:
            prompts = {id(chosen.spelled): chosen.spelled.named for chosen in choices}
            yield about | {"choices": [], "usage": _usage(list(prompts.values()), choices)}
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
