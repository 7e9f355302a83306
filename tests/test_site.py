"""The site is built without a warning, every link leads somewhere, and reading it wants no network."""

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="sphinx is not here; pip install 'regard[site]'")
pytest.importorskip("furo", reason="furo is not here; pip install 'regard[site]'")
pytest.importorskip("myst_parser", reason="myst-parser is not here; pip install 'regard[site]'")

from regard.cli.commands import COMMANDS
from website.__main__ import build
from website.links import broken
from website.reference import SECTIONS, pages


@pytest.mark.filterwarnings("ignore")
def test_the_site_is_built_without_a_warning_or_a_broken_link(tmp_path, capfd):
    assert build(tmp_path / "site") == 0, capfd.readouterr().err
    lineage = (tmp_path / "site/docs/lineage.html").read_text()
    assert lineage.count("<math") > 20  # equations are set by the browser itself
    assert "$$" not in lineage
    assert (tmp_path / "site/searchindex.js").exists()


def test_what_leads_nowhere_is_told(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="a.html#here"></a><a href="a.html?v=1"></a>')
    assert list(broken(tmp_path)) == []
    (tmp_path / "b.html").write_text('<a href="c.html"></a><a href="a.html#gone"></a><img src="https://x.org/y.png">')
    assert list(broken(tmp_path)) == [
        "b.html fetches https://x.org/y.png",
        "b.html links to c.html, which is not there",
        "b.html links to a.html#gone; there is no such place",
    ]


def test_the_reference_has_every_command_setting_and_public_name():
    import regard

    made = pages()
    assert all(f"## regard {name}\n" in made["commands"] for name in COMMANDS)
    every = [name for kinds in SECTIONS.values() for kind in kinds for name in kind.__dataclass_fields__]
    assert all(f"| `{name}` |" in made["settings"] for name in every)
    told = (name for name in regard.__all__ if not name.startswith("_") and name != "State")  # a name for a type
    assert all(f"## regard.{name}\n" in made["python"] for name in told)
    assert "### LSTM\n" in made["layers"]


def test_every_page_of_the_docs_is_in_the_menu():
    root = Path(__file__).parent.parent
    menu = (root / "website/index.md").read_text()
    missing = [page.name for page in (root / "docs").glob("*.md") if f"docs/{page.stem}>" not in menu]
    assert missing == []
