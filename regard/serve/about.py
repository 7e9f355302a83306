"""Whether the server is well, what it has done, and the page to try it."""

from collections.abc import Iterable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.answering import Json
from regard.serve.metrics import TYPE, Key, memory, text
from regard.serve.served import Served
from regard.serve.wire import Declined

STATIC = files("regard.serve") / "static"
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
FILES = ("index.html", "try.js", "style.css")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


async def health(request: Request) -> Response:
    return Json({"status": "ok"})


async def ready(request: Request) -> Response:
    if request.app.state.draining:
        return Json({"status": "draining"}, 503, headers={"retry-after": "5"})
    return Json({"status": "ready", "models": list(request.app.state.served)})


async def metrics(request: Request) -> Response:
    state = request.app.state
    figures = state.metrics.figures(moment(state.served.values()))
    return Response(text(state.board.told(figures) if state.board else figures), headers={"content-type": TYPE})


def moment(served: Iterable[Served]) -> dict[Key, float]:
    """What is so now."""
    now: dict[Key, float] = {("resident_memory_bytes", ()): memory()}
    for one in served:
        now["num_requests_running", one.label] = len(one.engine.running)
        now["num_requests_waiting", one.label] = len(one.engine.waiting)
        now["steps_total", one.label] = one.engine.steps
    return now


async def page(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    if name not in FILES:
        raise Declined(404, "there is no such file")
    kind = TYPES[name.rpartition(".")[2]]
    headers = {"content-security-policy": POLICY, "x-content-type-options": "nosniff", "cache-control": "no-cache"}
    return Response((STATIC / name).read_bytes(), media_type=f"{kind}; charset=utf-8", headers=headers)


async def runs(request: Request) -> Response:
    """What the page may offer."""
    return Json(
        [
            {
                "name": one.name,
                "title": one.run.task.title,
                "does": one.run.task.commands[0],
                "chat": one.run.chat_template is not None,
                "languages": one.languages,
            }
            for one in request.app.state.served.values()
        ]
    )
