"""A translator's answer as a search: lines of a text, each by itself, in any markup."""

import html
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from typing import Any

from regard.config.decoding import Search
from regard.decode.batches import bucket_of
from regard.decode.translate import MOST, Plan, Translation
from regard.layers.state import in_blocks
from regard.look.align.words import align
from regard.models.feeding import Compute
from regard.models.model import Source
from regard.padding import padded
from regard.serve.served import Served
from regard.serve.wire import Declined
from regard.special import STOP

SENTENCE = re.compile(r"(?<=[.!?…])(\s+)(?=[\"'«„“¿¡(]?\w)|(\n+)|(?<=[。！？])()")


@dataclass(frozen=True)
class InOtherWords:
    """A text in another language, other ways to say it, and where the model looked, line by line."""

    text: str
    others: tuple[str, ...] = ()
    alignments: tuple[dict[str, Any], ...] = ()


def translating(served: Served, text: str, beam: int, others: int, alignments: bool) -> Generator[Any, Any, None]:
    """Says one `InOtherWords`: sentence by sentence, what is between them as it was."""
    plan = Plan(Search(beam=max(beam, 1 + others), n_best=1 + others), served.run.tokenizer)
    made: list[list[str]] = [[] for _ in range(1 + others)]
    looked = []
    for piece, is_text in sentences(text):
        found = (yield from _sentence(served, plan, piece)) if is_text else []
        for place, several in enumerate(made):
            several.append(found[min(place, len(found) - 1)].text if found else piece)
        if alignments and found:
            looked.append((yield Compute(partial(_aligned, served, piece, found[0]))))
    whole = ["".join(several) for several in made]
    yield InOtherWords(whole[0], tuple(dict.fromkeys(other for other in whole[1:] if other != whole[0])), tuple(looked))


def _sentence(served: Served, plan: Plan, text: str) -> Generator[Any, Any, list[Translation]]:
    read = served.run.source_tokenizer.encode(text)
    most = min(served.limits.longest, MOST)
    if len(read) > most:
        raise Declined(400, f"a sentence has {len(read)} tokens, at most {most} are read; send less", "q")
    tokens, keep = padded([[*read, STOP], [STOP] * in_blocks(len(read) + 1)])
    source = Source(tokens[:1], keep[:1])
    limit = plan.limit(served.run.model.longest, 2 * bucket_of(len(read)) + 20)
    (found,) = yield from plan.searching(source, limit)
    served.metrics.count("prompt_tokens_total", served.label, len(read))
    served.metrics.count("generation_tokens_total", served.label, len(found[0].tokens) if found else 0)
    return plan.texts(found)


def _aligned(served: Served, line: str, best: Translation) -> dict[str, Any]:
    source, target, weights = align(served.run.model, served.run.tokenizers, line, best)
    rounded = [[round(weight, 4) for weight in row] for row in weights.tolist()]
    return {"source": list(source), "target": list(target), "weights": rounded}


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces: those to be translated, and what stands between them."""
    for piece in SENTENCE.split(text):
        if not piece:
            continue
        inner = piece.strip()
        if not inner:
            yield piece, False
            continue
        first = piece.index(inner)
        yield from ((one, one is inner) for one in (piece[:first], inner, piece[first + len(inner) :]) if one)


class Markup(HTMLParser):
    """HTML in pieces: tags as they stand, and the texts between them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[tuple[str, bool]] = []
        self._kept = 0  # within how many elements whose text is none
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.pieces.append((self.get_starttag_text() or "", False))
        self._kept += tag in ("script", "style")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.pieces.append((self.get_starttag_text() or "", False))

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append((f"</{tag}>", False))
        self._kept = max(0, self._kept - (tag in ("script", "style")))

    def handle_data(self, data: str) -> None:
        self._text(data)

    def handle_entityref(self, name: str) -> None:
        self._text(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._text(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self.pieces.append((f"<!--{data}-->", False))

    def handle_decl(self, decl: str) -> None:
        self.pieces.append((f"<!{decl}>", False))

    def _text(self, raw: str) -> None:
        if self._kept:
            self.pieces.append((raw, False))
        elif self.pieces and self.pieces[-1][1]:
            self.pieces[-1] = (self.pieces[-1][0] + raw, True)
        else:
            self.pieces.append((raw, True))


def translating_html(served: Served, text: str, beam: int, others: int, alignments: bool) -> Generator[Any, Any, None]:
    """Says one `InOtherWords`: tags stay where they are, what stands between them is translated."""
    made: list[list[str]] = [[] for _ in range(1 + others)]
    looked: list[dict[str, Any]] = []
    for piece, is_text in Markup(text).pieces:
        found = None
        if is_text:
            talk, told = translating(served, html.unescape(piece), beam, others, alignments), None
            while found is None:
                said = talk.send(told)
                if isinstance(said, InOtherWords):
                    found = said
                else:
                    told = yield said
            looked += found.alignments
        for place, several in enumerate(made):
            ways = (found.text, *found.others) if found else ()
            several.append(html.escape(ways[min(place, len(ways) - 1)], quote=False) if ways else piece)
    whole = ["".join(several) for several in made]
    yield InOtherWords(whole[0], tuple(dict.fromkeys(other for other in whole[1:] if other != whole[0])), tuple(looked))
