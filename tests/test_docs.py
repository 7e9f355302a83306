"""The docs are true: examples run, quoted lines of code stand where the page says."""

import re
import shlex
from pathlib import Path

import pytest

from regard.cli.commands import COMMANDS, TrainCommand
from regard.cli.words import parse

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "course").glob("*.md")]
SITE = [*(ROOT / "website/start").glob("*.md"), ROOT / "website/how-to.md"]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_readme_examples_run(capsys):
    code = "\n".join(BLOCK.findall((ROOT / "README.md").read_text()))
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    differences = [float(number) for number in re.findall(r"difference (\S+)", printed)]
    assert len(differences) == 8
    assert max(differences) < 1e-4


def test_the_shapes_that_the_page_on_classes_and_tags_names(capsys):
    code = "\n".join(BLOCK.findall((ROOT / "docs/classes-and-tags.md").read_text()))
    exec(compile(code, "classes-and-tags.md", "exec"), {})
    assert capsys.readouterr().out == "(2, 1, 10) [(2, 1, 1, 7)]\n(2, 7, 10)\n"


def test_the_page_on_python_runs(here, capsys):
    code = "\n".join(BLOCK.findall((ROOT / "docs/python.md").read_text()))
    exec(compile(code, "python.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("translator, ")
    assert "(1, 1, " in printed


def quoted_lines() -> list[tuple[str, str]]:
    """Each line of code in docs/lineage.md with the file named above it."""
    text = (ROOT / "docs/lineage.md").read_text()
    sections = re.split(r"^`(regard/\S+\.py)`$", text, flags=re.MULTILINE)
    return [
        (file, line.strip())
        for file, section in zip(sections[1::2], sections[2::2], strict=True)
        for line in BLOCK.search(section).group(1).splitlines()
        if line.strip()
    ]


@pytest.mark.parametrize(("file", "line"), quoted_lines())
def test_the_lineage_quotes_the_code_as_it_is(file, line):
    assert line in (ROOT / file).read_text(), f"{file} has no line: {line}"


def rooms_of_the_tree() -> dict[str, set[str]]:
    """The files that docs/house.md names in each room; "" is the package itself."""
    tree = (ROOT / "docs/house.md").read_text().partition("regard/\n")[2].partition("\nexamples/")[0]
    found: dict[str, set[str]] = {}
    room = ""
    for line in tree.splitlines():
        if line.startswith("  ") and line[2] != " ":
            first = line.split()[0]
            room = first.removesuffix("/") if first.endswith("/") else ""
        found.setdefault(room, set()).update(re.findall(r"(\w+\.py)\b", line))
    return found


def test_the_tree_names_every_file_in_its_room_and_no_other():
    package = ROOT / "regard"
    for room, names in rooms_of_the_tree().items():
        files = package.glob("*.py") if not room else (package / room).rglob("*.py")
        assert names == {path.name for path in files} - {"__init__.py"}, f"docs/house.md on regard/{room}"
    assert set(rooms_of_the_tree()) == {""} | {path.parent.name for path in package.glob("*/__init__.py")}


def test_the_readme_leads_to_every_page():
    linked = set(re.findall(r"\]\(docs/([^)#]+\.md)\)", (ROOT / "README.md").read_text()))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")}


def anchors(page: Path) -> set[str]:
    """What a link can name in a page: its headings in small letters, blanks as hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
            if target.startswith("http"):
                continue
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(there), f"{page.name} links to #{anchor} of {there.name}"


def commands() -> list[str]:
    """Every `regard …` in a block of the pages, less what follows it in a pipe; not those of the lab and the demo.

    What a shell fills in is 1.
    """
    blocks = (block for page in (*PAGES, *SITE) for block in FENCED.findall(page.read_text()))
    lines = (line for block in blocks for line in block.replace("\\\n", " ").splitlines())
    found = (re.search(r"(?:^|\| )(regard (?!lab |demo|-|\.).+)", line) for line in lines)
    return sorted({re.sub(r"\$\w+", "1", one.group(1)) for one in found if one})


@pytest.mark.parametrize("command", commands())
def test_every_command_on_a_page_is_understood(command, monkeypatch):
    monkeypatch.chdir(ROOT)  # where the recipes are
    name, *words = shlex.split(re.split(r" [|<>] ", command)[0], comments=True)[1:]
    asked = parse(COMMANDS[name], [word for word in words if word != "…"])
    if isinstance(asked, TrainCommand) and not str(asked.recipe).startswith(("runs", "recipe.")):
        assert asked.wanted  # its settings are those of a recipe
