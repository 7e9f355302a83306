"""What can be asked, as OpenAPI: made of the same values that requests are read into."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.answering import Json
from regard.serve.labels import CaptionRequest, DetokenizeRequest, TextsRequest, TokenizeRequest
from regard.serve.libre import DetectRequest, TranslateRequest
from regard.serve.openai import ChatRequest, CompletionRequest, EmbeddingRequest
from regard.serve.wire import schema

BODIES: dict[str, type] = {
    "/v1/completions": CompletionRequest,
    "/v1/chat/completions": ChatRequest,
    "/v1/embeddings": EmbeddingRequest,
    "/translate": TranslateRequest,
    "/detect": DetectRequest,
    "/classify": TextsRequest,
    "/tag": TextsRequest,
    "/caption": CaptionRequest,
    "/tokenize": TokenizeRequest,
    "/detokenize": DetokenizeRequest,
}
ASKED = {
    "/v1/models": "The runs that are served.",
    "/languages": "Which languages can be translated into which.",
    "/frontend/settings": "What a page of LibreTranslate wants to know.",
    "/health": "Whether the process answers; never wants a key.",
    "/ready": "Whether requests are taken.",
    "/metrics": "Figures for Prometheus.",
}


async def openapi(request: Request) -> Response:
    return Json(description())


def description() -> dict[str, Any]:
    """The whole interface."""
    paths: dict[str, Any] = {}
    for path, kind in BODIES.items():
        content = {"application/json": {"schema": schema(kind)}}
        if path in ("/translate", "/detect"):
            content["application/x-www-form-urlencoded"] = {"schema": schema(kind)}
        paths[path] = {"post": _operation(kind.__doc__ or "") | {"requestBody": {"required": True, "content": content}}}
    for path, meaning in ASKED.items():
        paths[path] = {"get": _operation(meaning)}
    keys = {"bearer": {"type": "http", "scheme": "bearer"}, "basic": {"type": "http", "scheme": "basic"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "regard serve", "version": "1", "description": "Runs behind interfaces that clients speak."},
        "paths": paths,
        "components": {"securitySchemes": keys},
        "security": [{"bearer": []}, {"basic": []}],
    }


def _operation(meaning: str) -> dict[str, Any]:
    wrong = "Refused, with one line that says why."
    answers = {"200": {"description": "The answer."}, "4XX": {"description": wrong}, "5XX": {"description": wrong}}
    return {"summary": " ".join(meaning.split()), "responses": answers}
