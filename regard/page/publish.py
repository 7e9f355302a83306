"""A page that runs without Python: a folder of files for any web server, or for a double click.

`index.html` is the page with all its modules inside; `runs/NAME.js` is a run: what its model is made of, its
tokenizers, and its weights. Each is a script, since that is all that a page from the disk may read. Nothing is asked of
anybody else.
"""

import base64
import gzip
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from torch import Tensor

from regard.data.images import as_pixels
from regard.disk import write_text
from regard.errors import UserError, counted
from regard.models.count import count
from regard.models.model import Model
from regard.page.answers import Answers
from regard.page.asked import Question
from regard.page.description import Tree, classes_in, described
from regard.page.files import known_in, published
from regard.page.rounded import bits_for, rounded, to_bytes
from regard.page.story import Story
from regard.runs import Run

LARGEST = 20_000_000
"""Parameters of a model that a browser can be asked to load and compute."""

LACKS = {
    "gradient": "Gradients are computed by Python, and this page is without it: open the run with regard look.",
    "search": "A search reads a corpus, which is not published: regard publish --find PROPERTY keeps what it finds.",
}
"""What a page cannot do, and why not."""


class PublishedRun(NamedTuple):
    """One run of a site."""

    name: str
    file: Path
    parameters: int
    bits: int
    bytes: int
    """Of its file."""


def publish(
    runs: Sequence[Run],
    to: Path,
    *,
    bits: int = 0,
    stories: Sequence[Story] = (),
    find: Sequence[str] = (),
    watch: Callable[[str], None] = lambda name: None,
) -> list[PublishedRun]:
    """Writes the site. `bits`: of a weight, 8, 16 or 32; 0: 16, or 8 for a large model. `find`: properties whose search
    is done now, since the page cannot. `watch` is told what is under way."""
    answers = Answers(runs, stories)
    abouts = [dict(about) for about in answers.runs()]
    for run, about in zip(runs, abouts, strict=True):
        _check(run, run.trained_model(), about["name"])
    made, names = [], _file_names([about["name"] for about in abouts])
    for number, (run, about, name) in enumerate(zip(runs, abouts, names, strict=True)):
        watch(about["name"])
        known = {key for key, _ in about["properties"]}
        searches = {key: _found(answers, number, key, watch) for key in find if key in known}
        about |= {
            "path": "", "file": f"runs/{name}.js", "live": True, "lacks": LACKS,
            "properties": [one for one in about["properties"] if one[0] in searches],
        }  # fmt: skip
        model = run.trained_model()  # not as it is kept for answering here
        weight = bits or bits_for(model)
        text = _script(run, about, described(model), _scenes(answers, run, about), searches, rounded(model, weight))
        path = to / about["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        made.append(PublishedRun(about["name"], path, count(model).total, weight, len(text.encode())))
    write_text(to / "index.html", published(_json({"runs": abouts, "stories": answers.stories()})))
    return made


def _script(
    run: Run, about: dict[str, Any], model: Tree, scenes: list[str], found: dict[str, Any], weights: dict[str, Tensor]
) -> str:
    """A run as a script that hands itself to the page."""
    contents = {
        "about": about,
        "model": model,
        "reader": run.source_tokenizer.to_json(),
        "writer": run.tokenizer.to_json(),
        "window": run.window,
        "side": run.recipe.pictures.side,
        "scenes": scenes,
        "found": found,
    }
    packed = gzip.compress(to_bytes(weights), mtime=0)
    return f'publish({_json(contents)},\n"{base64.b85encode(packed).decode()}");\n'


def _scenes(answers: Answers, run: Run, about: dict[str, Any]) -> list[str]:
    """The built-in pictures of a captioner."""
    return [_resized(answers.scene(str(i)), run.recipe.pictures.side) for i in range(about["scenes"])]


def _resized(picture: bytes, side: int) -> str:
    """A picture as the model reads it, so that no browser has to resize it: a PNG file in base 64."""
    file = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        Image.fromarray(as_pixels(image, side).transpose(1, 2, 0)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _check(run: Run, model: Model, name: str) -> None:
    """Refuses what a page cannot compute, by name."""
    if run.others:
        raise UserError(f"{name} is an ensemble, and a page computes one model; publish its runs side by side")
    total = count(model).total
    if total > LARGEST:
        raise UserError(
            f"{name} has {counted(total, 'parameter')}, a page computes at most {LARGEST:,}; "
            "publish a smaller run, or look at this one with regard look"
        )
    unknown = sorted(classes_in(described(model)) - known_in("engine/build.js", "CLASSES"))
    if unknown:
        raise UserError(
            f"{name} has parts that a page does not know ({', '.join(unknown)}); look at it with regard look"
        )
    for tokenizer in run.tokenizers:
        kind = _innermost(tokenizer.to_json())["kind"]
        if kind not in known_in("text/kinds.js", "KINDS"):
            raise UserError(
                f"{name} has tokens that were learnt elsewhere ({kind}), which a page cannot make; "
                "look at it with regard look"
            )


def _innermost(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer inside one that only changes the text for it."""
    return _innermost(tokenizer["inner"]) if "inner" in tokenizer else tokenizer


def _found(answers: Answers, run: int, name: str, watch: Callable[[str], None]) -> list[dict[str, Any]]:
    """What a search finds, without how far it was."""
    watch(f"searching for {name}")
    return [line for line in answers.find(Question(run=run, property=name)) if "unit" in line]


def _file_names(names: Sequence[str]) -> list[str]:
    """A name for each file that every disk and every web server takes."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run" for name in names]
    return [f"{name}-{number}" if name in plain[:number] else name for number, name in enumerate(plain)]


def _json(value: Any) -> str:
    """JSON that is JavaScript too."""
    return (
        json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )
