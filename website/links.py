"""Whether every link of a built site leads somewhere, and nothing is fetched from a network to show a page."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("video", "src")}


class Page(HTMLParser):
    """What a page links to, what it fetches, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in FETCHED and value:
                self.fetched.append(value)
            elif name == "href" and value:
                self.links.append(value)


@cache
def read(path: Path) -> Page:
    """A page, read once."""
    return Page(path.read_text())


def broken(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere, and for each thing that a network would have to bring."""
    for path in sorted(site.rglob("*.html")):
        if "_downloads" in path.parts:
            continue
        page = read(path)
        yield from (f"{path.relative_to(site)} fetches {one}" for one in page.fetched if "//" in one)
        for link in (*page.links, *page.fetched):
            target, anchor = urldefrag(link)
            if "//" in link or link.startswith(("mailto:", "data:")):
                continue
            there = path.parent / unquote(target.partition("?")[0]) if target else path
            if not there.exists():
                yield f"{path.relative_to(site)} links to {link}, which is not there"
            elif there.suffix == ".html" and unquote(anchor) not in read(there.resolve()).anchors:
                yield f"{path.relative_to(site)} links to {link}; there is no such place"


def outside(site: Path) -> set[str]:
    """Addresses in the world that pages link to."""
    pages = (read(path) for path in site.rglob("*.html") if "_downloads" not in path.parts)
    return {link for page in pages for link in page.links if link.startswith("http")}
