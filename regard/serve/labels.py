"""Classes, tags and captions, in the same manner; and texts as tokens."""

import base64
import binascii
import io
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from starlette.requests import Request
from starlette.responses import Response

from regard.config.decoding import Search
from regard.data.images import as_pixels
from regard.errors import UserError
from regard.models.feeding import Compute
from regard.serve.answering import Json, json_of, until_gone
from regard.serve.served import Served, served_as
from regard.serve.wire import Declined, between, read
from regard.special import NAMES, PADDING, START, STOP

PIXELS = 50_000_000


@dataclass(frozen=True, kw_only=True)
class TextsRequest:
    """Texts to be judged."""

    model: str
    texts: str | list[str]
    """A text, or several."""
    weights: bool | None = False
    """Also how much attention each word was given, where the run weighs words."""


@dataclass(frozen=True, kw_only=True)
class CaptionRequest:
    """A picture to be described."""

    model: str
    picture: str
    """A PNG or JPEG file in base64."""
    alternatives: int | None = 0
    beam: int | None = 5


async def _each(request: Request, served: Served, computed: list[Any]) -> list[Any]:
    def asking() -> Any:
        for compute in computed:
            yield (yield Compute(compute))

    async def listed() -> list[Any]:
        return [said async for said in served.said(asking())]

    found = await until_gone(request, listed())
    served.metrics.count("request_success_total", (*served.label, ("finished_reason", "stop")))
    return found


def _texts(served: Served, asked: TextsRequest) -> list[str]:
    texts = [asked.texts] if isinstance(asked.texts, str) else asked.texts
    between("texts", len(texts), 1, served.limits.together)
    for text in texts:
        size = len(served.run.source_tokenizer.encode(text))
        most = min(served.limits.longest, served.run.model.longest or served.limits.longest)
        if size >= most:
            raise Declined(400, f"a text has {size} tokens, at most {most - 1} are read; send less", "texts")
    return texts


async def classify(request: Request) -> Response:
    asked = read(TextsRequest, await json_of(request))
    served = served_as(request, asked.model, "classify")

    def one(text: str) -> dict[str, Any]:
        (classes,) = served.run.classify([text])
        label = next(iter(classes))
        weights = {"weights": served.run.word_weights(text)} if asked.weights else {}
        return {"label": label, "probabilities": classes} | weights

    texts = _texts(served, asked)
    found = await _each(request, served, [lambda text=text: one(text) for text in texts])
    return Json({"model": served.name, "results": found})


async def tag(request: Request) -> Response:
    asked = read(TextsRequest, await json_of(request))
    served = served_as(request, asked.model, "tag")

    def one(text: str) -> list[dict[str, str]]:
        words = text.split()
        (tags,) = served.run.tag([words])
        return [{"word": word, "tag": found} for word, found in zip(words, tags, strict=True)]

    texts = _texts(served, asked)
    if not all(text.strip() for text in texts):
        raise Declined(400, "a sentence must have words, found an empty one", "texts")
    found = await _each(request, served, [lambda text=text: one(text) for text in texts])
    return Json({"model": served.name, "results": found})


async def caption(request: Request) -> Response:
    asked = read(CaptionRequest, await json_of(request))
    served = served_as(request, asked.model, "caption")
    between("alternatives", asked.alternatives, 0, served.limits.number)
    between("beam", asked.beam, 1, served.limits.number)
    try:
        data = base64.b64decode(asked.picture.partition(",")[2] or asked.picture, validate=True)
    except (binascii.Error, ValueError):
        raise Declined(400, "'picture' must be a file in base64", "picture") from None
    number = 1 + (asked.alternatives or 0)
    search = Search(beam=max(asked.beam or 5, number), n_best=number)

    def one() -> list[str]:
        try:
            with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
                if image.width * image.height > PIXELS:
                    raise UserError(f"a picture may have {PIXELS:,} pixels at most")
                pixels = torch.from_numpy(as_pixels(image, served.run.recipe.pictures.side))
        except (OSError, SyntaxError, ValueError):
            raise UserError("'picture' must be a PNG or JPEG file, found what is none") from None
        (found,) = served.run.caption([pixels], search)
        return [each.text for each in found]

    (texts,) = await _each(request, served, [one])
    return Json({"model": served.name, "caption": texts[0], "alternatives": texts[1:]})


@dataclass(frozen=True, kw_only=True)
class TokenizeRequest:
    """A text as tokens; the name of a special token by itself, as /tokenizer_info tells it, is that token."""

    model: str | None = None
    """The name of a run; without one the first that is served."""
    prompt: str = ""
    add_special_tokens: bool | None = False
    """The start token in front."""


@dataclass(frozen=True, kw_only=True)
class DetokenizeRequest:
    """Tokens as a text."""

    model: str | None = None
    """The name of a run; without one the first that is served."""
    tokens: list[int]


def _run(request: Request, name: str | None) -> Served:
    known: dict[str, Served] = request.app.state.served
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise Declined(404, f"the model '{name}' does not exist", "model", "model_not_found")
    return known[name]


async def tokenize(request: Request) -> Response:
    asked = read(TokenizeRequest, await json_of(request))
    served = _run(request, asked.model)
    reader = served.run.source_tokenizer
    ids = [NAMES.index(asked.prompt)] if asked.prompt in NAMES else reader.encode(asked.prompt)
    ids = [*([START] if asked.add_special_tokens else []), *ids]
    names = [reader.label(token) for token in ids]
    return Json({"count": len(ids), "max_model_len": _longest(served), "tokens": ids, "token_strs": names})


async def detokenize(request: Request) -> Response:
    asked = read(DetokenizeRequest, await json_of(request))
    return Json({"prompt": _run(request, asked.model).run.tokenizer.decode(asked.tokens)})


async def tokenizer_info(request: Request) -> Response:
    run = _run(request, request.query_params.get("model")).run
    template = run.chat_template or {}
    return Json(
        {
            "tokenizer_class": run.tokenizer.kind,
            "vocab_size": run.tokenizer.vocabulary,
            "bos_token": NAMES[START],
            "eos_token": NAMES[STOP],
            "pad_token": NAMES[PADDING],
            "chat_template": template.get("template"),
        }
    )


def _longest(served: Served) -> int:
    return min(served.limits.longest, served.run.model.longest or served.limits.longest)
