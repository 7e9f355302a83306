"""All routes as one ASGI application."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve import about, labels, libre, openai
from regard.serve.answering import as_openai, as_plain, guarded
from regard.serve.guard import Guard
from regard.serve.metrics import Metrics
from regard.serve.openapi import openapi
from regard.serve.served import Limits, Served
from regard.serve.wire import Declined

OPENAI = (
    ("/v1/models", "GET", openai.models),
    ("/v1/models/{name:path}", "GET", openai.model),
    ("/v1/completions", "POST", openai.completions),
    ("/v1/chat/completions", "POST", openai.chat),
    ("/v1/embeddings", "POST", openai.embeddings),
    ("/tokenize", "POST", labels.tokenize),
    ("/detokenize", "POST", labels.detokenize),
    ("/tokenizer_info", "GET", labels.tokenizer_info),
    ("/classify", "POST", labels.classify),
    ("/tag", "POST", labels.tag),
    ("/caption", "POST", labels.caption),
)
PLAIN = (
    ("/translate", "POST", libre.translate),
    ("/detect", "POST", libre.detect),
    ("/languages", "GET", libre.languages),
    ("/frontend/settings", "GET", libre.settings),
    ("/health", "GET", about.health),
    ("/ready", "GET", about.ready),
    ("/metrics", "GET", about.metrics),
    ("/openapi.json", "GET", openapi),
    ("/spec", "GET", openapi),
    ("/", "GET", about.page),
    ("/static/{name}", "GET", about.page),
    ("/runs", "GET", about.runs),
)


def application(
    served: Sequence[Served], limits: Limits, metrics: Metrics, key: bytes | None = None, origins: Sequence[str] = ()
) -> Starlette:
    """Answers about these runs."""
    routes = [
        Route(path, guarded(answer, as_error), methods=[method])
        for table, as_error in ((OPENAI, as_openai), (PLAIN, as_plain))
        for path, method, answer in table
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    app.state.served = {one.name: one for one in served}
    app.state.limits, app.state.metrics, app.state.key, app.state.draining = limits, metrics, key, False
    app.state.board = None  # of several processes at one port: their figures
    app.add_middleware(Guard, key=key, origins=origins)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refusal = as_openai if request.url.path.startswith("/v1/") else as_plain
    words = {404: "there is nothing here", 405: "not with this method"}
    declined = Declined(error.status_code, words.get(error.status_code, error.detail))
    declined.headers = dict(error.headers or {})
    return refusal(declined)
