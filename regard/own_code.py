"""Code of the user's own, run because its file was named; what goes wrong in it is said in one line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from regard.errors import UserError

ENDING = ".py"


def module_in(path: Path) -> ModuleType:
    """Runs a file and hands back all that it defines. Nothing beside it is looked for."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; name a file of Python code") from None
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    with blamed_on(path):
        exec(compile(source, str(path), "exec"), module.__dict__)
    return module


@contextmanager
def blamed_on(path: Path, *passing: type[BaseException]) -> Iterator[None]:
    """What fails in this block is said with the line of that file that it failed in; `passing` is no failure."""
    fine: tuple[type[BaseException], ...] = (UserError, *passing)
    try:
        yield
    except fine:
        raise
    except (Exception, SystemExit) as error:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        said = " ".join(text.partition("\n")[0].split())
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise UserError(f"{path}, line {_line(path, error)}: {what}; put it right there") from error


def _line(path: Path, error: BaseException) -> int:
    """The innermost line of that file on the way to an error."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 1 for frame in reversed(frames) if frame.filename == str(path)), 1)
