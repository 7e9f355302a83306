"""The interface that LibreTranslate's clients speak: translate, detect, languages, settings."""

import asyncio
import hmac
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.answering import Json, body_of, until_gone
from regard.serve.served import Served
from regard.serve.translating import InOtherWords, translating, translating_html
from regard.serve.wire import Declined, between, decoded, read

_NAMES = [
    "ar",
    "Arabic",
    "bg",
    "Bulgarian",
    "bn",
    "Bengali",
    "ca",
    "Catalan",
    "cs",
    "Czech",
    "da",
    "Danish",
    "de",
    "German",
    "el",
    "Greek",
    "en",
    "English",
    "eo",
    "Esperanto",
    "es",
    "Spanish",
    "et",
    "Estonian",
    "eu",
    "Basque",
    "fa",
    "Persian",
    "fi",
    "Finnish",
    "fr",
    "French",
    "ga",
    "Irish",
    "gl",
    "Galician",
    "he",
    "Hebrew",
    "hi",
    "Hindi",
    "hr",
    "Croatian",
    "hu",
    "Hungarian",
    "id",
    "Indonesian",
    "is",
    "Icelandic",
    "it",
    "Italian",
    "ja",
    "Japanese",
    "ko",
    "Korean",
    "lt",
    "Lithuanian",
    "lv",
    "Latvian",
    "mt",
    "Maltese",
    "nb",
    "Norwegian",
    "nl",
    "Dutch",
    "pl",
    "Polish",
    "pt",
    "Portuguese",
    "ro",
    "Romanian",
    "ru",
    "Russian",
    "sk",
    "Slovak",
    "sl",
    "Slovenian",
    "sq",
    "Albanian",
    "sr",
    "Serbian",
    "sv",
    "Swedish",
    "sw",
    "Swahili",
    "th",
    "Thai",
    "tr",
    "Turkish",
    "uk",
    "Ukrainian",
    "ur",
    "Urdu",
    "vi",
    "Vietnamese",
    "zh",
    "Chinese",
]
NAMES = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))


@dataclass(frozen=True, kw_only=True)
class TranslateRequest:
    """Texts in another language."""

    q: str | list[str] | None = None
    """A text, or several."""
    source: str | None = None
    """The code of its language, or auto."""
    target: str | None = None
    """The code of the language wanted."""
    format: Literal["text", "html"] | None = "text"
    """Tags of HTML stay where they are."""
    alternatives: int | None = 0
    """Other ways to say it."""
    alignments: bool | None = False
    """Where the model looked: words written to words read."""
    beam: int | None = 5
    """Hypotheses that are followed at once."""
    api_key: str | None = None
    """The key, where one is wanted."""


@dataclass(frozen=True, kw_only=True)
class DetectRequest:
    """Which language a text is in."""

    q: str | None = None
    api_key: str | None = None


async def _asked(request: Request) -> Any:
    """JSON or a form. Whoever brings no key in a header must have it here."""
    body = await body_of(request, request.app.state.limits.body)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        try:
            form = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError:
            raise Declined(400, "Invalid request: the form cannot be read") from None
        found: Any = {name: values[0] for name, values in form.items()}
        if isinstance(found.get("alternatives"), str):
            digits = found["alternatives"]
            if not (digits.isascii() and digits.isdigit() and len(digits) < 6):
                raise Declined(400, "Invalid request: alternatives parameter must be a number")
            found["alternatives"] = int(digits)
        found = {name: value for name, value in found.items() if name != "secret"}
    elif kind in ("application/json", "text/plain", "") or kind.endswith("+json"):
        found = decoded(body) if body else {}
    else:
        raise Declined(415, f"a body must be JSON or a form, found {kind[:80]}")
    key = request.app.state.key
    if key and not request.scope.get("authorised"):
        given = found.get("api_key") if isinstance(found, dict) else None
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(errors="replace"), key):
            raise Declined(403, "Invalid API key")
    if isinstance(found, dict) and isinstance(found.get("api_key"), str | None):
        found.pop("api_key", None)
    return found


def _translators(request: Request) -> dict[tuple[str, str], Served]:
    return {one.languages: one for one in request.app.state.served.values() if one.languages}


async def translate(request: Request) -> Response:
    asked = read(TranslateRequest, await _asked(request))
    for name in ("q", "source", "target"):
        if getattr(asked, name) in (None, "", []) and not (name == "q" and asked.q == ""):
            raise Declined(400, f"Invalid request: missing {name} parameter", name)
    limits, known = request.app.state.limits, _translators(request)
    texts = asked.q if isinstance(asked.q, list) else [asked.q or ""]
    if len(texts) > limits.together:
        raise Declined(400, f"Invalid request: request has {len(texts)} texts, at most {limits.together} are allowed")
    if sum(map(len, texts)) > 4 * limits.longest * limits.together:
        raise Declined(400, "Invalid request: the text is too long")
    between("alternatives", asked.alternatives, 0, limits.number)
    between("beam", asked.beam, 1, limits.number)
    sources = {source for source, _ in known}
    found = [detected(known, text) for text in texts] if asked.source == "auto" else []
    codes = [one["language"] for one in found] or [asked.source or ""] * len(texts)
    for code in (*codes, asked.target or ""):
        if code not in sources | {target for _, target in known}:
            raise Declined(400, f"{code} is not supported")
    for code in codes:
        if (code, asked.target) not in known:
            raise Declined(400, f"{asked.target} is not available as a target language from {code}", "target")
    chosen = [known[code, asked.target or ""] for code in codes]
    made = await until_gone(request, _all(chosen, texts, asked))
    several = isinstance(asked.q, list)
    shown: dict[str, Any] = {"translatedText": _one([one.text for one in made], several)}
    if found:
        shown["detectedLanguage"] = _one(found, several)
    if asked.alternatives:
        shown["alternatives"] = _one([list(one.others) for one in made], several)
    if asked.alignments:
        shown["alignments"] = _one([list(one.alignments) for one in made], several)
    return Json(shown)


def _one(values: list[Any], several: bool) -> Any:
    return values if several else values[0]


async def _all(chosen: list[Served], texts: list[str], asked: TranslateRequest) -> list[InOtherWords]:
    tasks = [asyncio.ensure_future(_text(served, text, asked)) for served, text in zip(chosen, texts, strict=True)]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _text(served: Served, text: str, asked: TranslateRequest) -> InOtherWords:
    how = translating_html if asked.format == "html" else translating
    beam, others = asked.beam or 5, asked.alternatives or 0
    talk = served.said(
        how(served, text, beam, others, bool(asked.alignments)), served.engine.sizes.wide(max(beam, 1 + others))
    )
    (found,) = [said async for said in talk]
    assert isinstance(found, InOtherWords)
    served.metrics.count("request_success_total", (*served.label, ("finished_reason", "stop")))
    return found


def detected(known: dict[tuple[str, str], Served], text: str) -> dict[str, Any]:
    """The language whose tokenizer, learnt on it, needs the fewest tokens; how sure that is, from 0 to 100.

    With one language there is nothing to compare with: it is the one, and nobody can be sure of it.
    """
    readers = {source: served.run.source_tokenizer for (source, _), served in known.items()}
    if not readers:
        raise Declined(400, "no translator is served here")
    shortened = text[:2000]
    tokens = {code: len(reader.encode(shortened)) for code, reader in readers.items()} if shortened.strip() else {}
    if len(tokens) < 2:
        return {"language": next(iter(readers)), "confidence": 0.0}
    (best, fewest), (_, second), *_ = sorted(tokens.items(), key=lambda one: one[1])
    return {"language": best, "confidence": round(100.0 * (1 - fewest / max(1, second)), 1)}


async def detect(request: Request) -> Response:
    asked = read(DetectRequest, await _asked(request))
    if asked.q is None:
        raise Declined(400, "Invalid request: missing q parameter", "q")
    return Json([detected(_translators(request), asked.q)])


async def languages(request: Request) -> Response:
    known = _translators(request)
    codes = dict.fromkeys(code for pair in known for code in pair)
    return Json(
        [
            {
                "code": code,
                "name": NAMES.get(code, code),
                "targets": sorted({code, *(target for source, target in known if source == code)}),
            }
            for code in codes
        ]
    )


async def settings(request: Request) -> Response:
    known, limits = _translators(request), request.app.state.limits
    source, target = next(iter(known), ("", ""))
    return Json(
        {
            "apiKeys": bool(request.app.state.key),
            "charLimit": 4 * limits.longest * limits.together,
            "filesTranslation": False,
            "frontendTimeout": 500,
            "keyRequired": bool(request.app.state.key),
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": target, "name": NAMES.get(target, target)},
                "known": source,
            },
            "suggestions": False,
            "supportedFilesFormat": [],
        }
    )
