"""What the site is made from: pages as they lie in the repository, so that their links hold, and generated ones."""

import re
import shutil
from pathlib import Path

from website import reference

HERE = Path(__file__).parent
ROOT = HERE.parent
OWN = ("index.md", "how-to.md", "start", "_static")
TAKEN = ("docs", "examples", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def assemble(folder: Path, lessons: Path | None) -> None:
    """All sources in a new folder. `lessons`: where the executed lessons of the course are, if anywhere."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in OWN:
        _take(HERE / name, folder / name)
    for name in TAKEN:
        _take(ROOT / name, folder / name)
    (folder / "course").mkdir()
    for page in (ROOT / "course").glob("*.md"):
        _take(page, folder / "course" / page.name)
    if lessons is not None:
        for file in (*lessons.glob("*.md"), *lessons.glob("*.png")):
            _take(file, folder / "course" / file.name)
    (folder / "reference").mkdir()
    for name, text in reference.pages().items():
        (folder / "reference" / f"{name}.md").write_text(text)


def _take(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir()
        for one in source.iterdir():
            if one.suffix != ".py" and one.name != "__pycache__":
                _take(one, target / one.name)
    elif source.suffix == ".md":
        target.write_text(_without_folders(source))
    else:
        shutil.copyfile(source, target)


def _without_folders(page: Path) -> str:
    """A page whose links to folders are words: a site does not list what is in one."""
    link = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)\)")
    return link.sub(lambda one: one[1] if (page.parent / one[2]).is_dir() else one[0], page.read_text())
