"""python -m website FOLDER [LESSONS]: builds the site into a folder, and refuses warnings and broken links."""

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from website.links import broken, outside
from website.source import HERE, assemble

USAGE = "python -m website FOLDER [LESSONS]: LESSONS is where `python -m course run` has put the executed lessons"


def build(folder: Path, lessons: Path | None = None) -> int:
    """The site in `folder`; 0: without a warning, and every link leads somewhere."""
    source = folder.parent / f"{folder.name}-source"
    assemble(source, lessons)
    failed = build_main(
        ["-q", "-W", "--keep-going", "-n", "-E", "-c", str(HERE), "-b", "html", str(source), str(folder)]
    )
    if failed:
        return failed
    wrong = list(broken(folder))
    print("\n".join(wrong), file=sys.stderr)
    pages = len(list(folder.rglob("*.html")))
    print(
        f"{pages} pages, {len(wrong)} broken links, {len(outside(folder))} addresses outside; open {folder}/index.html"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(USAGE)
    sys.exit(build(*map(Path, sys.argv[1:])))
