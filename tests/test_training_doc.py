"""docs/training.md lists every setting with its values, its default and its docstring, and nothing else."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from regard.config import (
    Classifier,
    Data,
    LanguageModel,
    Pictures,
    Recurrent,
    Seq2Seq,
    Tagger,
    Text,
    Train,
    Transducer,
    Transformer,
    Vision,
)
from regard.config.settings import meanings
from regard.folder import Folder

PAGE = (Path(__file__).parent.parent / "docs/training.md").read_text(encoding="utf-8")
SECTIONS = {
    "[data]": Data,
    "[text]": Text,
    "[pictures]": Pictures,
    "[train]": Train,
    "[model], a language model": LanguageModel,
    "[model], source to target": Seq2Seq,
    "[model], text to class": Classifier,
    "[model], word to tag": Tagger,
    "[model], letters to sounds": Transducer,
    "what reads a picture": Vision,
    "a stack of recurrent layers": Recurrent,
    "a stack of Transformer blocks": Transformer,
}
LIMITS = {
    "minimum": "from {} up",
    "fraction": "0 up to 1",
    "share": "above 0 to 1",
    "above zero": "above 0",
    "not negative": "0 or above",
    "probability": "0 to 1",
}


def values(hint: Any, limits: dict[str, Any]) -> str:
    """What a setting can be, in words."""
    if get_origin(hint) is Literal:
        return ", ".join(get_args(hint))
    if hint is bool:
        return "true, false"
    for limit, words in LIMITS.items():
        if limit in limits:
            return words.format(limits[limit])
    if hint is str:
        return "text"
    return "a section" if any(dataclasses.is_dataclass(option) for option in get_args(hint)) else "a text, or two"


def default(setting: dataclasses.Field) -> str:
    if setting.default is dataclasses.MISSING:
        return setting.default_factory().kind
    return json.dumps(setting.default)


def rows(kind: type) -> list[str]:
    """The table of a class, without a meaning where the code gives none: the page says something of its own there."""
    hints, said = get_type_hints(kind), meanings(kind)
    return [
        f"| `{setting.name}` | {values(hints[setting.name], setting.metadata)} | `{default(setting)}` | "
        + (f"{said[setting.name]} |" if setting.name in said else "")
        for setting in dataclasses.fields(kind)
    ]


def table(title: str) -> list[str]:
    """The rows under a heading of the page."""
    section = re.search(rf"^### {re.escape(title)}$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/training.md has no heading '### {title}'"
    return [line for line in section[1].splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_page_lists_every_setting_as_it_is(title):
    there = table(title)
    for row in rows(SECTIONS[title]):
        assert any(line.startswith(row) for line in there), f"under '{title}' is wanted: {row}"
    assert len(there) == len(dataclasses.fields(SECTIONS[title])), f"'{title}' lists a setting that is not there"
    assert all(line.count("|") == 5 and line.rstrip(" |").count("|") == 4 for line in there), "a meaning is missing"


def test_the_page_names_every_file_of_a_run():
    folder = Folder(Path("run"))
    files = [value for value in vars(Folder).values() if isinstance(value, property)]
    for path in (file.fget(folder) for file in files):
        assert f"`{path.name}`" in PAGE, f"docs/training.md does not say what {path.name} is"


def test_every_recipe_named_exists():
    for name in re.findall(r"examples/[\w.-]+\.toml", PAGE):
        assert (Path(__file__).parent.parent / name).exists(), name
