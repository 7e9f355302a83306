"""Stories: walks over the page in steps, from small files; the address bar is the editor for what they show."""

import tomllib
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from regard.config.settings import Settings, from_table
from regard.errors import UserError, unknown

FOLDER = resources.files("regard.page") / "stories"


@dataclass(frozen=True)
class StoryStep(Settings):
    """What is shown, what is said about it, and what is asked."""

    address: str = ""
    """What stands behind # in the page's address; what it leaves out stays as it is."""
    say: str = ""
    """Two or three sentences."""
    point: str = ""
    """What to point at: a CSS selector on the page, such as `svg.model .cache`."""
    question: str = ""
    answer: str = ""
    """Of the question, folded until somebody wants it."""

    def check(self) -> None:
        if not self.say.strip():
            raise UserError('a step of a story wants something to say, found nothing; write say = "…"')
        if bool(self.question) != bool(self.answer):
            raise UserError("a question wants its answer, and an answer its question; write both, or neither")


@dataclass(frozen=True)
class Story(Settings):
    """Steps under a title."""

    title: str
    steps: tuple[StoryStep, ...]
    name: str = ""

    def plain(self) -> dict[str, Any]:
        """As data for the page."""
        return asdict(self)


def built_in() -> list[Story]:
    """Those that come with regard, in their order: the file names begin with a number."""
    files = sorted((file for file in FOLDER.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return [
        read_story(file.read_text(encoding="utf-8"), file.name.removesuffix(".toml").partition("-")[2])
        for file in files
    ]


def story_named(name: str) -> Story:
    """One of ours by its name, or anybody's own by its file."""
    path = Path(name)
    if path.suffix == ".toml":
        try:
            return read_story(path.read_text(encoding="utf-8"), path.stem, str(path))
        except (FileNotFoundError, IsADirectoryError):
            raise UserError(f"{path} does not exist; give the file of a story, or the name of one of ours") from None
        except UnicodeDecodeError:
            raise UserError(f"{path} is not UTF-8; save it as UTF-8") from None
    known = {story.name: story for story in built_in()}
    if name not in known:
        raise unknown("story", name, known)
    return known[name]


def read_story(text: str, name: str, file: str = "") -> Story:
    """A story out of its text."""
    where = file or f"story '{name}'"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where} is no TOML ({error})") from None
    title, steps = table.get("title"), table.get("steps")
    if not isinstance(title, str) or not isinstance(steps, list) or not steps or {*table} - {"title", "steps"}:
        raise UserError(f"{where} wants a title and [[steps]], found {', '.join(table) or 'nothing'}")
    found = []
    for number, step in enumerate(steps):
        try:
            found.append(from_table(StoryStep, step if isinstance(step, dict) else {}))
        except UserError as error:
            said = str(error).replace("setting", "field").replace("the recipe", "a step")
            raise UserError(f"{where}, step {number}: {said}") from None
    return Story(title, tuple(found), name)
