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


def standalone() -> str:
    """The page with its style and modules inside; `ask.js` reads what is put into the element called `saved`."""
    page = text_of("index.html")
    page = page.replace('<link rel="stylesheet" href="/static/style.css">', f"<style>\n{text_of('style.css')}</style>")
    page = page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{OFFLINE}">', 1)
    script = bundle("main.js").replace("</script", "<\\/script")
    data = '<script type="application/json" id="saved"></script>\n'
    return page.replace(
        '<script type="module" src="/static/main.js"></script>', f'{data}<script type="module">\n{script}</script>'
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
