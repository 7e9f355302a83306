"""python -m course notebooks FOLDER · python -m course run FOLDER: the course as notebooks; run, with its solutions."""

import sys
import time
from pathlib import Path

import nbformat

from course.lesson import lessons
from course.run import executed, page

USAGE = "python -m course notebooks FOLDER (for students) or run FOLDER (with solutions: notebooks and pages)"


def write_notebooks(folder: Path) -> None:
    """What students get: exercises not yet written."""
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in lessons():
        nbformat.write(lesson.notebook(), folder / f"{lesson.name}.ipynb")
        print(folder / f"{lesson.name}.ipynb")


def run_all(folder: Path) -> None:
    """Every lesson with its solutions, by a real kernel: the executed notebook and a page, with the seconds it took."""
    for lesson in lessons():
        began = time.perf_counter()
        book = executed(lesson.solved(), folder)
        seconds = time.perf_counter() - began
        nbformat.write(book, folder / f"{lesson.name}.ipynb")
        (folder / f"{lesson.name}.md").write_text(page(lesson, book, folder))
        checks = sum(cell.kind == "check" for cell in lesson.cells)
        print(f"{lesson.name}: {checks} checks passed, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    asked = {"notebooks": write_notebooks, "run": run_all}
    if len(sys.argv) != 3 or sys.argv[1] not in asked:
        sys.exit(USAGE)
    asked[sys.argv[1]](Path(sys.argv[2]))
