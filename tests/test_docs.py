"""The docs are true: examples run, quoted lines of code stand where the page says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_the_readme_examples_run(capsys):
    code = "\n".join(BLOCK.findall((ROOT / "README.md").read_text()))
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    differences = [float(number) for number in re.findall(r"difference (\S+)", printed)]
    assert len(differences) == 8
    assert max(differences) < 1e-4


def test_the_shapes_that_the_page_on_classes_and_tags_names(capsys):
    code = "\n".join(BLOCK.findall((ROOT / "docs/patterns.md").read_text()))
    exec(compile(code, "patterns.md", "exec"), {})
    assert capsys.readouterr().out == "(2, 1, 10) [(2, 1, 1, 7)]\n(2, 7, 10)\n"


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


def test_every_file_of_the_tree_in_the_readme_exists_and_none_is_missing():
    text = (ROOT / "README.md").read_text()
    tree = text[text.index("regard/\n") :]
    names = set(re.findall(r"(\w+\.py)\b", tree))
    files = {path.name for path in (ROOT / "regard").rglob("*.py")} - {"__init__.py"}
    assert files - names == set(), "missing in the README's tree"
    assert names - files - {"zoo.py"} == set(), "in the README's tree, but not in the package"


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
