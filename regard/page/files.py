"""The page's own files, as they are and as one file that opens by a double click."""

import re
from importlib import resources

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
STATIC = resources.files("regard.page") / "static"
OFFLINE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
"""What a saved page may do: run what is in it. It asks nobody for anything."""
BESIDE = OFFLINE.replace("'unsafe-inline'", "'unsafe-inline' 'self' file:", 1)
"""What a published page may do: the same, and read the files beside it, which are scripts."""
_IMPORT = re.compile(r"^import \{([^}]*)\} from '([^']+)';$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.MULTILINE)


def names() -> list[str]:
    """Every file of the page, by its path below `static`: nothing else is ever served."""
    rooms = [one for one in STATIC.iterdir() if one.is_dir()]
    return sorted(
        [one.name for one in STATIC.iterdir() if one.is_file()]
        + [f"{room.name}/{one.name}" for room in rooms for one in room.iterdir()]
    )


def read_static(path: str) -> tuple[str, bytes] | None:
    """The type and content at an address, or nothing. A path is looked up among known names, never walked."""
    name = "index.html" if path == "/" else path.removeprefix("/static/")
    if name not in names() or (path != "/" and not path.startswith("/static/")):
        return None
    return KINDS.get(name[name.rindex(".") :], "application/octet-stream"), text_of(name).encode()


def text_of(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def known_in(name: str, table: str) -> set[str]:
    """The names in a table of a module, `const TABLE = { … };`: what the page's own JavaScript knows."""
    inside = text_of(name).partition(f"const {table} = {{")[2].partition("};")[0]
    return set(re.findall(r"[\w.]+", inside))


def standalone() -> str:
    """The page with its style and modules inside; `ask.js` reads what is put into the element called `saved`."""
    return _whole("page.js", OFFLINE, '<script type="application/json" id="saved"></script>')


def published(contents: str) -> str:
    """The page that is published: it computes itself, and its contents are JSON that stands in it."""
    inside = contents.replace("<", "\\u003c")
    return _whole("published.js", BESIDE, f'<script type="application/json" id="published">{inside}</script>')


def _whole(entry: str, policy: str, data: str) -> str:
    page = text_of("index.html")
    page = page.replace('<link rel="stylesheet" href="/static/style.css">', f"<style>\n{text_of('style.css')}</style>")
    page = page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    script = bundle(entry).replace("</script", "<\\/script")
    return page.replace(
        '<script type="module" src="/static/page.js"></script>', f'{data}\n<script type="module">\n{script}</script>'
    )


def bundle(*entries: str) -> str:
    """One script out of modules: each becomes a function that gives back what it exports, in the order of need.

    Our modules keep to `import { a, b } from './c.js';` and `export function …`, so three substitutions do.
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        source = text_of(name)
        folder = name.rpartition("/")[0]
        done[name] = ""  # begun: modules do not import each other in a circle

        def taken(match: re.Match[str]) -> str:
            needed = _beside(folder, match[2])
            add(needed)
            wanted = match[1].replace(" as ", ": ")
            return f"const {{{wanted}}} = module_{_safe(needed)};"

        body = _IMPORT.sub(taken, source)
        exported = ", ".join(_EXPORT.findall(body))
        body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
        del done[name]
        done[name] = f"const module_{_safe(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"

    for entry in entries:
        add(entry)
    return "".join(done.values())


def _beside(folder: str, path: str) -> str:
    """`../dom.js` as seen from `views` is `dom.js`."""
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _safe(name: str) -> str:
    return re.sub(r"\W", "_", name)
