"""Translation memories (TMX 1.1 to 1.4), as translators' programs write them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.files import blocks
from regard.data.formats.elements import elements
from regard.data.formats.line import Line
from regard.errors import UserError

CODES = ("bpt", "ept", "it", "ph", "ut")
"""Elements whose text is formatting of the program it came from; that of <hi> is the sentence's own."""
BREAK = re.compile(r"[ \t]*[\r\n][ \t\r\n]*")  # a line of the file that ends, and how far the next one stands in


def tmx(path: Path, columns: Sequence[str], skipped: Counter[str] | None) -> Iterator[Line]:
    """Each unit by the languages that are chosen, fr also for fr-CA; by default its source's and the first other."""
    seen: Counter[str] = Counter()
    chosen, names = list(columns), columns or ("source", "target")
    for number, source, unit in _units(path):
        seen.update(unit)
        chosen = chosen or _first_two(unit, source)
        if chosen:
            found = {key: _in(unit, wanted) for key, wanted in zip(names, chosen, strict=True)}
            yield Line(number, found, number)
    missing = next((wanted for wanted in columns if seen and not any(_matches(name, wanted) for name in seen)), None)
    if missing:
        raise UserError(f"{path} has no unit in {missing}; it has {', '.join(seen)}: choose --data.columns from these")
    if not chosen:
        raise UserError(f"{path} has no translation unit in two languages; give a file with <tu> and <tuv> in it")


def _units(path: Path) -> Iterator[tuple[int, str, dict[str, str]]]:
    """The line of each unit, the language that the header calls its source, and its texts by language."""
    source, language, number, unit = "", "", 0, dict[str, str]()
    for element in elements(blocks(path), path, texts=("seg",), dropped=CODES):
        name, attributes = element.name, {key.lower(): value for key, value in element.attributes.items()}
        if name == "header":
            source = attributes.get("srclang", "")
        elif name == "tuv":
            language = attributes.get("xml:lang", attributes.get("lang", ""))
        elif name == "tu" and not element.ends:
            number, unit = element.line, {}
        elif name == "tu":
            yield number, source, unit
        elif name == "seg" and element.ends and language not in unit:
            unit[language] = " ".join(part for part in BREAK.split(element.text) if part)


def _first_two(unit: dict[str, str], source: str) -> list[str]:
    """The source's language, if a unit has it, and the first other."""
    first = next((name for name in unit if _matches(name, source)), next(iter(unit), ""))
    other = next((name for name in unit if name != first), "")
    return [first, other] if other else []


def _in(unit: dict[str, str], wanted: str) -> str:
    return next((text for name, text in unit.items() if _matches(name, wanted)), "")


def _matches(name: str, wanted: str) -> bool:
    """Whether a language is the one that is wanted, or a country's kind of it."""
    name, wanted = (each.lower().replace("_", "-") for each in (name, wanted))
    return bool(wanted) and (name == wanted or name.startswith(f"{wanted}-"))
