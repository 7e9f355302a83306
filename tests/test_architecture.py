"""The rooms of the house: imports point one way, and only `build` knows which class an architecture is."""

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench import house
from regard.tasks import TASKS

ROOT = Path(__file__).parent.parent / "regard"
# What each room may import, besides itself and what is not ours.
MAY_IMPORT = {
    "errors": set(),
    "special": set(),
    "boundaries": set(),
    "padding": {"special"},
    "progress": set(),
    "notebook": set(),
    "own_code": {"errors"},
    "config": {"errors", "boundaries"},
    "layers": {"errors"},
    "metrics": set(),
    "models": {"errors", "special", "config", "layers"},
    "engine": {"errors", "layers", "models"},
    "disk": {"errors"},
    "weights": {"errors", "disk"},
    "folder": {"errors", "disk", "config"},
    "text": {"errors", "special", "disk"},
    "data": {"errors", "special", "padding", "disk", "config"},
    "decode": {"boundaries", "errors", "special", "padding", "config", "text", "layers", "models"},
    "look": {"errors", "special", "padding", "own_code", "disk", "config", "text", "layers", "models", "decode"},
    "tasks": {
        *("errors", "special", "progress", "weights", "config", "folder", "text", "data", "metrics"),
        *("layers", "models", "decode", "look"),
    },
    "evaluate": {
        *("errors", "special", "progress", "config", "folder", "data", "layers", "metrics", "models", "look", "tasks"),
    },
    "runs": {
        *("errors", "weights", "config", "folder", "text", "data", "models", "engine", "decode", "look", "tasks"),
        "evaluate",
    },
    "training": {
        *("errors", "disk", "weights", "config", "folder", "data", "layers", "models", "look", "notebook"),
        *("tasks", "runs", "evaluate", "progress", "text"),
    },
    "hub": {
        *("errors", "special", "disk", "config", "folder", "text", "data", "layers", "models", "decode", "tasks"),
        "runs",
    },
    "page": {
        *("errors", "special", "config", "data", "disk", "layers", "models", "decode", "look", "tasks", "runs"),
        "notebook",
    },
    "serve": {
        *("errors", "special", "padding", "config", "data", "layers", "models", "decode", "look", "runs"),
    },
    "__init__": {"errors", "config", "layers", "models", "look", "decode", "runs", "page", "training"},
    "demo": {"config", "data", "runs", "look", "training"},
    "lab": {
        *("errors", "special", "own_code", "disk", "config", "folder", "data", "layers", "models", "look", "metrics"),
        *("tasks", "runs", "training"),
    },
    "process": {"errors"},
    "__main__": {"cli", "process"},
    "cli": {
        *(
            "errors",
            "process",
            "progress",
            "disk",
            "config",
            "folder",
            "data",
            "decode",
            "engine",
            "look",
            "metrics",
            "tasks",
            "runs",
            "evaluate",
        ),
        *("training", "demo", "hub", "page", "serve", "lab"),
    },
}
HOUSE = house.package(ROOT.parent)
LAWS: dict[str, tuple[int, Callable[[], Sequence[object]]]] = {  # what is counted: how many may be, those that are
    "modules above each other": (15, lambda: house.deepest(house.graph(HOUSE))),
    "modules that import each other": (0, lambda: house.cycles(house.graph(HOUSE, lazy=True))),
    "functions above seven parameters": (
        0,
        lambda: [where for made, where in house.functions(HOUSE) if house.parameters(made) > 7],
    ),
    "functions that take **kwargs": (0, lambda: [where for made, where in house.functions(HOUSE) if made.args.kwarg]),
    "places that compare a kind": (10, lambda: house.kind_comparisons(HOUSE)),
    "places that compare the path of a tap": (0, lambda: house.path_comparisons(HOUSE)),
    "scripts that compare the path of a tap": (0, lambda: house.in_scripts(ROOT.parent, HOUSE)["paths compared"]),
}
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
SCRIPTS = sorted(path.relative_to(ROOT) for path in (ROOT / "page" / "static").rglob("*.js"))


def room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms of ours that a file imports."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "regard":
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("regard.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_point_one_way(path):
    assert imports(path) <= MAY_IMPORT[room(path)] | {room(path)}


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_no_room_is_allowed_what_it_does_not_do(name):
    used = set().union(*(imports(path) for path in FILES if room(path) == name)) - {name}
    assert MAY_IMPORT[name] <= used


@pytest.mark.parametrize("path", [path for path in FILES if room(path) in ("look", "decode")], ids=str)
def test_nobody_but_the_builder_asks_which_architecture(path):
    source = (ROOT / path).read_text().lower()
    for name in ("lstm", "gru", "transformer", "isinstance(model", "path.endswith", "path.startswith", '" in path'):
        assert name not in source, f"{path} asks which architecture it is: {name}"


@pytest.mark.parametrize("path", [*FILES, *SCRIPTS], ids=str)
def test_a_file_fits_in_the_head(path):
    assert len((ROOT / path).read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_a_script_fits_on_the_screen(path):
    """As ruff has it for Python: no line above 120. Where there is no node, nobody else looks."""
    lines = (ROOT / path).read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_the_page_asks_for_no_task_by_its_name(path):
    source = (ROOT / path).read_text()
    for task in TASKS.values():
        assert f"'{task.title}'" not in source, f"{path} compares '{task.title}'; what the page must know is data"


@pytest.mark.parametrize("law", LAWS)
def test_what_is_to_stay_small_does(law):
    most, found = LAWS[law]
    assert len(found()) <= most, f"{law}: {found()}"


TWINS = {"Recurrent", "Transformer", "Classifier", "Tagger", "Transducer"}  # a config and what is built of it


def test_a_word_has_one_meaning():
    """No two public classes are called alike."""
    assert set(house.twice_named(HOUSE)) == TWINS
