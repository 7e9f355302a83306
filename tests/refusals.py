"""Commands and what they say on standard error; a test file takes the fixtures it wants by name."""

import re
from pathlib import Path

import pytest
import tomli_w
from tiny import recipe

from regard.cli import main
from regard.config import to_table

# What may be said before the one line.
BEFORE = r"  |preparing |going on |left out |step |about |a look |[0-9,]+ parameters?|[\w.]+ is .* now, it was "


@pytest.fixture
def said(capsys):
    """Runs a command; gives its exit code and what it wrote to standard error."""

    def run(*words: object) -> tuple[int, str]:
        code = main([str(word) for word in words])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def refused(said):
    """Runs a command that must fail; gives the one line that it says, behind what it said of preparing."""

    def run(*words: object) -> str:
        code, text = said(*words)
        assert code == 1
        assert "Traceback" not in text
        *before, last = text.splitlines()
        assert all(re.match(BEFORE, line) for line in before), text
        assert last.startswith("regard: ")
        return last.removeprefix("regard: ")

    return run


def write(name: str, data: str | bytes) -> str:
    Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def write_recipe(name: str, **settings) -> str:
    """A small recipe as a file, with the data it names."""
    return write("recipe.toml", tomli_w.dumps(to_table(recipe(Path.cwd(), name, **settings))))
